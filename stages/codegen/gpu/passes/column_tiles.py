"""Bring columns with contiguous levels to shared memory of a GPU, and walk them there.

A thread that walks such a column reads one number of each line of memory. So all threads of a block
copy rows of some columns; then one thread walks each, and what they stored goes out as rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .....runtime.language import Dimension
from .....runtime.process import classes
from ....gpu_target import USUAL_LEVELS, WIDEST
from ....ir.loops import (
    ITEMSIZES,
    Access,
    Buffer,
    Const,
    Kernel,
    Load,
    Nest,
    Range,
    Store,
    accesses,
    add,
    arrays_of,
    floor_divide,
    greatest,
    least,
    maximum,
    multiply,
    subtract,
)
from ....ir.loops.gpu import Columns, ColumnTile, RowTiles
from ...pass_list import Rules
from ...schedule.hazards import loads
from ..options import options_of

LANES: Final = 8  # threads that copy one row
COLUMNS: Final = 16  # more fill warps better, and leave a multiprocessor fewer blocks
COLUMNS_OF_WORDS: Final = 24  # of 4 bytes
MOST_BLOCKS: Final = 6  # with more, a thread would have too few registers
SIZES: Final = (4, 8)  # of elements that can be copied alone


def in_tiles(
    kernel: Kernel, scans: tuple[Nest, ...], arrays: Sequence[Buffer], rules: Rules
) -> Columns | None:
    """Return scans as one kernel on tiles of columns; None where levels are not contiguous."""
    planning = _Planning(
        scans, frozenset(buffer.name for buffer in arrays), scans[0].loops[-1].range.dim,
        {buffer.name: buffer for buffer in kernel.buffers},
    )  # fmt: skip
    tiles = planning.read()
    stores = [(n, row) for n, nest in enumerate(scans) for row in accesses(nest, Store)]
    if not tiles or not all(planning.has_place(row) for _, row in stores):
        return None
    for number, row in stores:
        if not any(row.buffer in tile.holds for tile in tiles):
            planning.store(tiles, number, row.buffer)
    return planning.made(tiles, rules)


@classes.define
class _Tile:
    dtype: str
    source: str = ""
    offsets: tuple[int, ...] = ()
    ranges: list[Range] = classes.field(factory=list)
    holds: list[str] = classes.field(factory=list)
    # What finds here what the tile has last been filled with, by the number of its scan.
    loads: list[tuple[int, Load]] = classes.field(factory=list)


@classes.frozen
class _Planning:
    nests: tuple[Nest, ...]
    names: frozenset[str]
    axis: Dimension
    buffers: Mapping[str, Buffer]

    def read(self) -> list[_Tile]:
        """Return a tile for each row that scans read in memory."""
        found: dict[tuple[str, tuple[int, ...]], _Tile] = {}
        for number, load in self._loads():
            buffer = self.buffers[load.buffer]
            if load.buffer in self.names or not self._is_contiguous(buffer) or load.is_told:
                continue
            offsets = tuple(offset * (dim is not self.axis) for dim, _, offset in load.places)
            tile = found.setdefault(
                (load.buffer, offsets), _Tile(buffer.dtype, load.buffer, offsets)
            )
            tile.loads.append((number, load))
            for reading in self.nests[number].reads:
                if reading.buffer == load.buffer and not reading.moved:
                    tile.ranges += (range_ for range_ in reading.box if range_.dim is self.axis)
        return list(found.values())

    def _loads(self) -> Iterator[tuple[int, Load]]:
        return ((n, load) for n, nest in enumerate(self.nests) for load in loads(nest))

    def _is_contiguous(self, buffer: Buffer) -> bool:
        return buffer.unit is self.axis and ITEMSIZES[buffer.dtype] in SIZES

    def has_place(self, store: Access) -> bool:
        """Tell whether a tile can have what a scan stores."""
        buffer = self.buffers[store.buffer]
        fits = store.buffer in self.names and ITEMSIZES[buffer.dtype] in SIZES
        return not any(store.offsets) and (fits or self._is_contiguous(buffer))

    def store(self, tiles: list[_Tile], number: int, name: str) -> None:
        """Find a tile for what a scan stores: one that is read no more, or a new one."""
        dtype = self.buffers[name].dtype
        tile = next((t for t in tiles if t.dtype == dtype and self._is_free(t, number)), None)
        if tile is None:
            tile = _Tile(dtype)
            tiles.append(tile)
        tile.holds.append(name)
        tile.loads = [each for each in self._loads() if each[1].buffer == name]

    def _is_free(self, tile: _Tile, number: int) -> bool:
        """Tell whether nothing in a tile goes to memory, or is needed after a scan stores."""
        stored = arrays_of(self.nests[number], Store)
        last = max((scan for scan, _ in tile.loads), default=-1)
        is_read = last > number or (last == number and any(map(self._is_behind, tile.loads)))
        return not is_read and all(name in self.names - stored for name in tile.holds)

    def _is_behind(self, read: tuple[int, Load]) -> bool:
        """Tell whether a scan has passed the level that it reads."""
        number, load = read
        along = load.offsets[load.dims.index(self.axis)]
        return along > 0 if self.nests[number].loops[-1].backward else along < 0

    def made(self, tiles: Sequence[_Tile], rules: Rules) -> Columns:
        """Return the plan."""
        sizes = [ITEMSIZES[tile.dtype] for tile in tiles]
        together = WIDEST // min(sizes)
        ranges = [
            *(range_ for tile in tiles for range_ in tile.ranges),
            *(nest.loops[-1].range for nest in self.nests),
        ]
        start = least(range_.start for range_ in ranges)
        begin = multiply(floor_divide(start, Const(together)), together)
        levels = subtract(greatest(range_.stop for range_ in ranges), begin)
        # an odd number of 16 bytes, so that neighbouring columns lie in other banks
        blocks = floor_divide(add(maximum(levels, Const(0)), together - 1), Const(together))
        pitch = multiply(add(multiply(floor_divide(blocks, Const(2)), 2), 1), together)
        own = options_of(rules)
        columns = own.tile_columns or (COLUMNS if max(sizes) > SIZES[0] else COLUMNS_OF_WORDS)
        usual = columns * USUAL_LEVELS * sum(sizes)
        load = RowTiles(columns, begin, pitch, tuple(map(self._frozen, tiles)))
        return Columns(
            tuple(sorted(self.names)), max(own.column_block.x or LANES * columns, columns),
            multiply(pitch, columns * sum(sizes)), own.target.block_memory, self.nests, load,
            max(1, min(MOST_BLOCKS, rules.target.core_memory // usual)),
        )  # fmt: skip

    def _frozen(self, tile: _Tile) -> ColumnTile:
        filled = None
        if tile.source:
            filled = Range(
                self.axis,
                least(range_.start for range_ in tile.ranges),
                greatest(range_.stop for range_ in tile.ranges),
            )
        written = {
            (name, nest.loops[-1].range): None
            for name in tile.holds
            if name not in self.names
            for nest in self.nests
            if name in arrays_of(nest, Store)
        }
        return ColumnTile(
            tile.dtype, tile.source, tile.offsets, filled, tuple(tile.holds), tuple(written)
        )
