"""Write the first of several scans where its loads land in shared memory by asynchronous copies.

A round is some levels. While its steps run, copies for the rounds after it are on their way; at its
start, what has landed goes to registers. Loads that have no room to land come in registers, those
of two rounds at once, and wait in a second window. As elsewhere, a round is written twice: for the
middle of the column, and with all tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import attrs

from ....ir.loops.gpu import Landed, Landing
from .sweep import twice, write_step
from .windows import Sweep, Window, fill, moved, wanted


@attrs.frozen
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
    sweep: Sweep, load: Landing, arrays: Mapping[Landed, str], threads: int, indent: str
) -> Iterator[str]:
    """Write the loop over the levels; loads land in `arrays` of shared memory."""
    places = {(each.buffer, each.offsets): (each, array) for each, array in arrays.items()}
    keys = {window.name: (window.buffer, window.offsets) for window in sweep.windows}
    landed = {name: places[key] for name, key in keys.items() if key in places}
    steps = load.ahead * (1 if len(landed) == len(keys) else 2)  # of an iteration
    windows = tuple(
        attrs.evolve(each, size=each.span + (load.ahead if each.name in landed else steps))
        for each in sweep.windows
    )
    sweep = attrs.evolve(sweep, windows=windows)
    apart = [window for window in windows if window.name not in landed]
    later, inner = load.ahead * load.rounds, indent + "  "
    start, stop = sweep.body.scope.ends(sweep.nest.loops[-1].range)
    yield f"{indent}const s32 total = s32({stop} - {start});"
    yield from (f"{indent}{each.type_} {each.name}[{each.size}];" for each in windows)
    for each in windows:
        yield from fill(sweep, each, str(each.low), each.size - each.span, each.span, indent)
    yield from (f"{indent}{each.type_} n{each.name}[{steps}];" for each in apart)
    yield f"{indent}#pragma unroll 1"
    yield f"{indent}for (s32 begin = -{later}; begin < total; begin += {steps}) {{"
    yield from _come(sweep, apart, steps, inner) if apart else ()
    for part in range(0, steps, load.ahead):
        now = (each if each.name in landed else attrs.evolve(each, begin=part) for each in windows)
        own = attrs.evolve(sweep, windows=tuple(now))
        yield f"{inner}{{"
        yield f"{inner}  const s32 first = begin + {part}, later = first + {later};"
        yield from _round(own, Landings(load, landed, threads), f"{inner}  ")
        yield f"{inner}}}"
    yield f"{indent}}}"


def _round(sweep: Sweep, landings: Landings, indent: str) -> Iterator[str]:
    """Write the copies that begin with a round, and its steps."""
    ahead, copies, visits = sweep.ahead, partial(_copies, landings), partial(_visits, landings)
    yield f"{indent}if (later < total) {{"
    yield from twice(sweep, ("inside", "later", ahead), copies, f"{indent}  ")
    yield f"{indent}}}"
    yield f"{indent}ff::async_commit();"
    yield f"{indent}if (first >= 0) {{"
    yield f"{indent}  ff::async_wait<{landings.load.rounds}>();"
    yield from twice(sweep, ("inside", "first", ahead), visits, f"{indent}  ")
    yield f"{indent}}}"


def _come(sweep: Sweep, apart: list[Window], steps: int, indent: str) -> Iterator[str]:
    """Write the loads of the next iteration; those of this one have come."""
    for window in apart:
        value = f"n{window.name}[j]"
        yield from _newest(window, steps, [], value, indent, test="if (begin >= 0) ")

    def loads(own: Sweep, inner: str) -> Iterator[str]:
        for window in apart:
            first = f"next + {window.low + window.span}"
            waiting = attrs.evolve(window, name=f"n{window.name}", size=steps)
            yield from fill(own, waiting, first, 0, steps, inner)

    yield f"{indent}const s32 next = begin + {steps};"
    yield f"{indent}if (next >= 0 && next < total) {{"
    yield from twice(sweep, ("inside", "next", steps), loads, f"{indent}  ")
    yield f"{indent}}}"


def _newest(
    window: Window, steps: int, lines: list[str], value: str, indent: str, test: str = ""
) -> Iterator[str]:
    """Write that the newest elements of a window become its oldest, and so many new ones."""
    for old in range(window.span):
        yield f"{indent}{window.name}[{old}] = {window.name}[{steps + old}];"
    yield f"{indent}#pragma unroll"
    yield f"{indent}for (s32 j = 0; j < {steps}; ++j) {{"
    yield from (f"{indent}  {line}" for line in lines)
    yield f"{indent}  {test}{window.name}[{window.span} + j] = {value};"
    yield f"{indent}}}"


def _copies(landings: Landings, sweep: Sweep, indent: str) -> Iterator[str]:
    """Write the copies of the newest elements of a round, each if a step wants it."""
    for window in sweep.windows:
        if window.name in landings.arrays:
            newest = window.low + window.span
            array, place = landings.newest(window, "later")
            address = "from" if window.is_row else f"&{window.element}"
            copy = f"ff::async_copy<1>({array}, {place}, {address});"
            first = f"later + {newest}" if newest else "later"
            move = partial(_if, copy)
            yield from moved(sweep, window, first, sweep.ahead, move, indent)


def _if(statement: str, test: str) -> str:
    return f"if ({test}) {statement}" if test else statement


def _visits(landings: Landings, sweep: Sweep, indent: str) -> Iterator[str]:
    """Write the steps of a round."""
    for window in sweep.windows:
        if window.name in landings.arrays:
            array, place = landings.newest(window, "first")
            newest = f"first + j + {window.low + window.span}"
            lines, test = wanted(sweep, window, newest)
            value = f"{array}[{place}]"
            if test:
                value = f"{test} ? {window.type_}({value}) : {window.type_}(0)"
            yield from _newest(window, sweep.ahead, lines, value, indent)
    for step in range(sweep.ahead):
        yield from write_step(sweep, step, 0, indent)
