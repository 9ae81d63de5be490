"""Write scans over columns with contiguous levels: rows to shared memory, walks, rows to memory.

Of long columns the last levels of arrays are in shared memory, the others in memory: level `n` of
the first scan, from 0 on, has place `n % levels` of an array in shared memory, if it is not one of
the first `rest`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from .....runtime.process import classes
from ....gpu_target import WIDEST
from ....ir.loops import ITEMSIZES, Load, Nest, Range, Row, Store
from ....ir.loops.gpu import Columns, Long, RowTiles
from ...rows import NAMELESS, TYPES, Scope, plus, pointers, states, stored_type
from .grid import axes_of, places
from .lines import braced, shared_arrays
from .scan import first_elements, outside, rounds, scoped, write_scan
from .wide import are_aligned
from .windows import SharedLevels, scan_of, shared_levels


def _tiles(nest: Nest, columns: Columns, load: RowTiles) -> dict[Row, SharedLevels]:
    """Return the tiles in which accesses of a scan find their rows."""
    inner, found = nest.loops[-1].range.dim, dict[Row, SharedLevels]()
    place = "s64(threadIdx.x) * pitch + ({level} - first_level)"
    tiles: dict[object, int] = {(tile.source, tile.offsets): n for n, tile in enumerate(load.tiles)}
    tiles |= {name: number for number, tile in enumerate(load.tiles) for name in tile.holds}
    for number, row in enumerate(nest.body):
        key: object = None
        if isinstance(row, Store) or (isinstance(row, Load) and row.buffer in columns.arrays):
            key = row.buffer
        elif isinstance(row, Load) and not row.is_told:
            key = row.buffer, tuple(offset * (dim is not inner) for dim, _, offset in row.places)
        if key in tiles:
            found[number] = SharedLevels(f"t{tiles[key]}", place)
    return found


def write_rows(
    scope: Scope, columns: Columns, load: RowTiles, nests: Sequence[Nest]
) -> Iterator[str]:
    """Write the kernel of some columns; the arrays of the arena that it touches are defined."""
    nest, lanes = nests[0], max(1, columns.threads // load.columns)  # that copy one row
    touched = ((tile.source, *dict(tile.written)) for tile in load.tiles)
    names = (name for tile in touched for name in tile if name)
    ranges = (nest.loops[axis.level].range for axis in axes_of(nest))
    extents = (f"u64({stop} - {start})" for start, stop in map(scope.ends, ranges))
    tiles = (
        (f"t{number}", TYPES[tile.dtype][0], f"pitch * {load.columns}", ITEMSIZES[tile.dtype])
        for number, tile in enumerate(load.tiles)
    )
    yield from (
        f"const u32 pitch = u32({scope.bound(load.pitch)});",
        f"const s64 first_level = {scope.bound(load.first_level)};",
        *shared_arrays(tiles, place="{}"),
        f"const bool aligned = {are_aligned(scope, names)};",
        f"const u64 column = u64(blockIdx.x) * {load.columns};",
        f"const u64 columns = {' * '.join(extents)};",
        f"const u32 r = threadIdx.x / {lanes}, lane = threadIdx.x % {lanes};",
        f"const bool copies = r < {load.columns} && column + r < columns;",
    )
    row = list(places(scope, nest, "i", "(column + r)", "d"))
    scans = (scan_of(scope, each, _tiles(each, columns, load), tiles=True) for each in nests)
    yield from (
        *braced("if (copies)", row, _copies(scope, lanes, _filled(scope, load, nest))),
        "ff::async_commit();",
        "ff::async_wait<0>();",
        "ff::barrier();",
        *braced(
            f"if (threadIdx.x < {load.columns} && column + threadIdx.x < columns)",
            places(scope, nest, "i", "(column + threadIdx.x)", "d"),
            *(scoped(scan, write_scan(scan)) for scan in scans),
        ),
        "ff::barrier();",
        *braced("if (copies)", row, _copies(scope, lanes, _written(scope, load, nest))),
    )


@classes.frozen
class _Copy:
    """The copy of a row between memory and a tile: of elements of `size` bytes at levels `range`.

    `wide` and `single` copy several elements at `k`, or one; `row` defines the address of the row.
    """

    size: int
    range: Range
    row: str
    wide: str
    single: str


def _row(scope: Scope, name: str, nest: Nest, offsets: Mapping[int, int]) -> str:
    """Return the address of index 0 of the row of a column."""
    buffer = scope.by_name[name]
    dims = [loop.range.dim for loop in nest.loops]
    terms = [scope.buffer(name)]
    for axis, dim in enumerate(buffer.dims):
        index, offset = f"i{dims.index(dim)}" if dim in dims else "0", offsets.get(axis, 0)
        if offset:
            index = f"({plus(index, offset)})"
        if dim is not dims[-1] and index != "0":
            terms.append(scope.term(buffer, axis, index))
    return " + ".join(terms)


def _filled(scope: Scope, load: RowTiles, nest: Nest) -> Iterator[_Copy]:
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


def _written(scope: Scope, load: RowTiles, nest: Nest) -> Iterator[_Copy]:
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
    yield "const s32 at = s32(r * pitch);"
    alike: dict[tuple[int, Range], list[_Copy]] = {}
    for copy in copies:
        alike.setdefault((copy.size, copy.range), []).append(copy)
    for (size, range_), several in alike.items():
        start, stop = scope.ends(range_)
        count = WIDEST // size
        lines = [
            *(copy.row for copy in several),
            f"const s32 first = s32({start} - first_level);",
            f"const s32 stop = s32({stop} - first_level);",
            f"s32 from = (first + {count - 1}) / {count} * {count};",
            f"s32 to = stop / {count} * {count};",
            "if (!aligned || from > to) from = to = stop;",
        ]
        head = f"for (s32 k = from + s32(lane) * {count}; k < to; k += {lanes * count})"
        lines += braced(head, (copy.wide for copy in several))
        for low, high in (("first", "from"), ("to", "stop")):
            head = f"for (s32 k = {low} + s32(lane); k < {high}; k += {lanes})"
            lines += braced(head, (copy.single for copy in several))
        yield from braced("", lines)


def write_long(
    scope: Scope, nests: Sequence[Nest], columns: Columns, once: Sequence[Collection[str]]
) -> Iterator[str]:
    """Write the scans of a column, after what `level_arrays` defines and the arrays in memory.

    `once` has of each scan what it touches last.
    """
    yield from _first(scope, nests[0], columns, once[0])
    for nest, own in zip(nests[1:], once[1:], strict=True):
        yield from _later(scope, nest, columns, own)


def level_arrays(
    scope: Scope, columns: Columns, load: Long, arrays: Iterable[str]
) -> Iterator[str]:
    """Define the arrays in shared memory, by their lines, and which levels they have where."""
    start, threads = scope.bound(load.outside.start), columns.threads
    stop = scope.bound(columns.scans[0].loops[-1].range.stop)
    yield from (
        f"const s32 levels = s32({scope.bound(load.levels)});",
        f"const s32 rest = s32({scope.bound(load.rest)});",
        *arrays,
        f"const s32 wrap = (s32({stop} - {start}) - 1) / levels * levels;",
        "const auto kept = [&](s64 level) {",
        f"  const s32 place = s32(level - {start}) - wrap;",
        f"  return (place < 0 ? place + levels : place) * {threads} + s32(threadIdx.x);",
        "};",
    )


def _shared(nest: Nest, columns: Columns, place: str) -> dict[int, SharedLevels]:
    return shared_levels(nest, {name: f"h{n}" for n, name in enumerate(columns.arrays)}, place)


def _first(scope: Scope, nest: Nest, columns: Columns, once: Collection[str]) -> Iterator[str]:
    """Write the first scan: rounds that store to memory, then to shared memory."""
    far = scan_of(scope, nest, {}, once)
    near = classes.evolve(
        far,
        shared=_shared(nest, columns, f"(place + {{step}}) * {columns.threads} + threadIdx.x"),
        opening=("const s32 place = s32(u32(first) % u32(levels));",),
    )
    yield from scoped(far, (*first_elements(far), *rounds(far, "rest"), *rounds(near, "total")))


def _later(scope: Scope, nest: Nest, columns: Columns, once: Collection[str]) -> Iterator[str]:
    """Write a scan after the first: levels in shared memory and those outside, in its order."""
    range_, load = nest.loops[-1].range, columns.load
    assert isinstance(load, Long)
    near = _over(nest, Range(range_.dim, load.outside.stop, range_.stop))
    shared = _shared(nest, columns, f"kept(i{len(nest.loops) - 1})")
    parts = [
        scan_of(scope, near, shared, once, unroll=8),
        scan_of(scope, _over(nest, load.outside), {}, once),
    ]
    blocks = (
        braced("", outside(scan), pointers(scan.body), write_scan(scan))
        for scan in (parts if nest.loops[-1].backward else reversed(parts))
    )
    first = parts[0].body
    is_loaded = any(not isinstance(first.rows[row], NAMELESS) for _, row in first.states)
    yield from braced("", outside(parts[0]) if is_loaded else (), states(first), *blocks)


def _over(nest: Nest, range_: Range) -> Nest:
    *around, inner = nest.loops
    return classes.evolve(nest, loops=(*around, classes.evolve(inner, range=range_)))
