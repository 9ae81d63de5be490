"""Terrain for a weather model: smooth orography until no slope is too steep for the dynamics.

A model of how to write a program. Fourth-order horizontal diffusion takes the
small scales out of a height field and leaves the large ones; a limiter stops
every flux that would run uphill, so no new extremes appear (Xue, 2000, Monthly Weather
Review 128, "High-order monotonic numerical diffusion and smoothing"). The edge of the
region is closed: nothing flows through it, and the mean height is conserved to rounding.

Run it: `python examples/terrain.py`, or see `fieldforge demo` for the full job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fieldforge as ff
from fieldforge import float64, int32, sqrt, where
from fieldforge.runtime import gpu

I = ff.Dimension("I")  # west to east
J = ff.Dimension("J")  # south to north
Heights = ff.Field[ff.Dims[I, J], float64]  # metres, at cell centres
Faces = ff.Field[ff.Dims[I, J], ff.bool]  # True where the face between a cell and the next is open

HALO = 2  # the operator reads two cells in each direction
STRENGTH = 1.0 / 32.0  # largest value for which the shortest wave does not overshoot


@ff.field_operator
def laplacian(h: Heights, open_i: Faces, open_j: Faces) -> Heights:
    """Second difference of the height; a closed face has no gradient."""
    rise_i = where(open_i, h(I + 1) - h, 0.0)
    rise_j = where(open_j, h(J + 1) - h, 0.0)
    return rise_i - rise_i(I - 1) + rise_j - rise_j(J - 1)


@ff.field_operator
def limited_flux_i(h: Heights, lap: Heights, open_i: Faces) -> Heights:
    """Flux through the eastern face; zero where it would run uphill."""
    flux = where(open_i, lap(I + 1) - lap, 0.0)
    return where(flux * (h(I + 1) - h) > 0.0, 0.0, flux)


@ff.field_operator
def limited_flux_j(h: Heights, lap: Heights, open_j: Faces) -> Heights:
    """Flux through the northern face; zero where it would run uphill."""
    flux = where(open_j, lap(J + 1) - lap, 0.0)
    return where(flux * (h(J + 1) - h) > 0.0, 0.0, flux)


@ff.field_operator
def diffuse(h: Heights, open_i: Faces, open_j: Faces, strength: float64) -> Heights:
    """One step of fourth-order diffusion in flux form."""
    lap = laplacian(h, open_i, open_j)
    flux_i = limited_flux_i(h, lap, open_i)
    flux_j = limited_flux_j(h, lap, open_j)
    return h - strength * (flux_i - flux_i(I - 1) + flux_j - flux_j(J - 1))


@ff.program
def smooth_step(
    h: Heights,
    open_i: Faces,
    open_j: Faces,
    smoothed: Heights,
    strength: float64,
    ni: int32,
    nj: int32,
):
    """Smooth the cells 0..ni, 0..nj of `h`; the halo of `smoothed` stays as it is."""
    diffuse(h, open_i, open_j, strength, out=smoothed, domain={I: (0, ni), J: (0, nj)})


@ff.field_operator
def steepness(h: Heights, per_metre_i: float64, per_metre_j: float64) -> Heights:
    """Rise over run of the plane through a cell and its eastern and northern neighbours."""
    rise_i = (h(I + 1) - h) * per_metre_i
    rise_j = (h(J + 1) - h) * per_metre_j
    return sqrt(rise_i * rise_i + rise_j * rise_j)


class Region:
    """A height field with its halo, closed faces and two time levels, ready to be smoothed.

    Args:
        heights: metres, shape (ni, nj).
        spacing: metres between cell centres along I and J.
        backend: where the programs run; None is embedded execution.
    """

    def __init__(
        self, heights: NDArray[np.float64], spacing: tuple[float, float], backend: Any
    ) -> None:
        self.ni, self.nj = heights.shape
        cells = ff.domain({I: (-HALO, self.ni + HALO), J: (-HALO, self.nj + HALO)})
        self.now, self.new = (ff.zeros(cells, float64, allocator=backend) for _ in range(2))
        self.open_i, self.open_j = (ff.zeros(cells, ff.bool, allocator=backend) for _ in range(2))
        inside = ff.domain({I: (0, self.ni), J: (0, self.nj)})
        self.now[inside] = heights
        self.new[inside] = heights
        self.open_i[ff.domain({I: (0, self.ni - 1), J: (0, self.nj)})] = True
        self.open_j[ff.domain({I: (0, self.ni), J: (0, self.nj - 1)})] = True
        pairs = ff.domain({I: (0, self.ni - 1), J: (0, self.nj - 1)})
        self.slope = ff.zeros(pairs, float64, allocator=backend)
        self.per_metre = (1.0 / spacing[0], 1.0 / spacing[1])
        self.inside = inside
        self.program = smooth_step.with_backend(backend)
        self._steepness = steepness.with_backend(backend)

    @property
    def heights(self) -> NDArray[np.float64]:
        """Metres, shape (ni, nj): a copy of the present state."""
        return np.array(self.now[self.inside].asnumpy())

    def step(self) -> None:
        """Smooth once and swap the time levels."""
        self.program(
            h=self.now,
            open_i=self.open_i,
            open_j=self.open_j,
            smoothed=self.new,
            strength=STRENGTH,
            ni=self.ni,
            nj=self.nj,
        )
        self.now, self.new = self.new, self.now

    def wait(self) -> None:
        """Wait until a GPU has done the steps that it was given."""
        if self.now.__dlpack_device__()[0] != ff.DeviceType.CPU:
            gpu.current_device().sync()

    def slopes(self) -> NDArray[np.float64]:
        """Rise over run, shape (ni - 1, nj - 1)."""
        self._steepness(self.now, *self.per_metre, out=self.slope)
        return self.slope.asnumpy()


def smooth(
    region: Region, max_slope: float, most_steps: int = 20_000, look_every: int = 10
) -> Iterator[tuple[int, float]]:
    """Step until the steepest slope is at most `max_slope`; yield (steps, steepest) on the way."""
    steps = 0
    steepest = float(region.slopes().max())
    yield steps, steepest
    while steepest > max_slope and steps < most_steps:
        for _ in range(look_every):
            region.step()
        steps += look_every
        steepest = float(region.slopes().max())
        yield steps, steepest


def hills(ni: int = 128, nj: int = 96) -> NDArray[np.float64]:
    """Make a rough landscape of a few hundred metres, shape (ni, nj)."""
    x, y = np.meshgrid(np.arange(ni), np.arange(nj), indexing="ij")
    rough = np.random.default_rng(7).normal(0.0, 25.0, (ni, nj))
    return 400.0 + 200.0 * np.sin(x / 9.0) * np.cos(y / 13.0) + rough


def main(say: Callable[[str], Any] = print) -> None:
    """Smooth a made-up landscape and say how it went."""
    region = Region(hills(), spacing=(90.0, 90.0), backend=ff.cpu)
    before = region.heights.mean()
    *_, (steps, steepest) = smooth(region, max_slope=0.5)
    change = region.heights.mean() - before
    say(f"{steps} steps, steepest slope {steepest:.3f}, mean height changed by {change:+.1e} m")


if __name__ == "__main__":
    main()
