"""Write several scans over the same columns as one kernel."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from ....ir.nest_groups import Landed, Together
from ....ir.nests import Load, Nest
from ...integers import buffers_of
from ...rows.names import Names, stored_type
from ...schedule.costs import ITEMSIZES
from .blocked import rooms, write_blocked
from .columns import write_columns
from .grid import axes_of, columns_in_a_row, flat_places
from .landing import LandingBody
from .memory import array_text
from .sweep import Shared, SweepBody


def write_together(names: Names, scans: Together, *, blocked: bool = False) -> Iterator[str]:
    """Write several scans over the same columns as one kernel: a thread has a column.

    With `blocked`, columns may be too long for shared memory.
    """
    threads = scans.blocked.threads if blocked and scans.blocked else scans.columns or scans.threads
    nests = [
        columns_in_a_row(nest, threads) for nest in names.kernel.nests[scans.first : scans.stop]
    ]
    kept = () if blocked else scans.arrays
    for name in dict.fromkeys(name for nest in nests for name in buffers_of(nest)):
        if name not in kept:
            yield from array_text(names, name)
    if scans.tiles:
        yield from write_columns(names, scans)
        return
    yield from rooms(names, scans) if blocked else _rooms(names, nests[0], scans)
    yield from flat_places(names, nests[0], "i")
    stops = {axis.level: nests[0].loops[axis.level].range.stop for axis in axes_of(nests[0])}
    inside = (f"i{level} < {names.bound(stop)}" for level, stop in stops.items())
    yield f"  if ({' && '.join(inside)}) {{"
    if blocked:
        arrays = set(scans.arrays)
        yield from write_blocked(names, nests, scans, lambda place: _once(nests, place, arrays))
    else:
        yield from _scans(names, nests, scans)
    yield "  }"


def _scans(names: Names, nests: Sequence[Nest], scans: Together) -> Iterator[str]:
    """Write the scans of a column, what they hand on in shared memory."""
    start = names.bound(nests[0].loops[-1].range.start)
    shared = {name: Shared(room, start, scans.threads) for name, room, *_ in _kept(names, scans)}
    landing = {each: shared[_name(each)].name for each in scans.landed}
    for place, nest in enumerate(nests):
        once = _once(nests, place, set(shared)) if scans.keeps else ()
        if scans.landed and place == 0:
            handed = {name: shared[name] for name in scans.arrays}
            yield from LandingBody(names, nest, handed, once, landing, scans).scope()
            continue
        body = SweepBody(names, nest, shared, once)
        body.unroll = 8 if scans.landed else 0
        yield from body.scope()


def _kept(names: Names, scans: Together) -> Iterator[tuple[str, str, str, int, bool]]:
    """Yield what is in shared memory: its name, array, type, size, and whether at all levels."""
    for place, name in enumerate(scans.arrays):
        buffer = names.by_name[name]
        yield name, f"h{place}", stored_type(buffer), ITEMSIZES[buffer.dtype], True
    for place, each in enumerate(scans.landed, start=len(scans.arrays)):
        if each.room in scans.arrays:
            continue
        type_ = stored_type(names.by_name[each.buffer])
        yield _name(each), f"h{place}", type_, ITEMSIZES[each.dtype], bool(each.room)


def _name(landed: Landed) -> str:
    return landed.room or f"{landed.buffer}{landed.offsets}"


def _rooms(names: Names, nest: Nest, scans: Together) -> Iterator[str]:
    """Define the arrays in shared memory."""
    range_, room = nest.loops[-1].range, "0"
    levels = f"({names.bound(range_.stop)} - {names.bound(range_.start)})"
    few = str(scans.ahead * (scans.rounds + 1))
    wide_first = sorted(_kept(names, scans), key=lambda each: -each[3])  # so all are aligned
    for _, name, type_, size, is_whole in wide_first:
        count = f"{levels if is_whole else few} * {scans.threads}"
        yield f"  const ff::shared_array<{type_}> {name}(u32({room}), {count});"
        room += f" + {count} * {size}"


def _once(nests: Sequence[Nest], place: int, kept: Container[str]) -> set[str]:
    """Return what one of several scans touches last; nothing if none reads what another does."""
    loaded = [{row.buffer for row in nest.body if isinstance(row, Load)} for nest in nests]
    later = {name for names in loaded[place + 1 :] for name in names}
    return {name for name in buffers_of(nests[place]) if name not in kept and name not in later}
