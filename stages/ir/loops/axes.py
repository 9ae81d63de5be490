"""Along which axis of a buffer a loop moves, and which accesses lie in one row of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ....runtime.language import Dimension
from .buffers import Buffer
from .nest import Access, Index, Instruction, Row

# For each axis: the row of its index (None: the index of the loop), and an offset.
Places: TypeAlias = tuple[tuple[Row | None, int], ...]


def axis_along(
    rows: Sequence[Instruction], access: Access, buffer: Buffer, dim: Dimension | None
) -> int | None:
    """Return the axis of a buffer that the index of a loop moves along; None if there is none.

    The buffer may lie over the staggered counterpart of the loop's dimension.
    """
    for axis, (own, (row, _)) in enumerate(
        zip(buffer.dims, access.coordinates(len(buffer.dims)), strict=True)
    ):
        if (own is dim) if row is None else _is_index(rows[row], dim):
            return axis
    return None


def is_told(rows: Sequence[Instruction], access: Access) -> bool:
    """Tell whether a value gives the index of an axis, as a table of neighbours does."""
    return any(row is not None and not isinstance(rows[row], Index) for row in access.rows)


def _is_index(row: Instruction, dim: Dimension | None) -> bool:
    return isinstance(row, Index) and row.dim is dim


def row_of(
    rows: Sequence[Instruction],
    access: Access,
    buffer: Buffer,
    inner: Dimension | None,
    inside: int,
) -> tuple[str, Places] | None:
    """Return what accesses of one row have in common: buffer and places; None for no row.

    A row lies along the dimension `inner` of the innermost loop; no index of its pointer may be
    computed inside this loop, at the level `inside`.
    """
    axis = axis_along(rows, access, buffer, inner)
    if inner is None or axis is None:
        return None
    places = list(access.coordinates(len(buffer.dims)))
    places[axis] = (None, 0)
    if any(row is not None and rows[row].level == inside for row, _ in places):
        return None
    return access.buffer, tuple(places)
