"""Where loads and stores find their elements: data that is chosen before rows are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import Access, Buffer, Index, Instruction, Row

# For each axis: the row of its index (None: the index of the loop), and an offset.
Places: TypeAlias = tuple[tuple[Row | None, int], ...]


@classes.frozen
class Direct:
    """An element of a buffer by all of its indices: `p0[i0 * n1 + i1]`."""


@classes.frozen
class InRow:
    """An element of a row, which differs from its neighbours in the innermost index: `r0[i1]`.

    The pointer has all other indices. Text around defines a pointer that `is_given`.
    """

    pointer: str
    start: str = ""
    is_given: bool = False


@classes.frozen
class Element:
    """An element of an array that is no buffer: of registers, lanes, or shared memory."""

    array: str
    index: str


Address: TypeAlias = Direct | InRow | Element
DIRECT: Final = Direct()


def is_given(address: Address | None) -> bool:
    """Tell whether text around defines the pointer of an address."""
    return isinstance(address, InRow) and address.is_given


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


def addresses_of(
    rows: Sequence[Instruction],
    numbers: Sequence[Row],
    buffers: Mapping[str, Buffer],
    inner: Dimension | None,
    letter: str = "r",
    inside: int = 1 << 30,
) -> dict[Row, Address]:
    """Return the addresses of those accesses among rows `numbers` that find rows of memory.

    Pointers have the names `r0`, `r1`, ... in the order of `numbers`; `inside` is the level of the
    rows inside the innermost loop.
    """
    found: dict[Row, Address] = {}
    pointers: dict[tuple[str, Places], InRow] = {}
    for number in numbers:
        access = rows[number]
        if isinstance(access, Access):
            key = row_of(rows, access, buffers[access.buffer], inner, inside)
            if key is not None:
                found[number] = pointers.setdefault(key, InRow(f"{letter}{len(pointers)}"))
    return found
