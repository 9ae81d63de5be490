"""Write the first of several scans where its loads land in shared memory by asynchronous copies.

A round is some levels. While its steps run, copies for the rounds after it are on their way; at its
start, what has landed goes to registers. Loads that have no room to land come in registers, those
of two rounds at once, and wait in a second window. As elsewhere, a round is written twice: for the
middle of the column, and with all tests.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ....ir.loops.gpu import Landed, Landing
from .sweep import Lines, Sweep, Window, fill, moved, twice, wanted, write_step


@attrs.frozen
class Lander:
    """A scan, the arrays in which its windows land by name, and the windows that come `apart`.

    An iteration has so many `steps`; a block has so many `threads`.
    """

    sweep: Sweep
    load: Landing
    arrays: Mapping[str, tuple[Landed, str]]
    apart: tuple[Window, ...]
    threads: int
    steps: int

    def place(self, window: Window, number: str) -> tuple[str, str]:
        """Return array and place of the newest element for a step, `j` steps after the first."""
        landed, array = self.arrays[window.name]
        own = self.load.ahead * (self.load.rounds + 1)
        place = number if landed.room else f"s32(u32({number}) % {own})"
        return array, f"({place} + j) * {self.threads} + threadIdx.x"


def lander_of(sweep: Sweep, load: Landing, arrays: Mapping[Landed, str], threads: int) -> Lander:
    """Return a scan whose loads land in arrays of shared memory."""
    places = {(each.buffer, each.offsets): (each, array) for each, array in arrays.items()}
    landed = {
        window.name: places[key]
        for window in sweep.windows
        if (key := (window.buffer, window.offsets)) in places
    }
    apart = [window for window in sweep.windows if window.name not in landed]
    steps = load.ahead * (2 if apart else 1)
    windows = [
        attrs.evolve(each, size=each.span + (load.ahead if each.name in landed else steps))
        for each in sweep.windows
    ]
    apart = tuple(window for window in windows if window.name not in landed)
    return Lander(attrs.evolve(sweep, windows=windows), load, landed, apart, threads, steps)


def write_landing(lander: Lander, indent: str) -> Lines:
    """Write the loop over the levels."""
    sweep, load, steps = lander.sweep, lander.load, lander.steps
    later, inner = load.ahead * load.rounds, indent + "  "
    start, stop = sweep.body.scope.ends(sweep.nest.loops[-1].range)
    yield f"{indent}const s32 total = s32({stop} - {start});"
    yield from (f"{indent}{each.type_} {each.name}[{each.size}];" for each in sweep.windows)
    for each in sweep.windows:
        yield from fill(sweep, each, str(each.low), each.size - each.span, each.span, indent)
    yield from (f"{indent}{each.type_} n{each.name}[{steps}];" for each in lander.apart)
    yield f"{indent}#pragma unroll 1"
    yield f"{indent}for (s32 begin = -{later}; begin < total; begin += {steps}) {{"
    yield from _come(lander, inner) if lander.apart else ()
    for part in range(0, steps, load.ahead):
        yield f"{inner}{{"
        yield f"{inner}  const s32 first = begin + {part}, later = first + {later};"
        yield from (f"{inner}  {line}" for line in _round(lander, part))
        yield f"{inner}}}"
    yield f"{indent}}}"


def _round(lander: Lander, part: int) -> Lines:
    """Write the copies that begin with a round, and its steps."""
    sweep, ahead = lander.sweep, lander.load.ahead
    now = [
        each if each.name in lander.arrays else attrs.evolve(each, begin=part)
        for each in sweep.windows
    ]
    own = attrs.evolve(lander, sweep=attrs.evolve(sweep, windows=now))

    def copies(indent: str, *, is_middle: bool) -> Lines:
        return _copies(own, indent, is_middle=is_middle)

    def visits(indent: str, *, is_middle: bool) -> Lines:
        return _visits(own, indent, is_middle=is_middle)

    yield "if (later < total) {"
    yield from twice(sweep, ("inside", "later", ahead), copies, "  ")
    yield "}"
    yield "ff::async_commit();"
    yield "if (first >= 0) {"
    yield f"  ff::async_wait<{lander.load.rounds}>();"
    yield from twice(sweep, ("inside", "first", ahead), visits, "  ")
    yield "}"


def _come(lander: Lander, indent: str) -> Lines:
    """Write the loads of the next iteration; those of this one have come."""
    sweep, steps = lander.sweep, lander.steps
    for window in lander.apart:
        yield from _moved_on(window, steps, indent)
        yield f"{indent}for (s32 j = 0; j < {steps}; ++j) {{"
        yield f"{indent}  if (begin >= 0) {window.name}[{window.span} + j] = n{window.name}[j];"
        yield f"{indent}}}"

    def loads(inner: str, *, is_middle: bool) -> Lines:
        for window in lander.apart:
            first = f"next + {window.low + window.span}"
            waiting = attrs.evolve(window, name=f"n{window.name}", size=steps)
            yield from fill(sweep, waiting, first, 0, steps, inner, is_middle=is_middle)

    yield f"{indent}const s32 next = begin + {steps};"
    yield f"{indent}if (next >= 0 && next < total) {{"
    yield from twice(sweep, ("inside", "next", steps), loads, f"{indent}  ")
    yield f"{indent}}}"


def _moved_on(window: Window, steps: int, indent: str) -> Lines:
    """Write that the newest elements of a window become its oldest; a loop for new ones follows."""
    for old in range(window.span):
        yield f"{indent}{window.name}[{old}] = {window.name}[{steps + old}];"
    yield f"{indent}#pragma unroll"


def _landing(lander: Lander) -> list[Window]:
    return [window for window in lander.sweep.windows if window.name in lander.arrays]


def _copies(lander: Lander, indent: str, *, is_middle: bool) -> Lines:
    """Write the copies of the newest elements of a round, each if a step wants it."""
    for window in _landing(lander):
        newest = window.low + window.span
        elements = f"later + {newest}" if newest else "later", lander.load.ahead
        array, place = lander.place(window, "later")
        address = "from" if window.is_row else f"&{window.element}"
        copy = f"ff::async_copy<1>({array}, {place}, {address});"

        def move(test: str, copy: str = copy) -> str:
            return f"if ({test}) {copy}" if test else copy

        yield from moved(lander.sweep, window, elements, move, indent, is_middle=is_middle)


def _visits(lander: Lander, indent: str, *, is_middle: bool) -> Lines:
    """Write the steps of a round."""
    sweep, ahead = lander.sweep, lander.load.ahead
    for window in _landing(lander):
        newest = window.low + window.span
        array, place = lander.place(window, "first")
        yield from _moved_on(window, ahead, indent)
        yield f"{indent}for (s32 j = 0; j < {ahead}; ++j) {{"
        value = f"{array}[{place}]"
        lines, test = wanted(sweep, window, f"first + j + {newest}", is_middle=is_middle)
        yield from (f"{indent}  {line}" for line in lines)
        if test:
            value = f"{test} ? {window.type_}({value}) : {window.type_}(0)"
        yield f"{indent}  {window.name}[{window.span} + j] = {value};"
        yield f"{indent}}}"
    for step in range(ahead):
        yield from write_step(sweep, step, 0, indent, is_middle=is_middle)
