"""Write the first of several scans where its loads land in shared memory by asynchronous copies.

A round is some levels. While its steps run, copies for the rounds after it are on their way; at its
start, what has landed goes to registers. Loads that have no room to land come in registers, those
of two rounds at once, and wait in a second window. As elsewhere, a round is written twice: for the
middle of the column, and with all tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from .....runtime.process import classes
from ....ir.loops.gpu import Landed, Landing
from .lines import braced
from .scan import twice, write_step
from .windows import ThreadScan, Window, each_of, fill, moves, wanted


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
