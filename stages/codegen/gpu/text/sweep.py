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
from ...rows.body import pointers, states, value_of, written
from .lines import braced, either, indented
from .windows import Sweep, body_at, fill, in_middle

Writer: TypeAlias = Callable[[Sweep], Iterator[str]]  # of some steps


def scoped(sweep: Sweep, levels: Iterable[str]) -> Iterator[str]:
    """Write a scan of several in one kernel, in a scope of its own."""
    return braced("", outside(sweep), pointers(sweep.body), states(sweep.body), levels)


def outside(sweep: Sweep) -> Iterator[str]:
    """Write the rows of a scan outside of its loop."""
    for level in range(sweep.body.depth):
        yield from indented(written(sweep.body, level), "  " * (level + 1))


def write_sweep(sweep: Sweep) -> Iterator[str]:
    """Write the loop over the levels."""
    loop, body = sweep.nest.loops[-1], sweep.body
    if sweep.windows:
        yield from (*first_elements(sweep), *rounds(sweep, "total"))
        return
    if sweep.unroll:
        yield f"#pragma unroll {sweep.unroll}"
    ends = body.scope.ends(loop.range)
    yield loop_over(f"i{body.depth - 1}", ends, backward=loop.backward)
    yield from (*indented(filter(None, written(body_at(sweep), body.depth))), "}")


def first_elements(sweep: Sweep) -> Iterator[str]:
    """Define how many steps there are, and windows with what the first round needs."""
    start, stop = sweep.body.scope.ends(sweep.nest.loops[-1].range)
    yield from (f"const s32 total = s32({stop} - {start});", "s32 first = 0;")
    yield from (f"{each.type_} {each.name}[{each.size}];" for each in sweep.windows)
    for each in sweep.windows:
        yield from fill(sweep, each, str(each.low), 0, sweep.ahead + each.span)


def rounds(sweep: Sweep, limit: str) -> Iterator[str]:
    """Write the loop over two rounds each, from step `first` to a limit or the last step."""
    ahead = sweep.ahead
    between = (f"first += {ahead};", "if (first >= total) break;")
    lines = (*_round(sweep, 0), *between, *_round(sweep, ahead))
    yield "#pragma unroll 1"
    yield from braced(f"for (; first < {limit}; first += {ahead})", lines)


def _round(sweep: Sweep, slot: int) -> Iterator[str]:
    """Write `ahead` steps, of which the first finds its oldest elements in `slot`."""
    steps = twice(sweep, "middle", "first", 2 * sweep.ahead, partial(_steps, slot))
    return braced("", sweep.opening, steps)


def twice(sweep: Sweep, flag: str, first: str, steps: int, write: Writer) -> Iterator[str]:
    """Write what some steps do for the middle of a column, and with all tests.

    A flag tells whether the steps from number `first` on are in the middle.
    """
    reach = steps + sweep.span
    yield f"bool {flag} = {first} + {reach} <= total;"
    tests = {row: "" if value else "!" for row, value in sweep.usual.items()}
    for place in (first, f"{first} + {reach - 1}") if tests else ():
        values = (f"{sign}{value_of(sweep.body, row)}" for row, sign in tests.items())
        lines = (f"{flag} = {flag} && {value};" for value in values)
        yield from braced(f"if ({flag})", [sweep.at(place)], lines)
    yield from either(flag, write(in_middle(sweep)), write(sweep))


def _steps(slot: int, sweep: Sweep) -> Iterator[str]:
    """Write the steps of a round: the loads for the next follow what frees their places."""
    ahead = sweep.ahead
    for step in range(ahead):
        yield from write_step(sweep, step, slot)
        for window in sweep.windows:
            span = window.span
            if step == 0:
                later, count = ahead + span, ahead - span + min(span, 1)
            elif step < span:
                later, count = 2 * ahead + step, 1
            else:
                continue
            yield from fill(sweep, window, f"first + {later + window.low}", slot + later, count)


def write_step(sweep: Sweep, step: int, slot: int) -> Iterator[str]:
    """Write a step of a round."""
    test = "" if sweep.is_middle else f"if (first + {step} < total)"
    rows = filter(None, written(body_at(sweep, step, slot), sweep.body.depth))
    return braced(test, [sweep.at(f"first + {step}")], rows)
