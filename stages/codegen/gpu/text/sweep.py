"""Write the loop of a scan over its levels: loads ahead of their use, arrays in shared memory.

The levels that a thread visits have numbers from 0 on, downwards or upwards. A *round* is some
steps; windows have room for those of two rounds. The loads for the next round begin when its first
step has what it needs.

A round is written twice: once for the middle of the column, and once with all tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias

from ...rows.acts import loop_over
from ...rows.body import pointers, states, value_of
from .body import at, within
from .windows import Sweep, body_at, fill, in_middle

Writer: TypeAlias = Callable[[Sweep, str], Iterator[str]]  # of some steps, with an indentation


def scoped(sweep: Sweep, levels: Iterable[str]) -> Iterator[str]:
    """Write a scan of several in one kernel, in a scope of its own."""
    yield "    {"
    yield from outside(sweep, "    ")
    yield from (f"      {line}" for line in (*pointers(sweep.body), *states(sweep.body)))
    yield from levels
    yield "    }"


def outside(sweep: Sweep, indent: str) -> Iterator[str]:
    """Write the rows of a scan outside of its loop."""
    for level in range(sweep.body.depth):
        yield from at(sweep.body, level, f"{indent}{'  ' * (level + 2)}")


def write_sweep(sweep: Sweep, indent: str) -> Iterator[str]:
    """Write the loop over the levels."""
    loop = sweep.nest.loops[-1]
    if sweep.windows:
        yield from first_elements(sweep, indent)
        yield from rounds(sweep, "total", indent)
        return
    if sweep.unroll:
        yield f"{indent}#pragma unroll {sweep.unroll}"
    ends = sweep.body.scope.ends(loop.range)
    yield indent + loop_over(sweep.index, ends, backward=loop.backward)
    yield from within(body_at(sweep), sweep.body.depth, f"{indent}  ")
    yield f"{indent}}}"


def first_elements(sweep: Sweep, indent: str) -> Iterator[str]:
    """Define how many steps there are, and windows with what the first round needs."""
    start, stop = sweep.body.scope.ends(sweep.nest.loops[-1].range)
    yield f"{indent}const s32 total = s32({stop} - {start});"
    yield f"{indent}s32 first = 0;"
    yield from (f"{indent}{each.type_} {each.name}[{each.size}];" for each in sweep.windows)
    for each in sweep.windows:
        yield from fill(sweep, each, str(each.low), 0, sweep.ahead + each.span, indent)


def rounds(sweep: Sweep, limit: str, indent: str) -> Iterator[str]:
    """Write the loop over two rounds each, from step `first` to a limit or the last step."""
    ahead, inner = sweep.ahead, indent + "  "
    yield f"{indent}#pragma unroll 1"
    yield f"{indent}for (; first < {limit}; first += {ahead}) {{"
    yield from _round(sweep, 0, inner)
    yield f"{inner}first += {ahead};"
    yield f"{inner}if (first >= total) break;"
    yield from _round(sweep, ahead, inner)
    yield f"{indent}}}"


def _round(sweep: Sweep, slot: int, indent: str) -> Iterator[str]:
    """Write `ahead` steps, of which the first finds its oldest elements in `slot`."""
    yield f"{indent}{{"
    yield from (f"{indent}  {line}" for line in sweep.opening)
    steps = partial(_steps, slot)
    yield from twice(sweep, ("middle", "first", 2 * sweep.ahead), steps, f"{indent}  ")
    yield f"{indent}}}"


def twice(sweep: Sweep, test: tuple[str, str, int], write: Writer, indent: str) -> Iterator[str]:
    """Write what some steps do for the middle of a column, and with all tests.

    A test is the name of the flag, the number of the first step, and how many steps there are.
    """
    flag, first, steps = test
    reach = steps + sweep.span
    yield f"{indent}bool {flag} = {first} + {reach} <= total;"
    for place in (first, f"{first} + {reach - 1}") if sweep.usual else ():
        yield f"{indent}if ({flag}) {{"
        yield f"{indent}  const s64 {sweep.index} = {sweep.level(place)};"
        for row, value in sweep.usual.items():
            sign = "" if value else "!"
            yield f"{indent}  {flag} = {flag} && {sign}{value_of(sweep.body, row)};"
        yield f"{indent}}}"
    yield f"{indent}if ({flag}) {{"
    yield from write(in_middle(sweep), f"{indent}  ")
    yield f"{indent}}} else {{"
    yield from write(sweep, f"{indent}  ")
    yield f"{indent}}}"


def _steps(slot: int, sweep: Sweep, indent: str) -> Iterator[str]:
    """Write the steps of a round: the loads for the next follow what frees their places."""
    ahead = sweep.ahead
    for step in range(ahead):
        yield from write_step(sweep, step, slot, indent)
        for window in sweep.windows:
            span = window.span
            if step == 0:
                later, count = ahead + span, ahead - span + min(span, 1)
            elif step < span:
                later, count = 2 * ahead + step, 1
            else:
                continue
            first = f"first + {later + window.low}"
            yield from fill(sweep, window, first, slot + later, count, indent)


def write_step(sweep: Sweep, step: int, slot: int, indent: str) -> Iterator[str]:
    """Write a step of a round."""
    test = "" if sweep.is_middle else f"if (first + {step} < total) "
    yield f"{indent}{test}{{"
    yield f"{indent}  const s64 {sweep.index} = {sweep.level(f'first + {step}')};"
    yield from within(body_at(sweep, step, slot), sweep.body.depth, f"{indent}  ")
    yield f"{indent}}}"
