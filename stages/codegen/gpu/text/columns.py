"""Write several scans over the same columns as one kernel."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from ....ir.loops.gpu import Columns, Landed, Landing, Long, Rows
from ....ir.loops.nest import Load, Nest
from ...integers import buffers_of
from ...rows.names import Names, stored_type
from ...schedule.costs import ITEMSIZES
from .grid import axes_of, columns_in_a_row, flat_places
from .landing import LandingBody
from .long import rooms, write_long
from .memory import array_text
from .rows import write_rows
from .sweep import Shared, SweepBody


def write_columns(names: Names, columns: Columns) -> Iterator[str]:
    """Write several scans over the same columns as one kernel: a thread has a column."""
    load = columns.load
    threads = load.columns if isinstance(load, Rows) else columns.threads
    nests = [columns_in_a_row(nest, threads) for nest in columns.scans]
    kept = () if isinstance(load, Long) else columns.arrays
    for name in dict.fromkeys(name for nest in nests for name in buffers_of(nest)):
        if name not in kept:
            yield from array_text(names, name)
    if isinstance(load, Rows):
        yield from write_rows(names, columns, load, nests)
        return
    is_long = isinstance(load, Long)
    yield from rooms(names, columns, load) if is_long else _rooms(names, columns)
    yield from flat_places(names, nests[0], "i")
    stops = {axis.level: nests[0].loops[axis.level].range.stop for axis in axes_of(nests[0])}
    inside = (f"i{level} < {names.bound(stop)}" for level, stop in stops.items())
    yield f"  if ({' && '.join(inside)}) {{"
    if isinstance(load, Long):
        once = [_once(nests, place, set(columns.arrays)) for place in range(len(nests))]
        yield from write_long(names, nests, columns, load, once)
    else:
        yield from _scans(names, nests, columns)
    yield "  }"


def _scans(names: Names, nests: Sequence[Nest], columns: Columns) -> Iterator[str]:
    """Write the scans of a column, what they hand on in shared memory."""
    start, load = names.bound(nests[0].loops[-1].range.start), columns.load
    shared = {
        name: Shared(room, start, columns.threads) for name, room, *_ in _kept(names, columns)
    }
    for place, nest in enumerate(nests):
        once = _once(nests, place, set(shared)) if columns.keeps else ()
        if isinstance(load, Landing) and place == 0:
            handed = {name: shared[name] for name in columns.arrays}
            landing = {each: shared[_name(each)].name for each in load.landed}
            yield from LandingBody(
                names, nest, handed, once, landing, load, columns.threads
            ).scope()
            continue
        body = SweepBody(names, nest, shared, once)
        body.unroll = 8 if load else 0
        yield from body.scope()


def _kept(names: Names, columns: Columns) -> Iterator[tuple[str, str, str, int, bool]]:
    """Yield what is in shared memory: its name, array, type, size, and whether at all levels."""
    for place, name in enumerate(columns.arrays):
        buffer = names.by_name[name]
        yield name, f"h{place}", stored_type(buffer), ITEMSIZES[buffer.dtype], True
    landed = columns.load.landed if isinstance(columns.load, Landing) else ()
    for place, each in enumerate(landed, start=len(columns.arrays)):
        if each.room not in columns.arrays:
            type_ = stored_type(names.by_name[each.buffer])
            yield _name(each), f"h{place}", type_, ITEMSIZES[each.dtype], bool(each.room)


def _name(landed: Landed) -> str:
    return landed.room or f"{landed.buffer}{landed.offsets}"


def _rooms(names: Names, columns: Columns) -> Iterator[str]:
    """Define the arrays in shared memory."""
    range_, room, load = columns.scans[0].loops[-1].range, "0", columns.load
    levels = f"({names.bound(range_.stop)} - {names.bound(range_.start)})"
    few = str(load.ahead * (load.rounds + 1)) if isinstance(load, Landing) else "0"
    wide_first = sorted(_kept(names, columns), key=lambda each: -each[3])  # so all are aligned
    for _, name, type_, size, is_whole in wide_first:
        count = f"{levels if is_whole else few} * {columns.threads}"
        yield f"  const ff::shared_array<{type_}> {name}(u32({room}), {count});"
        room += f" + {count} * {size}"


def _once(nests: Sequence[Nest], place: int, kept: Container[str]) -> set[str]:
    """Return what one of several scans touches last; nothing if none reads what another does."""
    loaded = [{row.buffer for row in nest.body if isinstance(row, Load)} for nest in nests]
    later = {name for names in loaded[place + 1 :] for name in names}
    return {name for name in buffers_of(nests[place]) if name not in kept and name not in later}
