"""Write several scans over the same columns as one kernel."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence

from ....ir.loops import ITEMSIZES, Load, Nest
from ....ir.loops.gpu import Columns, Landed, Landing, Long, RowTiles, marked
from ...rows import Scope, stored_type
from .grid import axes_of, flat_places
from .landing import write_landing
from .lines import arrays, braced, buffers_of, indented, shared_arrays
from .long import level_arrays, write_long
from .rows import write_rows
from .scan import scoped, write_scan
from .windows import scan_of, shared_levels


def write_columns(scope: Scope, columns: Columns) -> Iterator[str]:
    """Write several scans over the same columns as one kernel: a thread has a column."""
    load = columns.load
    nests = [marked(nest, block=(columns.columns,)) for nest in columns.scans]
    is_long = isinstance(load, Long)
    yield from arrays(scope, nests, () if is_long else columns.arrays)
    if isinstance(load, RowTiles):
        yield from indented(write_rows(scope, columns, load, nests))
        return
    own = _arrays(scope, columns)
    yield from indented(level_arrays(scope, columns, load, own) if isinstance(load, Long) else own)
    yield from flat_places(scope, nests[0], "i")
    levels = [axis.level for axis in axes_of(nests[0])]
    inside = (f"i{level} < {scope.bound(nests[0].box[level].stop)}" for level in levels)
    kept = {name for name, *_ in _kept(scope, columns)}
    once = [
        _once(nests, place, kept) if is_long or columns.keeps else set[str]()
        for place in range(len(nests))
    ]
    scans = (write_long if is_long else _scans)(scope, nests, columns, once)
    yield from indented(braced(f"if ({' && '.join(inside)})", scans))


def _scans(
    scope: Scope, nests: Sequence[Nest], columns: Columns, once: Sequence[Collection[str]]
) -> Iterator[str]:
    """Write the scans of a column, what they hand on in shared memory."""
    start, load = scope.bound(nests[0].loops[-1].range.start), columns.load
    place = f"({{level}} - {start}) * {columns.threads} + threadIdx.x"
    kept = {name: room for name, room, *_ in _kept(scope, columns)}
    for number, nest in enumerate(nests):
        if isinstance(load, Landing) and number == 0:
            ahead = marked(nest, ahead=load.ahead)
            shared = shared_levels(nest, {name: kept[name] for name in columns.arrays}, place)
            scan = scan_of(scope, ahead, shared, once[0])
            landing = {each: kept[_name(each)] for each in load.landed}
            yield from scoped(scan, write_landing(scan, load, landing, columns.threads))
            continue
        shared = shared_levels(nest, kept, place)
        scan = scan_of(scope, nest, shared, once[number], unroll=8 if load else 0)
        yield from scoped(scan, write_scan(scan))


def _kept(scope: Scope, columns: Columns) -> Iterator[tuple[str, str, str, int, bool]]:
    """Yield what is in shared memory: its name, array, type, size, and whether at all levels."""
    for place, name in enumerate(columns.arrays):
        buffer = scope.by_name[name]
        yield name, f"h{place}", stored_type(buffer), ITEMSIZES[buffer.dtype], True
    landed = columns.load.landed if isinstance(columns.load, Landing) else ()
    for place, each in enumerate(landed, start=len(columns.arrays)):
        if each.room not in columns.arrays:
            type_ = stored_type(scope.by_name[each.buffer])
            yield _name(each), f"h{place}", type_, ITEMSIZES[each.dtype], bool(each.room)


def _name(landed: Landed) -> str:
    return landed.room or f"{landed.buffer}{landed.offsets}"


def _arrays(scope: Scope, columns: Columns) -> Iterator[str]:
    """Define the arrays in shared memory."""
    load = columns.load
    start, stop = scope.ends(columns.scans[0].loops[-1].range)
    all_ = "levels" if isinstance(load, Long) else f"({stop} - {start})"
    few = load.ahead * (load.rounds + 1) if isinstance(load, Landing) else 0
    wide_first = sorted(_kept(scope, columns), key=lambda each: -each[3])  # so all are aligned
    return shared_arrays(
        (name, type_, f"{all_ if is_whole else few} * {columns.threads}", size)
        for _, name, type_, size, is_whole in wide_first
    )


def _once(nests: Sequence[Nest], place: int, kept: Container[str]) -> set[str]:
    """Return what one of several scans touches last; nothing if none reads what another does."""
    loaded = [{row.buffer for row in nest.body if isinstance(row, Load)} for nest in nests]
    later = {name for names in loaded[place + 1 :] for name in names}
    return {name for name in buffers_of(nests[place]) if name not in kept and name not in later}
