"""Keep only the last rows of an array of tiles, where nests take turns row by row.

The nest that fills such an array is a few rows ahead of those that read it. What lies further back
is not read again, so the array needs few rows, which stay in the first cache: the row with index i
lies in place i modulo the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from .....runtime.language.dimension import Dimension
from ....ir.bounds import Const, Range
from ....ir.loops.buffers import Buffer
from ....ir.loops.nest import Load, Nest, Store


def in_ring(
    array: Buffer,
    nests: Sequence[Nest],
    margins: Sequence[Mapping[Dimension, tuple[int, int]]],
    rolled: Dimension,
) -> Buffer:
    """Return an array with as many rows along `rolled` as are in use at a time, a power of two."""
    if not is_ring(array, rolled):
        return array
    box = tuple(
        Range(rolled, Const(0), Const(_rows(array.name, nests, margins, rolled)))
        if range_.dim is rolled
        else range_
        for range_ in array.box
    )
    return attrs.evolve(array, box=box, ring=rolled)


def is_ring(array: Buffer, rolled: Dimension) -> bool:
    """Tell whether an array keeps rows along `rolled`, which tiles of any height share."""
    return rolled in array.dims and array.unit is not rolled


def _rows(
    name: str,
    nests: Sequence[Nest],
    margins: Sequence[Mapping[Dimension, tuple[int, int]]],
    rolled: Dimension,
) -> int:
    """Count the rows from the last one that any nest touches to the newest one.

    While row r has its turn, a nest works on the row r + its margin beyond the tile.
    """
    touched = [
        own[rolled][1] + (row.offsets[row.dims.index(rolled)] if isinstance(row, Load) else 0)
        for nest, own in zip(nests, margins, strict=True)
        for row in nest.body
        if isinstance(row, Load | Store) and row.buffer == name
    ]
    count = max(touched) - min(touched) + 1
    return 1 << (count - 1).bit_length()
