"""Write several scans over the same columns as one kernel."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence

from ....ir.loops.gpu import Columns, Landed, Landing, Long, Rows, marked
from ....ir.loops.nest import Load, Nest
from ...rows.scope import Scope, stored_type
from ...schedule.costs import ITEMSIZES
from .body import arrays, buffers_of
from .grid import axes_of, columns_in_a_row, flat_places
from .landing import write_landing
from .long import rooms, write_long
from .rows import write_rows
from .sweep import scoped, write_sweep
from .windows import Room, rooms_of, sweep_of


def write_columns(scope: Scope, columns: Columns) -> Iterator[str]:
    """Write several scans over the same columns as one kernel: a thread has a column."""
    load = columns.load
    threads = load.columns if isinstance(load, Rows) else columns.threads
    nests = [columns_in_a_row(nest, threads) for nest in columns.scans]
    yield from arrays(scope, nests, () if isinstance(load, Long) else columns.arrays)
    if isinstance(load, Rows):
        yield from write_rows(scope, columns, load, nests)
        return
    is_long = isinstance(load, Long)
    yield from rooms(scope, columns, load) if isinstance(load, Long) else _rooms(scope, columns)
    yield from flat_places(scope, nests[0], "i")
    stops = {axis.level: nests[0].loops[axis.level].range.stop for axis in axes_of(nests[0])}
    inside = (f"i{level} < {scope.bound(stop)}" for level, stop in stops.items())
    yield f"  if ({' && '.join(inside)}) {{"
    kept = {name for name, *_ in _kept(scope, columns)}
    once = [
        _once(nests, place, kept) if is_long or columns.keeps else set[str]()
        for place in range(len(nests))
    ]
    yield from (write_long if is_long else _scans)(scope, nests, columns, once)
    yield "  }"


def _scans(
    scope: Scope, nests: Sequence[Nest], columns: Columns, once: Sequence[Collection[str]]
) -> Iterator[str]:
    """Write the scans of a column, what they hand on in shared memory."""
    start, load = scope.bound(nests[0].loops[-1].range.start), columns.load
    place = f"({{level}} - {start}) * {columns.threads} + threadIdx.x"
    shared = {name: Room(room, place) for name, room, *_ in _kept(scope, columns)}
    for number, nest in enumerate(nests):
        if isinstance(load, Landing) and number == 0:
            handed = {name: shared[name] for name in columns.arrays}
            ahead = marked(nest, ahead=load.ahead)
            sweep = sweep_of(scope, ahead, rooms_of(nest, handed), once[0])
            landing = {each: shared[_name(each)].array for each in load.landed}
            levels = write_landing(sweep, load, landing, columns.threads, "      ")
            yield from scoped(sweep, levels)
            continue
        own = rooms_of(nest, shared)
        sweep = sweep_of(scope, nest, own, once[number], unroll=8 if load else 0)
        yield from scoped(sweep, write_sweep(sweep, "      "))


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


def _rooms(scope: Scope, columns: Columns) -> Iterator[str]:
    """Define the arrays in shared memory."""
    range_, room, load = columns.scans[0].loops[-1].range, "0", columns.load
    levels = f"({scope.bound(range_.stop)} - {scope.bound(range_.start)})"
    few = str(load.ahead * (load.rounds + 1)) if isinstance(load, Landing) else "0"
    wide_first = sorted(_kept(scope, columns), key=lambda each: -each[3])  # so all are aligned
    for _, name, type_, size, is_whole in wide_first:
        count = f"{levels if is_whole else few} * {columns.threads}"
        yield f"  const ff::shared_array<{type_}> {name}(u32({room}), {count});"
        room += f" + {count} * {size}"


def _once(nests: Sequence[Nest], place: int, kept: Container[str]) -> set[str]:
    """Return what one of several scans touches last; nothing if none reads what another does."""
    loaded = [{row.buffer for row in nest.body if isinstance(row, Load)} for nest in nests]
    later = {name for names in loaded[place + 1 :] for name in names}
    return {name for name in buffers_of(nests[place]) if name not in kept and name not in later}
