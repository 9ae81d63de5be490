"""Shallow water on an Arakawa C grid, with all that a model sets up before its time loop.

The equations are in vector-invariant form, the differences those of Sadourny (1975, Journal of the
Atmospheric Sciences 32, "The dynamics of finite-difference models of the shallow-water equations")
that conserve energy: mass is conserved to rounding, energy up to the error of the time steps, which
are those of Shu and Osher's Runge-Kutta method of order three. Depth lies in the centres of cells,
`u` on their western and `v` on their southern faces. The plane is periodic, or has walls.

    python -m fieldforge.examples.shallow_water_cartesian
    fieldforge options show examples/shallow_water_cartesian.py:advance \
        --file examples/shallow_water_cartesian.toml --why
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import attrs
import numpy as np

import fieldforge as ff

I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = ff.Field[ff.Dims[I, J], ff.float64]
OPTIONS: Final = Path(__file__).with_suffix(".toml")
Boundary = Literal["periodic", "walls"]
# A stage adds so much of the first state to the rest of its own result.
WEIGHTS: Final = (0.0, 3.0 / 4.0, 1.0 / 3.0)


@ff.field_operator
def flux_west(h: Plane, u: Plane) -> Plane:
    """Water through the western faces."""
    return 0.5 * (h + h(I - 1)) * u


@ff.field_operator
def flux_south(h: Plane, v: Plane) -> Plane:
    """Water through the southern faces."""
    return 0.5 * (h + h(J - 1)) * v


@ff.field_operator
def potential_vorticity(h: Plane, u: Plane, v: Plane, f: float, dx: float) -> Plane:
    """Absolute vorticity over depth, at the south-western corners."""
    around = v - v(I - 1) - u + u(J - 1)
    depth = 0.25 * (h + h(I - 1) + h(J - 1) + h(I - 1)(J - 1))
    return (f + around / dx) / depth


@ff.field_operator
def bernoulli(h: Plane, u: Plane, v: Plane, g: float) -> Plane:
    """Potential and kinetic energy of a unit of mass, in the centres."""
    return g * h + 0.25 * (u * u + u(I + 1) * u(I + 1) + v * v + v(J + 1) * v(J + 1))


@ff.field_operator
def tendencies(
    h: Plane, u: Plane, v: Plane, f: float, g: float, dx: float
) -> tuple[Plane, Plane, Plane]:
    """Time derivatives of depth and velocities."""
    west, south = flux_west(h, u), flux_south(h, v)
    q, head = potential_vorticity(h, u, v, f, dx), bernoulli(h, u, v, g)
    turned_south = 0.5 * q * (south + south(I - 1))
    turned_west = 0.5 * q * (west + west(J - 1))
    return (
        (west - west(I + 1) + south - south(J + 1)) / dx,
        0.5 * (turned_south + turned_south(J + 1)) - (head - head(I - 1)) / dx,
        -0.5 * (turned_west + turned_west(I + 1)) - (head - head(J - 1)) / dx,
    )


@ff.field_operator
def advanced(
    h: Plane, u: Plane, v: Plane, h0: Plane, u0: Plane, v0: Plane,
    f: float, g: float, dx: float, dt: float, weight: float,
) -> tuple[Plane, Plane, Plane]:  # fmt: skip
    """Mix the first state and an explicit step from the present one."""
    dh, du, dv = tendencies(h, u, v, f, g, dx)
    rest = 1.0 - weight
    return (
        weight * h0 + rest * (h + dt * dh),
        weight * u0 + rest * (u + dt * du),
        weight * v0 + rest * (v + dt * dv),
    )


@ff.program
def advance(
    h: Plane, u: Plane, v: Plane, h0: Plane, u0: Plane, v0: Plane,
    f: float, g: float, dx: float, dt: float, weight: float,
    h_new: Plane, u_new: Plane, v_new: Plane,
    first_u: ff.int32, first_v: ff.int32, nx: ff.int32, ny: ff.int32,
):  # fmt: skip
    """Write one stage; faces before `first_u` and `first_v` are walls."""
    advanced(
        h, u, v, h0, u0, v0, f, g, dx, dt, weight,
        out=(h_new, u_new, v_new),
        domain=(
            {I: (0, nx), J: (0, ny)}, {I: (first_u, nx), J: (0, ny)}, {I: (0, nx), J: (first_v, ny)}
        ),
    )  # fmt: skip


@ff.field_operator
def same(a: Plane) -> Plane:
    """Return the field."""
    return a


@ff.program
def fill(low_source: Plane, low: Plane, high_source: Plane, high: Plane):
    """Copy the rows next to two opposite edges, or those at the other edge, into the halo."""
    same(low_source, out=low)
    same(high_source, out=high)


@ff.field_operator
def energy(h: Plane, u: Plane, v: Plane, g: float) -> Plane:
    """Energy of a cell and of its western and southern faces, by area and density."""
    return 0.5 * (g * h * h + flux_west(h, u) * u + flux_south(h, v) * v)


@ff.field_operator
def wave_speed(h: Plane, u: Plane, v: Plane, g: float) -> Plane:
    """Upper bound of the speed of signals."""
    return ff.sqrt(g * h) + ff.maximum(ff.abs(u), ff.abs(v))


@attrs.frozen
class State:
    """Depth and velocities, with a halo of one cell."""

    h: Any
    u: Any
    v: Any


@attrs.frozen
class Plane2D:
    """The grid and the constants of one experiment, in metres and seconds."""

    nx: int = 96
    ny: int = 96
    dx: float = 5.0e3
    dt: float = 8.0
    f: float = 1.0e-4
    g: float = 9.81
    boundary: Boundary = "periodic"


class ShallowWater:
    """The model: its constructor makes all set-ups, `build` builds them, `run` steps.

    >>> model = ShallowWater(Plane2D(nx=16, ny=12), "cpu")
    >>> model.build()
    >>> before = model.mass()
    >>> model.run(4)
    >>> bool(abs(model.mass() / before - 1.0) < 1e-14)
    True
    """

    def __init__(self, grid: Plane2D, backend: Any = "cpu") -> None:
        self.grid = grid
        self.states = [self._state(), self._state(), self._state()]
        self.energy, self.wave_speed = (each.with_backend(backend) for each in (energy, wave_speed))
        with ff.plan() as self.plan:
            self.halos = [self._halos(state, backend) for state in self.states]
            self.stages = [self._stage(number, backend) for number in range(3)]
        for operator in (self.energy, self.wave_speed):
            self.plan.add(operator)
        self.recorded: Any = None

    # --- set-up -------------------------------------------------------------------------------

    def _state(self) -> State:
        """Water at rest, with a hill of water in the middle of the western half."""
        grid = self.grid
        domain = {I: (-1, grid.nx + 1), J: (-1, grid.ny + 1)}
        x, y = np.meshgrid(
            (np.arange(grid.nx + 2) - 0.5) / grid.nx, (np.arange(grid.ny + 2) - 0.5) / grid.ny,
            indexing="ij",
        )  # fmt: skip
        depth = 1000.0 + 20.0 * np.exp(-((x - 0.35) ** 2 + (y - 0.5) ** 2) / 0.01)
        return State(ff.as_field(domain, depth), ff.zeros(domain), ff.zeros(domain))

    def _stage(self, number: int, backend: Any) -> Any:
        """Set up one stage: all but the work is known now, so a call has no argument."""
        grid, start = self.grid, self.states[0]
        now, new = self.states[number], self.states[(number + 1) % 3]
        first = ff.int32(1 if grid.boundary == "walls" else 0)
        return ff.setup(
            advance,
            backend=backend,
            horizontal_sizes={
                "first_u": first, "first_v": first, "nx": ff.int32(grid.nx), "ny": ff.int32(grid.ny)
            },
            constant_args={
                "h": now.h, "u": now.u, "v": now.v, "h0": start.h, "u0": start.u, "v0": start.v,
                "h_new": new.h, "u_new": new.u, "v_new": new.v,
                "f": grid.f, "g": grid.g, "dx": grid.dx, "dt": grid.dt, "weight": WEIGHTS[number],
            },
            static_args=("horizontal", "constants"),
        )  # fmt: skip

    def _halos(self, state: State, backend: Any) -> list[Any]:
        """Set up the copies into the halo of a state: along I, then along J with the corners.

        Walls mirror the depth and the velocity along them; the one across is zero on the wall.
        """
        found = []
        for dim, size, across in ((I, self.grid.nx, "u"), (J, self.grid.ny, "v")):
            for name in ("h", "u", "v"):
                if self.grid.boundary == "walls" and name == across:
                    continue
                field = getattr(state, name)
                shift = size if self.grid.boundary == "periodic" else 0
                first, last = (0, size - 1) if shift == 0 else (size - 1, 0)
                rows = {
                    "low_source": _row(dim, field, first)(dim + (first + 1)),
                    "low": _row(dim, field, -1),
                    "high_source": _row(dim, field, last)(dim + (last - size)),
                    "high": _row(dim, field, size),
                }
                found.append(ff.setup(fill, backend=backend, constant_args=rows))
        return found

    def build(self) -> None:
        """Build everything, fill the halos, and record a step."""
        self.plan.build(progress=None)
        self._fill(0)
        with ff.record() as self.recorded:
            self._step()
        self.reset()

    def reset(self) -> None:
        """Begin again with the first state."""
        for kept, fresh in zip(self.states[:1], [self._state()], strict=True):
            for name in ("h", "u", "v"):
                getattr(kept, name).ndarray[...] = getattr(fresh, name).ndarray
        self._fill(0)

    # --- time steps ---------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        """Make time steps; a compile is an error."""
        with self.plan.loop():
            for _ in range(steps):
                self.recorded()

    def _step(self) -> None:
        for number, stage in enumerate(self.stages):
            stage()
            self._fill((number + 1) % 3)

    def _fill(self, number: int) -> None:
        for halo in self.halos[number]:
            halo()

    # --- what is conserved --------------------------------------------------------------------

    @property
    def now(self) -> State:
        """The present state."""
        return self.states[0]

    @property
    def interior(self) -> dict[Any, Any]:
        """The cells without the halo."""
        return {I: (0, self.grid.nx), J: (0, self.grid.ny)}

    def mass(self) -> float:
        """Volume of the water over the area of a cell."""
        return float(ff.sum(self.now.h, self.interior))

    def total_energy(self) -> float:
        """Energy over density and the area of a cell."""
        return float(ff.sum(self.energy, self.interior, **attrs.asdict(self.now), g=self.grid.g))

    def courant(self) -> float:
        """Courant number of the fastest signal."""
        speed = ff.max(self.wave_speed, self.interior, **attrs.asdict(self.now), g=self.grid.g)
        return float(speed) * self.grid.dt / self.grid.dx


def _row(dim: Any, field: Any, index: int) -> Any:
    """Return a view of the points with one index."""
    return field[dim(index) : dim(index + 1)]


def experiment(boundary: Boundary = "periodic", parts: int = 3, steps: int = 120) -> Iterator[Any]:
    """Yield the number of steps and the depth at the start and after each part."""
    model = ShallowWater(Plane2D(boundary=boundary))
    model.build()
    for part in range(parts):
        if part:
            model.run(steps)
        yield part * steps, model.now.h.asnumpy()[1:-1, 1:-1].copy()


def main() -> None:
    """Run with the options of the file, and print what is conserved."""
    ff.use_options(OPTIONS)
    model = ShallowWater(Plane2D())
    missing = model.plan.check()
    print(f"{len(missing)} builds are missing.")  # noqa: T201  (a script)
    model.build()
    mass, total = model.mass(), model.total_energy()
    print(f"Courant number {model.courant():.2f}")  # noqa: T201
    for part in range(1, 5):
        model.run(100)
        errors = model.mass() / mass - 1.0, model.total_energy() / total - 1.0
        print(f"step {100 * part}: mass {errors[0]:+.1e}, energy {errors[1]:+.1e}")  # noqa: T201


if __name__ == "__main__":
    main()
