"""Where loads and stores find their elements: data that is chosen before rows are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import Access, Buffer, Instruction, Places, Row, row_of


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
