"""Bring columns with contiguous levels to shared memory of a GPU, and walk them there.

A thread that walks such a column reads one number of each line of memory. So all threads of a block
copy rows of some columns; then one thread walks each, and what they stored goes out as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from .....runtime.language.dimension import Dimension
from ....gpu_target import WIDEST
from ....ir.bounds import (
    Const,
    Range,
    add,
    floor_divide,
    greatest,
    least,
    maximum,
    multiply,
    subtract,
)
from ....ir.loops.buffers import Buffer
from ....ir.loops.gpu import Columns, ColumnTile, Rows
from ....ir.loops.kernel import Kernel
from ....ir.loops.nest import Load, Nest, Store
from ...schedule.costs import ITEMSIZES
from ...schedule.rules import Rules
from ..options import options_of

LANES: Final = 8  # threads that copy one row
COLUMNS: Final = 16  # more fill warps better, and leave a multiprocessor fewer blocks
COLUMNS_OF_WORDS: Final = 24  # of 4 bytes
USUAL_LEVELS: Final = 82  # by which registers are shared out among blocks
MOST_BLOCKS: Final = 6  # with more, a thread would have too few registers
SIZES: Final = (4, 8)  # of elements that can be copied alone


def in_tiles(
    kernel: Kernel, scans: tuple[Nest, ...], arrays: Sequence[Buffer], rules: Rules
) -> Columns | None:
    """Return scans as one kernel on tiles of columns; None where levels are not contiguous."""
    return _Planning(kernel, scans, arrays, rules).made()


@attrs.define
class _Tile:
    dtype: str
    source: str = ""
    offsets: tuple[int, ...] = ()
    ranges: list[Range] = attrs.field(factory=list)
    holds: list[str] = attrs.field(factory=list)
    last: int = -1  # the last scan that reads what the tile was filled with, or an array in it
    behind: bool = False  # whether a scan reads it at levels that it has passed


class _Planning:
    def __init__(
        self, kernel: Kernel, scans: tuple[Nest, ...], arrays: Sequence[Buffer], rules: Rules
    ) -> None:
        self.nests = scans
        self.names = {buffer.name for buffer in arrays}
        self.rules = rules
        self.axis: Dimension = self.nests[0].loops[-1].range.dim
        self.buffers = {buffer.name: buffer for buffer in kernel.buffers}
        self.tiles: list[_Tile] = []
        self.written: dict[str, list[Range]] = {}

    def made(self) -> Columns | None:
        """Return the plan."""
        for number, nest in enumerate(self.nests):
            for row in nest.body:
                if isinstance(row, Load) and self._is_source(row):
                    self._read(number, nest, row)
        if not any(tile.source for tile in self.tiles):
            return None
        for number, nest in enumerate(self.nests):
            for row in nest.body:
                if isinstance(row, Store) and not self._stored(number, nest, row):
                    return None
        return self._planned()

    def _is_contiguous(self, name: str) -> bool:
        buffer = self.buffers[name]
        return buffer.unit is self.axis and ITEMSIZES[buffer.dtype] in SIZES

    def _is_source(self, load: Load) -> bool:
        return (
            load.buffer not in self.names
            and self._is_contiguous(load.buffer)
            and not any(row is not None for row in load.rows)
        )

    def _offsets(self, load: Load) -> tuple[int, ...]:
        pairs = zip(load.dims, load.offsets, strict=True)
        return tuple(offset * (dim is not self.axis) for dim, offset in pairs)

    def _along(self, load: Load) -> int:
        return load.offsets[load.dims.index(self.axis)]

    def _is_behind(self, nest: Nest, load: Load) -> bool:
        """Tell whether a scan has passed the level that it reads."""
        along = self._along(load)
        return along > 0 if nest.loops[-1].backward else along < 0

    def _read(self, number: int, nest: Nest, load: Load) -> None:
        offsets = self._offsets(load)
        key = (load.buffer, offsets)
        tile = next((each for each in self.tiles if (each.source, each.offsets) == key), None)
        if tile is None:
            tile = _Tile(self.buffers[load.buffer].dtype, load.buffer, offsets)
            self.tiles.append(tile)
        tile.last = number
        tile.behind = tile.behind or self._is_behind(nest, load)
        for reading in nest.reads:
            if reading.buffer == load.buffer and not reading.moved:
                levels = next(range_ for range_ in reading.box if range_.dim is self.axis)
                if levels not in tile.ranges:
                    tile.ranges.append(levels)

    def _stored(self, number: int, nest: Nest, store: Store) -> bool:
        """Find a tile for what a scan stores: one that is read no more, or a new one."""
        buffer = self.buffers[store.buffer]
        if any(store.offsets) or ITEMSIZES[buffer.dtype] not in SIZES:
            return False
        if store.buffer not in self.names:
            if buffer.unit is not self.axis:
                return False
            self.written.setdefault(store.buffer, []).append(nest.loops[-1].range)
        if any(store.buffer in tile.holds for tile in self.tiles):
            return True
        free = (
            tile
            for tile in self.tiles
            if tile.dtype == buffer.dtype
            and (tile.last < number or (tile.last == number and not tile.behind))
            and not self._is_kept(tile, number)
        )
        tile = next(free, None)
        if tile is None:
            tile = _Tile(buffer.dtype)
            self.tiles.append(tile)
        tile.holds.append(store.buffer)
        if store.buffer in self.names:
            loads = [
                (later, load)
                for later, each in enumerate(self.nests)
                for load in each.body
                if isinstance(load, Load) and load.buffer == store.buffer
            ]
            tile.last = max((later for later, _ in loads), default=number)
            tile.behind = any(self._is_behind(self.nests[later], load) for later, load in loads)
        return True

    def _is_kept(self, tile: _Tile, number: int) -> bool:
        """Tell whether a tile has something that goes to memory, or that this scan stores."""
        stored = {row.buffer for row in self.nests[number].body if isinstance(row, Store)}
        return any(name not in self.names or name in stored for name in tile.holds)

    def _planned(self) -> Columns:
        smallest = min(ITEMSIZES[tile.dtype] for tile in self.tiles)
        together = WIDEST // smallest
        ranges = [range_ for tile in self.tiles for range_ in tile.ranges]
        ranges += [nest.loops[-1].range for nest in self.nests]
        start = least(range_.start for range_ in ranges)
        begin = multiply(floor_divide(start, Const(together)), together)
        levels = subtract(greatest(range_.stop for range_ in ranges), begin)
        # an odd number of 16 bytes, so that neighbouring columns lie in other banks
        blocks = floor_divide(add(maximum(levels, Const(0)), together - 1), Const(together))
        pitch = multiply(add(multiply(floor_divide(blocks, Const(2)), 2), 1), together)
        widest = max(ITEMSIZES[tile.dtype] for tile in self.tiles)
        own = options_of(self.rules)
        columns = own.tile_columns or (COLUMNS if widest > SIZES[0] else COLUMNS_OF_WORDS)
        usual = columns * USUAL_LEVELS * sum(ITEMSIZES[tile.dtype] for tile in self.tiles)
        blocks_there = max(1, min(MOST_BLOCKS, self.rules.target.core_memory // usual))
        threads = max(own.column_block.x or LANES * columns, columns)
        needed = multiply(pitch, columns * sum(ITEMSIZES[tile.dtype] for tile in self.tiles))
        load = Rows(columns, begin, pitch, tuple(self._frozen(tile) for tile in self.tiles))
        return Columns(
            tuple(sorted(self.names)), threads, needed, own.target.block_memory, self.nests,
            load, blocks_there,
        )  # fmt: skip

    def _frozen(self, tile: _Tile) -> ColumnTile:
        filled = None
        if tile.source:
            filled = Range(
                self.axis,
                least(range_.start for range_ in tile.ranges),
                greatest(range_.stop for range_ in tile.ranges),
            )
        written = tuple(
            (name, range_)
            for name in tile.holds
            if name not in self.names
            for range_ in dict.fromkeys(self.written[name])
        )
        return ColumnTile(tile.dtype, tile.source, tile.offsets, filled, tuple(tile.holds), written)
