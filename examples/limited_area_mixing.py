"""Mixing in a limited area, in GTScript: hyperdiffusion, implicit columns, nested boundaries.

One step of a tracer has three stencils. Horizontally, fourth-order diffusion with the flux limiter
of Xue (2000), "High-order monotonic numerical diffusion and smoothing", Monthly Weather Review 128:
fluxes that would sharpen an extremum are zero. Vertically, diffusion that is implicit in time: a
tridiagonal system for each column, solved by elimination downwards and substitution upwards, with
the flux from the ground as its boundary condition. At the sides, regions relax the outer rows to
the values of the driving model, as Davies (1976), "A lateral boundary formulation for multi-level
prediction models", Quarterly Journal of the Royal Meteorological Society 102.

Level 0 is the top of the model. `python -m fieldforge.examples.limited_area_mixing` draws a puff
of tracer and what becomes of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldforge import storage
from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import (
    BACKWARD,
    FORWARD,
    IJ,
    PARALLEL,
    Field,
    I,
    J,
    K,
    computation,
    horizontal,
    interval,
    region,
)

HALO = 2
OUTERMOST = 1.0
SECOND = 0.5
THIRD = 0.25


@gtscript.function
def laplacian(q):
    """Return the five-point Laplacian, times the square of the spacing."""
    return q[1, 0, 0] + q[-1, 0, 0] + q[0, 1, 0] + q[0, -1, 0] - 4.0 * q


@gtscript.function
def limited(flux, gradient):
    """Return a flux, or zero where it would sharpen the field."""
    return flux if flux * gradient < 0.0 else 0.0


def smooth(q: Field[float], smoothed: Field[float], strength: float):
    """Diffuse along both horizontal axes; `q` is read two points beyond the domain."""
    with computation(PARALLEL), interval(...):
        curvature = laplacian(q)
        along_i = curvature[1, 0, 0] - curvature
        along_i = limited(along_i, q[1, 0, 0] - q)
        along_j = curvature[0, 1, 0] - curvature
        along_j = limited(along_j, q[0, 1, 0] - q)
        smoothed = q - strength * (along_i - along_i[-1, 0, 0] + along_j - along_j[0, -1, 0])


def mix(
    q: Field[float],
    diffusivity: Field[float],
    thickness: Field[K, float],
    emission: Field[IJ, float],
    mixed: Field[float],
    dt: float,
):
    """Diffuse along the columns; `diffusivity` of a level is that of the interface above it."""
    with computation(PARALLEL):
        with interval(0, 1):
            above = 0.0
        with interval(1, None):
            above = dt * diffusivity / (0.5 * (thickness + thickness[-1]) * thickness)
    with computation(PARALLEL):
        with interval(0, -1):
            gap = 0.5 * (thickness[1] + thickness)
            below = dt * diffusivity[0, 0, 1] / (gap * thickness)
        with interval(-1, None):
            below = 0.0
    with computation(PARALLEL):
        with interval(0, -1):
            right = q
        with interval(-1, None):
            right = q + dt * emission / thickness
    with computation(FORWARD):
        with interval(0, 1):
            upper = -below / (1.0 + above + below)
            reduced = right / (1.0 + above + below)
        with interval(1, None):
            upper = -below / (1.0 + above + below + above * upper[0, 0, -1])
            reduced = (right + above * reduced[0, 0, -1]) / (
                1.0 + above + below + above * upper[0, 0, -1]
            )
    with computation(BACKWARD):
        with interval(-1, None):
            mixed = reduced
        with interval(0, -1):
            mixed = reduced - upper * mixed[0, 0, 1]


def nest(q: Field[float], driving: Field[float], nested: Field[float]):
    """Relax the three outer rows of the domain to the values of the driving model."""
    from __externals__ import outermost, second, third

    with computation(PARALLEL), interval(...):
        weight = 0.0
        with horizontal(
            region[: I[0] + 3, :],
            region[I[-1] - 2 :, :],
            region[:, : J[0] + 3],
            region[:, J[-1] - 2 :],
        ):
            weight = third
        with horizontal(
            region[: I[0] + 2, :],
            region[I[-1] - 1 :, :],
            region[:, : J[0] + 2],
            region[:, J[-1] - 1 :],
        ):
            weight = second
        with horizontal(region[I[0], :], region[I[-1], :], region[:, J[0]], region[:, J[-1]]):
            weight = outermost
        nested = q + weight * (driving - q)


class Mixing:
    """The three stencils of a step, and the fields between them."""

    def __init__(self, shape: tuple[int, int, int], backend: str = "gt:cpu_ifirst") -> None:
        ni, nj, nk = shape
        self.shape, self.backend = shape, backend
        weights = {"outermost": OUTERMOST, "second": SECOND, "third": THIRD}
        self.smooth = gtscript.stencil(backend, smooth)
        self.mix = gtscript.stencil(backend, mix)
        self.nest = gtscript.stencil(backend, nest, externals=weights)
        self.smoothed, self.mixed = (self.field() for _ in range(2))
        self.thickness = storage.ones((nk,), backend=backend, dimensions="K")
        self.emission = storage.zeros((ni, nj), backend=backend, dimensions="IJ")

    def field(self) -> Any:
        """Return a field of zeros with a halo of two points."""
        ni, nj, nk = self.shape
        whole = (ni + 2 * HALO, nj + 2 * HALO, nk)
        return storage.zeros(whole, backend=self.backend, aligned_index=(HALO, HALO, 0))

    def step(self, q: Any, driving: Any, diffusivity: Any, strength: float, dt: float) -> None:
        """Advance `q` by one step; its halo stays."""
        given = {"origin": (HALO, HALO, 0), "domain": self.shape}
        inside = {"origin": {"_all_": (HALO, HALO, 0), "emission": (0, 0)}, "domain": self.shape}
        self.smooth(q, self.smoothed, strength, **given)
        self.mix(
            self.smoothed, diffusivity, self.thickness, self.emission, self.mixed, dt, **inside
        )
        self.nest(self.mixed, driving, q, **given)


def puff(steps: int = 60, backend: str = "gt:cpu_ifirst") -> list[np.ndarray[Any, Any]]:
    """Return a section through a puff above a source at the ground, before and after each third."""
    mixing = Mixing((40, 40, 24), backend)
    q, driving, diffusivity = (mixing.field() for _ in range(3))
    i, j, k = np.meshgrid(*(np.arange(n) for n in q.shape), indexing="ij")
    q[...] = np.where((abs(i - 20) < 5) & (abs(j - 22) < 5) & (abs(k - 8) < 3), 1.0, 0.0)
    diffusivity[...] = np.where(k > 10, 0.6, 0.05)
    mixing.emission[24:30, 16:24] = 0.05
    seen = [np.array(q[:, 22])]
    for number in range(steps):
        mixing.step(q, driving, diffusivity, strength=1.0 / 64.0, dt=1.0)
        if (number + 1) % (steps // 3) == 0:
            seen.append(np.array(q[:, 22]))
    return seen


def figure() -> Any:
    """Draw the sections."""
    from matplotlib.figure import Figure

    sections = puff()
    made = Figure(figsize=(9.0, 2.6), layout="constrained")
    axes = made.subplots(1, len(sections), sharey=True)
    for number, (axis, section) in enumerate(zip(axes, sections, strict=True)):
        image = axis.imshow(section.T, cmap="cividis", vmin=0.0, vmax=0.6, aspect="auto")
        axis.set(title=f"step {20 * number}", xlabel="i")
    axes[0].set_ylabel("level")
    made.colorbar(image, ax=axes)
    return made


if __name__ == "__main__":
    figure().savefig("limited_area_mixing.png", dpi=110)
