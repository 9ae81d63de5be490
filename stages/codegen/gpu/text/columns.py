"""Write several scans over the same columns as one kernel.

The loads of the first may land in shared memory by asynchronous copies. A round is some levels.
While its steps run, copies for the rounds after it are on their way; at its start, what has landed
goes to registers. Loads that have no room to land come in registers, those of two rounds at once,
and wait in a second window. As elsewhere, a round is written twice: for the middle of the column,
and with all tests.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from functools import partial

from .....runtime.process import classes
from ....ir.loops import ITEMSIZES, Load, Nest
from ....ir.loops.gpu import Columns, Landed, Landing, Long, RowTiles, marked
from ...rows import Scope, stored_type
from .grid import axes_of, flat_places
from .lines import arrays, braced, buffers_of, indented, shared_arrays
from .rows import level_arrays, write_long, write_rows
from .scan import scoped, twice, write_scan, write_step
from .windows import ThreadScan, Window, each_of, fill, moves, scan_of, shared_levels, wanted


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
    inside = (
        f"i{axis.level} < {scope.bound(nests[0].box[axis.level].stop)}"
        for axis in axes_of(nests[0])
    )
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


@classes.frozen
class Landings:
    """Where windows of a scan land, by their names; a block has so many threads."""

    load: Landing
    arrays: Mapping[str, tuple[Landed, str]]
    threads: int

    def newest(self, window: Window, number: str) -> tuple[str, str]:
        """Return array and place of the newest element for a step, `j` steps after the first."""
        landed, array = self.arrays[window.name]
        own = self.load.ahead * (self.load.rounds + 1)
        place = number if landed.room else f"s32(u32({number}) % {own})"
        return array, f"({place} + j) * {self.threads} + threadIdx.x"


def write_landing(
    scan: ThreadScan, load: Landing, arrays: Mapping[Landed, str], threads: int
) -> Iterator[str]:
    """Write the loop over the levels; loads land in `arrays` of shared memory."""
    places = {(each.buffer, each.offsets): (each, array) for each, array in arrays.items()}
    keys = {window.name: (window.buffer, window.offsets) for window in scan.windows}
    landed = {name: places[key] for name, key in keys.items() if key in places}
    steps = load.ahead * (1 if len(landed) == len(keys) else 2)  # of an iteration
    windows = tuple(
        classes.evolve(each, size=each.span + (load.ahead if each.name in landed else steps))
        for each in scan.windows
    )
    scan = classes.evolve(scan, windows=windows)
    apart = [window for window in windows if window.name not in landed]
    start, stop = scan.body.scope.ends(scan.nest.loops[-1].range)
    yield from (
        f"const s32 total = s32({stop} - {start});",
        *(f"{each.type_} {each.name}[{each.size}];" for each in windows),
    )
    for each in windows:
        yield from fill(scan, each, str(each.low), each.size - each.span, each.span)
    yield from (f"{each.type_} n{each.name}[{steps}];" for each in apart)
    lines = list(_come(scan, apart, steps)) if apart else []
    for part in range(0, steps, load.ahead):
        now = (
            each if each.name in landed else classes.evolve(each, begin=part) for each in windows
        )
        own = classes.evolve(scan, windows=tuple(now))
        lines += braced("", _round(own, Landings(load, landed, threads), part))
    head = f"for (s32 begin = -{load.ahead * load.rounds}; begin < total; begin += {steps})"
    yield from ("#pragma unroll 1", *braced(head, lines))


def _round(scan: ThreadScan, landings: Landings, part: int) -> Iterator[str]:
    """Write the copies that begin with a round, and its steps."""
    ahead, rounds = scan.ahead, landings.load.rounds
    copies = twice(scan, "inside", "later", ahead, partial(_copies, landings))
    visits = twice(scan, "inside", "first", ahead, partial(_visits, landings))
    yield from (
        f"const s32 first = begin + {part}, later = first + {ahead * rounds};",
        *braced("if (later < total)", copies),
        "ff::async_commit();",
        *braced("if (first >= 0)", [f"ff::async_wait<{rounds}>();"], visits),
    )


def _come(scan: ThreadScan, apart: list[Window], steps: int) -> Iterator[str]:
    """Write the loads of the next iteration; those of this one have come."""
    for window in apart:
        name, span = window.name, window.span
        yield from _newest(window, steps, [f"if (begin >= 0) {name}[{span} + j] = n{name}[j];"])

    def loads(own: ThreadScan) -> Iterator[str]:
        for window in apart:
            waiting = classes.evolve(window, name=f"n{window.name}", size=steps)
            yield from fill(own, waiting, f"next + {window.low + window.span}", 0, steps)

    yield f"const s32 next = begin + {steps};"
    yield from braced("if (next >= 0 && next < total)", twice(scan, "inside", "next", steps, loads))


def _newest(window: Window, steps: int, lines: list[str]) -> Iterator[str]:
    """Write that the newest elements of a window become its oldest, and so many new ones."""
    yield from (f"{window.name}[{n}] = {window.name}[{steps + n}];" for n in range(window.span))
    yield from each_of(steps, lines)


def _copies(landings: Landings, scan: ThreadScan) -> Iterator[str]:
    """Write the copies of the newest elements of a round, each if a step wants it."""
    for window in scan.windows:
        if window.name in landings.arrays:
            newest = window.low + window.span
            array, place = landings.newest(window, "later")
            address = "from" if window.is_row else f"&{window.element}"
            copy = f"ff::async_copy<1>({array}, {place}, {address});"
            first = f"later + {newest}" if newest else "later"
            yield from moves(scan, window, first, scan.ahead, partial(_if, copy))


def _if(statement: str, test: str) -> str:
    return f"if ({test}) {statement}" if test else statement


def _visits(landings: Landings, scan: ThreadScan) -> Iterator[str]:
    """Write the steps of a round."""
    for window in scan.windows:
        if window.name in landings.arrays:
            array, place = landings.newest(window, "first")
            newest, value = f"first + j + {window.low + window.span}", f"{array}[{place}]"
            lines, test = wanted(scan, window, newest)
            if test:
                value = f"{test} ? {window.type_}({value}) : {window.type_}(0)"
            lines.append(f"{window.name}[{window.span} + j] = {value};")
            yield from _newest(window, scan.ahead, lines)
    for step in range(scan.ahead):
        yield from write_step(scan, step, 0)
