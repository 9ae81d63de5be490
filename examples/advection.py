"""Advection on a C grid: upwind, MPDATA, and MPDATA with flux correction.

Upwind differences are positive and smear. MPDATA (Smolarkiewicz 1984, Journal of Computational
Physics 54) applies them once more, with the velocities that would undo the smearing; flux
correction (Smolarkiewicz and Grabowski 1990, Journal of Computational Physics 86) limits these
velocities so that no new extrema appear. Values are not negative. `cx` and `cy` are Courant numbers
on the western and southern faces of cells; index i of a face lies half a cell below index i.

    python -m fieldforge.examples.advection
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import wpfloat

I, J = ff.Dimension("I"), ff.Dimension("J")
IW, JS = ff.flip_staggered(I), ff.flip_staggered(J)
Cells = ff.Field[ff.Dims[I, J], wpfloat]
West = ff.Field[ff.Dims[IW, J], wpfloat]
South = ff.Field[ff.Dims[I, JS], wpfloat]
Scheme = Literal["upwind", "mpdata", "corrected"]
EPSILON: Final = wpfloat(1e-15)  # no division by zero where nothing is
HALO: Final = 4  # cells around the domain that the longest scheme reads


@ff.field_operator
def flux_west(q: Cells, cx: West) -> West:
    """Return what passes the western faces, from the cell that the wind comes from."""
    return ff.maximum(cx, wpfloat(0.0)) * q(IW - 0.5) + ff.minimum(cx, wpfloat(0.0)) * q(IW + 0.5)


@ff.field_operator
def flux_south(q: Cells, cy: South) -> South:
    """Return what passes the southern faces."""
    return ff.maximum(cy, wpfloat(0.0)) * q(JS - 0.5) + ff.minimum(cy, wpfloat(0.0)) * q(JS + 0.5)


@ff.field_operator
def upwind(q: Cells, cx: West, cy: South) -> Cells:
    """One step of upwind differences."""
    west, south = flux_west(q, cx), flux_south(q, cy)
    return q - (west(I + 0.5) - west(I - 0.5)) - (south(J + 0.5) - south(J - 0.5))


@ff.field_operator
def against_smearing_west(q: Cells, cx: West, cy: South) -> West:
    """Return the antidiffusive Courant number on western faces."""
    pair = q(IW + 0.5) + q(IW - 0.5)
    along = (q(IW + 0.5) - q(IW - 0.5)) / (pair + EPSILON)
    across = wpfloat(0.5) * (pair(J + 1) - pair(J - 1)) / (pair(J + 1) + pair(J - 1) + EPSILON)
    middle = wpfloat(0.5) * (cy(J + 0.5) + cy(J - 0.5))
    return (ff.abs(cx) - cx * cx) * along - wpfloat(0.5) * cx * (
        middle(IW + 0.5) + middle(IW - 0.5)
    ) * across


@ff.field_operator
def against_smearing_south(q: Cells, cx: West, cy: South) -> South:
    """Return the antidiffusive Courant number on southern faces."""
    pair = q(JS + 0.5) + q(JS - 0.5)
    along = (q(JS + 0.5) - q(JS - 0.5)) / (pair + EPSILON)
    across = wpfloat(0.5) * (pair(I + 1) - pair(I - 1)) / (pair(I + 1) + pair(I - 1) + EPSILON)
    middle = wpfloat(0.5) * (cx(I + 0.5) + cx(I - 0.5))
    return (ff.abs(cy) - cy * cy) * along - wpfloat(0.5) * cy * (
        middle(JS + 0.5) + middle(JS - 0.5)
    ) * across


@ff.field_operator
def room(q: Cells, before: Cells, cx: West, cy: South) -> tuple[Cells, Cells]:
    """Return the parts of in- and outflow after which a cell reaches its surroundings."""
    high, low = ff.maximum(q, before), ff.minimum(q, before)
    top = ff.maximum(ff.maximum(high(I + 1), high(I - 1)), ff.maximum(high(J + 1), high(J - 1)))
    bottom = ff.minimum(ff.minimum(low(I + 1), low(I - 1)), ff.minimum(low(J + 1), low(J - 1)))
    west, south = flux_west(q, cx), flux_south(q, cy)
    inflow = (
        ff.maximum(west(I - 0.5), wpfloat(0.0)) - ff.minimum(west(I + 0.5), wpfloat(0.0))
        + ff.maximum(south(J - 0.5), wpfloat(0.0)) - ff.minimum(south(J + 0.5), wpfloat(0.0))
    )  # fmt: skip
    outflow = (
        ff.maximum(west(I + 0.5), wpfloat(0.0)) - ff.minimum(west(I - 0.5), wpfloat(0.0))
        + ff.maximum(south(J + 0.5), wpfloat(0.0)) - ff.minimum(south(J - 0.5), wpfloat(0.0))
    )  # fmt: skip
    return (
        (ff.maximum(top, high) - q) / (inflow + EPSILON),
        (q - ff.minimum(bottom, low)) / (outflow + EPSILON),
    )


@ff.field_operator
def limited_west(more: Cells, less: Cells, cx: West) -> West:
    """Scale what leaves one cell and enters the next to what both have room for."""
    east = ff.minimum(wpfloat(1.0), ff.minimum(less(IW - 0.5), more(IW + 0.5)))
    west = ff.minimum(wpfloat(1.0), ff.minimum(more(IW - 0.5), less(IW + 0.5)))
    return east * ff.maximum(cx, wpfloat(0.0)) + west * ff.minimum(cx, wpfloat(0.0))


@ff.field_operator
def limited_south(more: Cells, less: Cells, cy: South) -> South:
    """Scale what passes the southern faces."""
    north = ff.minimum(wpfloat(1.0), ff.minimum(less(JS - 0.5), more(JS + 0.5)))
    south = ff.minimum(wpfloat(1.0), ff.minimum(more(JS - 0.5), less(JS + 0.5)))
    return north * ff.maximum(cy, wpfloat(0.0)) + south * ff.minimum(cy, wpfloat(0.0))


@ff.field_operator
def limited(q: Cells, before: Cells, cx: West, cy: South) -> tuple[West, South]:
    """Scale what passes all faces."""
    more, less = room(q, before, cx, cy)
    return limited_west(more, less, cx), limited_south(more, less, cy)


@ff.field_operator
def mpdata(q: Cells, cx: West, cy: South) -> Cells:
    """Upwind differences, and once more against the smearing."""
    once = upwind(q, cx, cy)
    return upwind(once, against_smearing_west(once, cx, cy), against_smearing_south(once, cx, cy))


@ff.field_operator
def corrected(q: Cells, cx: West, cy: South) -> Cells:
    """MPDATA that makes no new extrema."""
    once = upwind(q, cx, cy)
    west, south = against_smearing_west(once, cx, cy), against_smearing_south(once, cx, cy)
    more, less = room(once, q, west, south)
    return upwind(once, limited_west(more, less, west), limited_south(more, less, south))


@ff.program
def step_upwind(q: Cells, cx: West, cy: South, out: Cells, nx: ff.int32, ny: ff.int32):
    """Write one step of upwind differences."""
    upwind(q, cx, cy, out=out, domain={I: (0, nx), J: (0, ny)})


@ff.program
def step_mpdata(q: Cells, cx: West, cy: South, out: Cells, nx: ff.int32, ny: ff.int32):
    """Write one step of MPDATA."""
    mpdata(q, cx, cy, out=out, domain={I: (0, nx), J: (0, ny)})


@ff.program
def step_corrected(q: Cells, cx: West, cy: South, out: Cells, nx: ff.int32, ny: ff.int32):
    """Write one step of MPDATA with flux correction."""
    corrected(q, cx, cy, out=out, domain={I: (0, nx), J: (0, ny)})


@ff.program
def limit(
    q: Cells, before: Cells, cx: West, cy: South, new_cx: West, new_cy: South,
    nx: ff.int32, ny: ff.int32,
):  # fmt: skip
    """Write Courant numbers scaled to what cells have room for."""
    limited(
        q, before, cx, cy, out=(new_cx, new_cy),
        domain=({IW: (0, nx + 1), J: (0, ny)}, {I: (0, nx), JS: (0, ny + 1)}),
    )  # fmt: skip


@ff.program
def limit_in_steps(
    q: Cells, before: Cells, cx: West, cy: South, more: Cells, less: Cells,
    new_cx: West, new_cy: South, nx: ff.int32, ny: ff.int32,
):  # fmt: skip
    """Write the same, with fields for the room in cells."""
    room(q, before, cx, cy, out=(more, less), domain={I: (-1, nx + 1), J: (-1, ny + 1)})
    limited_west(more, less, cx, out=new_cx, domain={IW: (0, nx + 1), J: (0, ny)})
    limited_south(more, less, cy, out=new_cy, domain={I: (0, nx), JS: (0, ny + 1)})


STEPS: Final = {"upwind": step_upwind, "mpdata": step_mpdata, "corrected": step_corrected}


@attrs.frozen
class Rotation:
    """A cone in a solid-body rotation on `size` x `size` cells, a turn in `steps` steps."""

    size: int = 100
    steps: int = 628
    height: float = 4.0
    background: float = 0.0

    @property
    def domain(self) -> dict[Any, Any]:
        """The cells with their halo."""
        return {I: (-HALO, self.size + HALO), J: (-HALO, self.size + HALO)}

    def cone(self) -> np.ndarray[Any, Any]:
        """Return the cone east of the centre: its radius is 0.15 of the domain."""
        centre = 0.5 * (self.size - 1)
        i, j = np.meshgrid(*[np.arange(-HALO, self.size + HALO)] * 2, indexing="ij")
        away = np.hypot(i - centre - 0.25 * self.size, j - centre) / (0.15 * self.size)
        return self.background + self.height * np.maximum(0.0, 1.0 - away)

    def courant(self) -> tuple[Any, Any]:
        """Return Courant numbers of the rotation; their divergence is zero in each cell."""
        turn = 2.0 * np.pi / self.steps
        away = turn * (np.arange(-HALO, self.size + HALO) - 0.5 * (self.size - 1))
        faces, cells = (-HALO, self.size + HALO + 1), (-HALO, self.size + HALO)
        count = len(away) + 1
        return (
            ff.as_field({IW: faces, J: cells}, np.tile(-away, (count, 1))),
            ff.as_field({I: cells, JS: faces}, np.tile(away[:, None], (1, count))),
        )


def rotated(
    scheme: Scheme, case: Rotation, turns: float = 1.0, backend: Any = "cpu"
) -> np.ndarray[Any, Any]:
    """Return the cone after some turns, without halo.

    >>> case = Rotation(size=24, steps=160)
    >>> before, after = case.cone()[HALO:-HALO, HALO:-HALO], rotated("corrected", case, 0.05)
    >>> bool(abs(after.sum() / before.sum() - 1.0) < 1e-3), bool(after.max() <= before.max())
    (True, True)
    """
    step = STEPS[scheme].with_backend(backend)
    cx, cy = case.courant()
    now, new = (ff.as_field(case.domain, case.cone()) for _ in range(2))
    for _ in range(round(turns * case.steps)):
        step(now, cx, cy, new, case.size, case.size)
        now, new = new, now  # the halo keeps the background
    return now.asnumpy()[HALO:-HALO, HALO:-HALO].copy()


def experiment(case: Rotation = Rotation()) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield the cone, and what is left of it after a turn with each scheme."""
    yield "before", case.cone()[HALO:-HALO, HALO:-HALO]
    for scheme in ("upwind", "mpdata", "corrected"):
        yield scheme, rotated(scheme, case)


def main() -> None:
    """Turn the cone once with each scheme, and print what is left."""
    found = experiment()
    _, before = next(found)
    for scheme, after in found:
        error = np.sqrt(np.mean((after - before) ** 2))
        print(  # noqa: T201  (a script)
            f"{scheme}: highest {after.max():.2f}, lowest {after.min():+.1e}, error {error:.3f}, "
            f"sum {after.sum() / before.sum() - 1.0:+.1e}"
        )


if __name__ == "__main__":
    main()
