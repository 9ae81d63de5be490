"""Write scans over columns with contiguous levels: rows to shared memory, walks, rows to memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from ....gpu_target import WIDEST
from ....ir.bounds import Range
from ....ir.loops.gpu import Columns, ColumnTile, Rows
from ....ir.loops.nest import Load, Nest, Row, Store
from ...rows.scope import Scope, stored_type
from ...schedule.costs import ITEMSIZES
from .grid import DIVIDE, axes_of
from .sweep import scoped, write_sweep
from .wide import addresses
from .wide import together as all_aligned
from .windows import Room, sweep_of


def _tiles(nest: Nest, columns: Columns, load: Rows) -> dict[Row, Room]:
    """Return the tiles in which accesses of a scan find their rows."""
    read = {(tile.source, tile.offsets): n for n, tile in enumerate(load.tiles) if tile.source}
    held = {name: number for number, tile in enumerate(load.tiles) for name in tile.holds}
    found: dict[Row, int | None] = {}
    for number, row in enumerate(nest.body):
        if isinstance(row, Store) or (isinstance(row, Load) and row.buffer in columns.arrays):
            found[number] = held.get(row.buffer)
        elif isinstance(row, Load) and not any(index is not None for index in row.rows):
            pairs = zip(row.dims, row.offsets, strict=True)
            inner = nest.loops[-1].range.dim
            offsets = tuple(offset * (dim is not inner) for dim, offset in pairs)
            found[number] = read.get((row.buffer, offsets))
    place = "s64(threadIdx.x) * pitch + ({level} - first_level)"
    return {row: Room(f"t{tile}", place) for row, tile in found.items() if tile is not None}


def write_rows(scope: Scope, columns: Columns, load: Rows, nests: Sequence[Nest]) -> Iterator[str]:
    """Write the kernel of some columns; the arrays of the arena that it touches are defined."""
    lanes = max(1, columns.threads // load.columns)  # that copy one row
    scope.uses.functions["over"] = DIVIDE
    yield f"  const u32 pitch = u32({scope.bound(load.pitch)});"
    yield f"  const s64 first_level = {scope.bound(load.first_level)};"
    room = "0"
    for number, tile in enumerate(load.tiles):
        type_ = stored_type_of(tile)
        count = f"pitch * {load.columns}"
        yield f"  const ff::shared_array<{type_}> t{number}({room}, {count});"
        room += f" + {count} * {ITEMSIZES[tile.dtype]}"
    yield f"  const bool aligned = {all_aligned(_addresses(scope, load))};"
    yield f"  const u64 column = u64(blockIdx.x) * {load.columns};"
    yield f"  const u64 columns = {_count(scope, nests[0])};"
    yield f"  const u32 r = threadIdx.x / {lanes}, lane = threadIdx.x % {lanes};"
    yield f"  const bool copies = r < {load.columns} && column + r < columns;"
    yield "  if (copies) {"
    yield from _places(scope, nests[0], "column + r", "    ")
    yield from _copies(scope, lanes, _filled(scope, load, nests[0]))
    yield "  }"
    yield "  ff::async_commit();"
    yield "  ff::async_wait<0>();"
    yield "  ff::barrier();"
    yield f"  if (threadIdx.x < {load.columns} && column + threadIdx.x < columns) {{"
    yield from _places(scope, nests[0], "column + threadIdx.x", "    ")
    for nest in nests:
        sweep = sweep_of(scope, nest, _tiles(nest, columns, load), tiles=True)
        yield from scoped(sweep, write_sweep(sweep, "      "))
    yield "  }"
    yield "  ff::barrier();"
    yield "  if (copies) {"
    yield from _places(scope, nests[0], "column + r", "    ")
    yield from _copies(scope, lanes, _written(scope, load, nests[0]))
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


def _count(scope: Scope, nest: Nest) -> str:
    extents = []
    for axis in axes_of(nest):
        range_ = nest.loops[axis.level].range
        extents.append(f"u64({scope.bound(range_.stop)} - {scope.bound(range_.start)})")
    return " * ".join(extents)


def _places(scope: Scope, nest: Nest, column: str, indent: str) -> Iterator[str]:
    """Define the indices of a column from its number."""
    left = f"({column})"
    axes = axes_of(nest)
    for place, axis in enumerate(axes):
        range_ = nest.loops[axis.level].range
        start, stop = scope.bound(range_.start), scope.bound(range_.stop)
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


def _row(scope: Scope, name: str, nest: Nest, offsets: Mapping[int, int]) -> str:
    """Return the address of index 0 of the row of a column."""
    buffer = scope.by_name[name]
    dims = [loop.range.dim for loop in nest.loops]
    terms = [scope.buffer(name)]
    for axis, dim in enumerate(buffer.dims):
        if dim is dims[-1]:
            continue
        offset = offsets.get(axis, 0)
        index = f"i{dims.index(dim)}" if dim in dims else "0"
        if offset:
            index = f"({index} {'+' if offset > 0 else '-'} {abs(offset)})"
        if index != "0":
            terms.append(scope.term(buffer, axis, index))
    return " + ".join(terms)


def _filled(scope: Scope, load: Rows, nest: Nest) -> Iterator[_Copy]:
    """Yield the copies of what the scans read."""
    for number, tile in enumerate(load.tiles):
        if tile.source:
            assert tile.filled is not None
            type_, size = stored_type(scope.by_name[tile.source]), ITEMSIZES[tile.dtype]
            row = _row(scope, tile.source, nest, dict(enumerate(tile.offsets)))
            yield _Copy(
                size,
                tile.filled,
                f"const {type_}* const m{number} = {row} + first_level;",
                f"ff::async_copy<{WIDEST // size}>(t{number}, at + k, m{number} + k);",
                f"ff::async_copy<1>(t{number}, at + k, m{number} + k);",
            )


def _written(scope: Scope, load: Rows, nest: Nest) -> Iterator[_Copy]:
    """Yield the copies of what the scans store."""
    for number, tile in enumerate(load.tiles):
        for place, (name, range_) in enumerate(tile.written):
            buffer, to = scope.by_name[name], f"m{number}_{place}"
            size = ITEMSIZES[buffer.dtype]
            yield _Copy(
                size,
                range_,
                f"{stored_type(buffer)}* const {to} = {_row(scope, name, nest, {})} + first_level;",
                f"ff::store({to} + k, ff::load<{WIDEST // size}>(t{number}, at + k));",
                f"{to}[k] = t{number}[at + k];",
            )


def _copies(scope: Scope, lanes: int, copies: Iterator[_Copy]) -> Iterator[str]:
    """Write copies of rows: those of the same levels in one loop, the ends element by element."""
    yield "    const s32 at = s32(r * pitch);"
    alike: dict[tuple[int, Range], list[_Copy]] = {}
    for copy in copies:
        alike.setdefault((copy.size, copy.range), []).append(copy)
    for (size, range_), several in alike.items():
        count = WIDEST // size
        yield "    {"
        yield from (f"      {copy.row}" for copy in several)
        yield f"      const s32 first = s32({scope.bound(range_.start)} - first_level);"
        yield f"      const s32 stop = s32({scope.bound(range_.stop)} - first_level);"
        yield f"      s32 from = (first + {count - 1}) / {count} * {count};"
        yield f"      s32 to = stop / {count} * {count};"
        yield "      if (!aligned || from > to) from = to = stop;"
        step = lanes * count
        yield f"      for (s32 k = from + s32(lane) * {count}; k < to; k += {step}) {{"
        yield from (f"        {copy.wide}" for copy in several)
        yield "      }"
        for low, high in (("first", "from"), ("to", "stop")):
            yield (f"      for (s32 k = {low} + s32(lane); k < {high}; k += {lanes}) {{")
            yield from (f"        {copy.single}" for copy in several)
            yield "      }"
        yield "    }"


def _addresses(scope: Scope, load: Rows) -> list[str]:
    """Return the addresses and strides in bytes that wide copies need to be aligned."""
    return addresses(
        scope,
        (
            name
            for tile in load.tiles
            for name in (*([tile.source] if tile.source else ()), *dict(tile.written))
        ),
    )
