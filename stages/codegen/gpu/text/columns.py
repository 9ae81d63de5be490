"""Write scans over columns with contiguous levels: rows to shared memory, walks, rows to memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from ....gpu_target import WIDEST
from ....ir.bounds import Range
from ....ir.nest_groups import ColumnTile, Together
from ....ir.nests import Load, Nest, Store
from ...rows.names import Names, stored_type
from ...schedule.costs import ITEMSIZES
from .grid import DIVIDE, axes_of
from .sweep import SweepBody
from .wide import together as all_aligned


class ColumnBody(SweepBody):
    """The instructions of a scan whose rows are in shared memory."""

    def __init__(self, names: Names, nest: Nest, scans: Together, pitch: str, first: str) -> None:
        self.read = {
            (tile.source, tile.offsets): number
            for number, tile in enumerate(scans.tiles)
            if tile.source
        }
        self.held = {name: n for n, tile in enumerate(scans.tiles) for name in tile.holds}
        self.arrays = set(scans.arrays)
        self.pitch, self.first = pitch, first
        super().__init__(names, nest, {})

    def tile_of(self, access: Load | Store) -> int | None:
        """Return the number of the tile in which an access finds its row; None for memory."""
        if isinstance(access, Store) or access.buffer in self.arrays:
            return self.held.get(access.buffer)
        if any(row is not None for row in access.rows):
            return None
        axis = self.nest.loops[-1].range.dim
        pairs = zip(access.dims, access.offsets, strict=True)
        offsets = tuple(offset * (dim is not axis) for dim, offset in pairs)
        return self.read.get((access.buffer, offsets))

    def _key(self, access: Load | Store):  # type: ignore[no-untyped-def]
        return None if self.tile_of(access) is not None else super()._key(access)

    def _window_key(self, load: Load) -> object:
        tile = self.tile_of(load)
        return super()._window_key(load) if tile is None else (tile, load.buffer)

    def _place(self, access: Load | Store) -> str:
        tile = self.tile_of(access)
        if tile is None:
            return super()._place(access)
        buffer = self.names.by_name[access.buffer]
        axis = buffer.dims.index(self.nest.loops[-1].range.dim)
        row, offset = self._places(access)[axis]
        level = self._index(buffer.dims[axis], row, offset)
        return f"t{tile}[s64(threadIdx.x) * {self.pitch} + ({level} - {self.first})]"


def write_columns(names: Names, scans: Together) -> Iterator[str]:
    """Write the kernel of some columns; the arrays of the arena that it touches are defined."""
    nests = [
        attrs.evolve(nest, block=(scans.columns,))
        for nest in names.kernel.nests[scans.first : scans.stop]
    ]
    names.functions["over"] = DIVIDE
    yield f"  const u32 pitch = u32({names.bound(scans.pitch)});"
    yield f"  const s64 first_level = {names.bound(scans.first_level)};"
    room = "0"
    for number, tile in enumerate(scans.tiles):
        type_ = stored_type_of(tile)
        count = f"pitch * {scans.columns}"
        yield f"  const ff::shared_array<{type_}> t{number}({room}, {count});"
        room += f" + {count} * {ITEMSIZES[tile.dtype]}"
    yield f"  const bool aligned = {all_aligned(_addresses(names, scans))};"
    yield f"  const u64 column = u64(blockIdx.x) * {scans.columns};"
    yield f"  const u64 columns = {_count(names, nests[0])};"
    yield f"  const u32 r = threadIdx.x / {scans.lanes}, lane = threadIdx.x % {scans.lanes};"
    yield f"  const bool copies = r < {scans.columns} && column + r < columns;"
    yield "  if (copies) {"
    yield from _places(names, nests[0], "column + r", "    ")
    yield from _copies(names, scans, _filled(names, scans, nests[0]))
    yield "  }"
    yield "  ff::async_commit();"
    yield "  ff::async_wait<0>();"
    yield "  ff::barrier();"
    yield f"  if (threadIdx.x < {scans.columns} && column + threadIdx.x < columns) {{"
    yield from _places(names, nests[0], "column + threadIdx.x", "    ")
    for nest in nests:
        yield from ColumnBody(names, nest, scans, "pitch", "first_level").scope()
    yield "  }"
    yield "  ff::barrier();"
    yield "  if (copies) {"
    yield from _places(names, nests[0], "column + r", "    ")
    yield from _copies(names, scans, _written(names, scans, nests[0]))
    yield "  }"


@attrs.frozen
class _Copy:
    """The copy of a row between memory and a tile: of elements of `size` bytes at levels `range`.

    `wide` and `single` copy several elements at `k`, or one; `row` defines the address of the row.
    """

    size: int
    range: Range
    row: str
    wide: str
    single: str


def stored_type_of(tile: ColumnTile) -> str:
    """Return the type of the elements of a tile."""
    return {"float64": "f64", "float32": "f32", "int32": "s32", "int64": "s64",
            "uint32": "u32", "uint64": "u64"}[tile.dtype]  # fmt: skip


def _count(names: Names, nest: Nest) -> str:
    extents = []
    for axis in axes_of(nest):
        range_ = nest.loops[axis.level].range
        extents.append(f"u64({names.bound(range_.stop)} - {names.bound(range_.start)})")
    return " * ".join(extents)


def _places(names: Names, nest: Nest, column: str, indent: str) -> Iterator[str]:
    """Define the indices of a column from its number."""
    left = f"({column})"
    axes = axes_of(nest)
    for place, axis in enumerate(axes):
        range_ = nest.loops[axis.level].range
        start, stop = names.bound(range_.start), names.bound(range_.stop)
        if place == len(axes) - 1:
            yield f"{indent}const s64 i{axis.level} = {start} + s64({left});"
            return
        yield f"{indent}const u64 m{axis.level} = u64({stop} - {start});"
        yield f"{indent}const u64 d{axis.level} = over({left}, m{axis.level});"
        yield (
            f"{indent}const s64 i{axis.level} = {start} + "
            f"s64({left} - d{axis.level} * m{axis.level});"
        )
        left = f"d{axis.level}"


def _row(names: Names, name: str, nest: Nest, offsets: Mapping[int, int]) -> str:
    """Return the address of index 0 of the row of a column."""
    buffer = names.by_name[name]
    dims = [loop.range.dim for loop in nest.loops]
    terms = [names.buffers[name]]
    for axis, dim in enumerate(buffer.dims):
        if dim is dims[-1]:
            continue
        offset = offsets.get(axis, 0)
        index = f"i{dims.index(dim)}" if dim in dims else "0"
        if offset:
            index = f"({index} {'+' if offset > 0 else '-'} {abs(offset)})"
        if index != "0":
            terms.append(names.term(buffer, axis, index))
    return " + ".join(terms)


def _filled(names: Names, scans: Together, nest: Nest) -> Iterator[_Copy]:
    """Yield the copies of what the scans read."""
    for number, tile in enumerate(scans.tiles):
        if tile.source:
            assert tile.filled is not None
            type_, size = stored_type(names.by_name[tile.source]), ITEMSIZES[tile.dtype]
            row = _row(names, tile.source, nest, dict(enumerate(tile.offsets)))
            yield _Copy(
                size,
                tile.filled,
                f"const {type_}* const m{number} = {row} + first_level;",
                f"ff::async_copy<{WIDEST // size}>(t{number}, at + k, m{number} + k);",
                f"ff::async_copy<1>(t{number}, at + k, m{number} + k);",
            )


def _written(names: Names, scans: Together, nest: Nest) -> Iterator[_Copy]:
    """Yield the copies of what the scans store."""
    for number, tile in enumerate(scans.tiles):
        for place, (name, range_) in enumerate(tile.written):
            buffer, to = names.by_name[name], f"m{number}_{place}"
            size = ITEMSIZES[buffer.dtype]
            yield _Copy(
                size,
                range_,
                f"{stored_type(buffer)}* const {to} = {_row(names, name, nest, {})} + first_level;",
                f"ff::store({to} + k, ff::load<{WIDEST // size}>(t{number}, at + k));",
                f"{to}[k] = t{number}[at + k];",
            )


def _copies(names: Names, scans: Together, copies: Iterator[_Copy]) -> Iterator[str]:
    """Write copies of rows: those of the same levels in one loop, the ends element by element."""
    yield "    const s32 at = s32(r * pitch);"
    alike: dict[tuple[int, Range], list[_Copy]] = {}
    for copy in copies:
        alike.setdefault((copy.size, copy.range), []).append(copy)
    for (size, range_), several in alike.items():
        count = WIDEST // size
        yield "    {"
        yield from (f"      {copy.row}" for copy in several)
        yield f"      const s32 first = s32({names.bound(range_.start)} - first_level);"
        yield f"      const s32 stop = s32({names.bound(range_.stop)} - first_level);"
        yield f"      s32 from = (first + {count - 1}) / {count} * {count};"
        yield f"      s32 to = stop / {count} * {count};"
        yield "      if (!aligned || from > to) from = to = stop;"
        step = scans.lanes * count
        yield f"      for (s32 k = from + s32(lane) * {count}; k < to; k += {step}) {{"
        yield from (f"        {copy.wide}" for copy in several)
        yield "      }"
        for low, high in (("first", "from"), ("to", "stop")):
            yield (f"      for (s32 k = {low} + s32(lane); k < {high}; k += {scans.lanes}) {{")
            yield from (f"        {copy.single}" for copy in several)
            yield "      }"
        yield "    }"


def _addresses(names: Names, scans: Together) -> list[str]:
    """Return the addresses and strides in bytes that wide copies need to be aligned."""
    found: dict[str, None] = {}
    for tile in scans.tiles:
        for name in ([tile.source] if tile.source else []) + [name for name, _ in tile.written]:
            buffer = names.by_name[name]
            found[f"u64({names.buffers[name]})"] = None
            for axis, dim in enumerate(buffer.dims):
                if dim is not buffer.unit:
                    stride = names.term(buffer, axis, "1").removeprefix("1 * ")
                    found[f"u64({stride}) * {ITEMSIZES[buffer.dtype]}"] = None
    return list(found)
