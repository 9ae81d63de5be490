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

from ...rows import loop_over, pointers, states, value_of, written
from .lines import braced, either, indented
from .windows import ThreadScan, body_at, fill, in_middle

Writer: TypeAlias = Callable[[ThreadScan], Iterator[str]]  # of some steps


def scoped(scan: ThreadScan, levels: Iterable[str]) -> Iterator[str]:
    """Write a scan of several in one kernel, in a scope of its own."""
    return braced("", outside(scan), pointers(scan.body), states(scan.body), levels)


def outside(scan: ThreadScan) -> Iterator[str]:
    """Write the rows of a scan outside of its loop."""
    for level in range(scan.body.depth):
        yield from indented(written(scan.body, level), "  " * (level + 1))


def write_scan(scan: ThreadScan) -> Iterator[str]:
    """Write the loop over the levels."""
    loop, body = scan.nest.loops[-1], scan.body
    if scan.windows:
        yield from (*first_elements(scan), *rounds(scan, "total"))
        return
    if scan.unroll:
        yield f"#pragma unroll {scan.unroll}"
    yield from (
        loop_over(f"i{body.depth - 1}", body.scope.ends(loop.range), backward=loop.backward),
        *indented(filter(None, written(body_at(scan), body.depth))),
        "}",
    )


def first_elements(scan: ThreadScan) -> Iterator[str]:
    """Define how many steps there are, and windows with what the first round needs."""
    start, stop = scan.body.scope.ends(scan.nest.loops[-1].range)
    yield from (
        f"const s32 total = s32({stop} - {start});",
        "s32 first = 0;",
        *(f"{each.type_} {each.name}[{each.size}];" for each in scan.windows),
    )
    for each in scan.windows:
        yield from fill(scan, each, str(each.low), 0, scan.ahead + each.span)


def rounds(scan: ThreadScan, limit: str) -> Iterator[str]:
    """Write the loop over two rounds each, from step `first` to a limit or the last step."""
    ahead = scan.ahead
    between = (f"first += {ahead};", "if (first >= total) break;")
    yield "#pragma unroll 1"
    yield from braced(
        f"for (; first < {limit}; first += {ahead})",
        _round(scan, 0),
        between,
        _round(scan, ahead),
    )


def _round(scan: ThreadScan, slot: int) -> Iterator[str]:
    """Write `ahead` steps, of which the first finds its oldest elements in `slot`."""
    steps = twice(scan, "middle", "first", 2 * scan.ahead, partial(_steps, slot))
    return braced("", scan.opening, steps)


def twice(scan: ThreadScan, flag: str, first: str, steps: int, write: Writer) -> Iterator[str]:
    """Write what some steps do for the middle of a column, and with all tests.

    A flag tells whether the steps from number `first` on are in the middle.
    """
    reach = steps + scan.span
    yield f"bool {flag} = {first} + {reach} <= total;"
    tests = {row: "" if value else "!" for row, value in scan.usual.items()}
    for place in (first, f"{first} + {reach - 1}") if tests else ():
        lines = (
            f"{flag} = {flag} && {sign}{value_of(scan.body, row)};" for row, sign in tests.items()
        )
        yield from braced(f"if ({flag})", [scan.at(place)], lines)
    yield from either(flag, write(in_middle(scan)), write(scan))


def _steps(slot: int, scan: ThreadScan) -> Iterator[str]:
    """Write the steps of a round: the loads for the next follow what frees their places."""
    ahead = scan.ahead
    for step in range(ahead):
        yield from write_step(scan, step, slot)
        for window in scan.windows:
            span = window.span
            if step == 0:
                later, count = ahead + span, ahead - span + min(span, 1)
            elif step < span:
                later, count = 2 * ahead + step, 1
            else:
                continue
            yield from fill(scan, window, f"first + {later + window.low}", slot + later, count)


def write_step(scan: ThreadScan, step: int, slot: int) -> Iterator[str]:
    """Write a step of a round."""
    test = "" if scan.is_middle else f"if (first + {step} < total)"
    rows = filter(None, written(body_at(scan, step, slot), scan.body.depth))
    return braced(test, [scan.at(f"first + {step}")], rows)
