"""Fill the cells of a field around its interior: periodic, walls, fixed values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from ..language.axes import is_staggered
from ..language.dimension import Dimension
from ..language.domain import domain as make_domain
from ..process.errors import ArgumentError, DomainError

Boundary: TypeAlias = Literal["periodic", "even", "odd"] | float
_SIGNS: Final = {"even": 1, "odd": -1}


def fill_halo(field: Any, interior: Any, boundaries: Mapping[Dimension, Boundary]) -> None:
    """Fill the halo of a field in place, dimension by dimension, so that corners are filled too.

    `"periodic"` copies from the opposite side. Walls mirror the interior: `"even"` keeps the sign
    (a scalar, the velocity along a wall) and `"odd"` changes it (the velocity across a wall). A
    number is a fixed value. Along a dimension of cells the wall is the face below the first cell,
    and the one above the last. Along a staggered dimension it is the first and the last index of
    the interior: `"odd"` sets these to zero. A periodic staggered dimension has as many faces as
    cells.

    Args:
        field: a field whose array can be written; its domain contains the interior.
        interior: a range for each dimension that is filled, as `{I: (0, nx), J: (0, ny)}`.
        boundaries: what to do along each dimension, in this order.

    Raises:
        ArgumentError: a boundary has no such name, or a dimension is missing from the interior.
        DomainError: the field lacks a dimension, the interior reaches beyond it, or is smaller than
            its halo.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> u = ff.as_field({I: (-2, 5)}, [0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0])
    >>> ff.fill_halo(u, {I: (0, 3)}, {I: "periodic"})
    >>> u.asnumpy()
    array([2., 3., 1., 2., 3., 1., 2.])
    >>> ff.fill_halo(u, {I: (0, 3)}, {I: "odd"})
    >>> u.asnumpy()
    array([-2., -1.,  1.,  2.,  3., -3., -2.])
    """
    ranges = {each.dim: each.unit_range for each in make_domain(interior)}
    for dim, boundary in boundaries.items():
        start, stop = (ranges[dim].start, ranges[dim].stop) if dim in ranges else (None, None)
        if not isinstance(start, int) or not isinstance(stop, int):
            raise ArgumentError(f"The interior has no range for dimension '{dim.value}'.")
        _fill(field, dim, start, stop, boundary)


def _fill(field: Any, dim: Dimension, start: int, stop: int, boundary: Boundary) -> None:
    found = [each.unit_range for each in field.domain if each.dim is dim]
    if not found or start < found[0].start or stop > found[0].stop:
        raise DomainError(
            f"The interior {dim.value}: {start} .. {stop} is no part of the field on "
            f"'{field.domain}'."
        )
    if isinstance(boundary, str) and boundary not in ("periodic", *_SIGNS):
        raise ArgumentError(
            f"There is no boundary '{boundary}'.",
            hints=("Expected 'periodic', 'even', 'odd' or a number.",),
        )
    axis = [each.dim for each in field.domain].index(dim)
    rows = _Rows(field.ndarray, axis, found[0].start)
    below, above = start - found[0].start, found[0].stop - stop
    faces = isinstance(boundary, str) and boundary != "periodic" and is_staggered(dim)
    if isinstance(boundary, str) and max(below, above) > stop - start - faces:
        raise DomainError(
            f"The halo of dimension '{dim.value}' has {max(below, above)} rows, its interior "
            f"{stop - start}."
        )
    if boundary == "periodic":
        rows[start - below, start] = rows[stop - below, stop]
        rows[stop, stop + above] = rows[start, start + above]
    elif isinstance(boundary, str):
        _mirror(rows, (start, stop), (below, above), _SIGNS[boundary], faces)
    else:
        rows[start - below, start] = rows[stop, stop + above] = boundary


def _mirror(
    rows: _Rows, interior: tuple[int, int], halo: tuple[int, int], sign: int, faces: bool
) -> None:
    """Mirror at the outer faces of cells, or at the first and the last face."""
    (start, stop), (below, above), skip = interior, halo, int(faces)
    rows[start - below, start] = sign * rows.reversed(start + skip, start + skip + below)
    rows[stop, stop + above] = sign * rows.reversed(stop - skip - above, stop - skip)
    if faces and sign < 0:
        rows[start, start + 1] = rows[stop - 1, stop] = 0


class _Rows:
    """Rows of an array across one axis, by indices of the field."""

    def __init__(self, array: Any, axis: int, first: int) -> None:
        self.array, self.axis, self.first = array, axis, first

    def _at(self, start: int, stop: int) -> tuple[slice, ...]:
        rows = slice(start - self.first, stop - self.first)
        return (slice(None),) * self.axis + (rows,)

    def __getitem__(self, ends: tuple[int, int]) -> Any:
        return self.array[self._at(*ends)]

    def __setitem__(self, ends: tuple[int, int], values: Any) -> None:
        self.array[self._at(*ends)] = values

    def reversed(self, start: int, stop: int) -> Any:
        """Return rows in the opposite order."""
        return self[start, stop][(slice(None),) * self.axis + (slice(None, None, -1),)]
