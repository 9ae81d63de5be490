"""What a thread of a CPU does for a nest, whatever it costs: operations, loads, rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from ....runtime.process import classes
from ...ir.loops import ITEMSIZES, LINE, Compute, Index, Load, Nest, Store, marks_of, reached
from ..schedule.costs import operations, row_cost
from .cpu_sweeps import Work
from .machine import CpuClass
from .registers import OTHERS, WORD, registers

MOVED: Final = 2.0  # additions that it takes to move a register by some lanes
DIVIDED: Final = ("div", "sqrt")
SHARE: Final = {"float64": 1.0, "float32": 0.6}  # of the time of a register's divisions
STRIP: Final = 64  # bytes of the smallest elements of a strip
SMALLEST: Final = 4


def amounts(work: Work, machine: CpuClass) -> dict[str, float]:
    """Return what a thread does for a nest, by kind: each has its cost.

    operations   of a vector register, in units of an addition
    divisions    of a vector register in float64, and roots: their unit works beside the others
    loads        and stores of a vector register, those that spill registers too
    gathers      elements that lanes load one by one
    rows         walks along an innermost loop, with its addresses
    addresses    of these rows
    prefetches   lines
    streams      rows that are written past the caches, in calls that do so
    rings        rows of arrays whose rows take turns
    waits        lines of long rows from memory that tables tell and nothing prefetches
    jumps        other rows from memory that are not next to the row before, nor prefetched
    """
    found = dict.fromkeys(machine.costs, 0.0)
    for name, amount in _amounts(work, machine):
        found[name] += amount
    return found


def _amounts(work: Work, machine: CpuClass) -> Iterator[tuple[str, float]]:
    nest, depth = work.nest, len(work.nest.loops)
    marks = marks_of(nest)
    is_vector = depth > 0 and nest.loops[-1].kind == "vector"
    points, computed, moved = _strips(work)
    outer = work.times[-2] if depth else 1.0
    widest = max((ITEMSIZES[row.dtype] for row in nest.body if row.level == depth), default=1)
    for number, row in enumerate(nest.body):
        is_inner, times = row.level == depth > 0, work.times[row.level]
        if is_inner and is_vector:
            each = outer * points * ITEMSIZES[row.dtype] / machine.lanes
            times = each * computed[number]
            yield "operations", MOVED * each * moved[number]
        if isinstance(row, Compute) and row.op in DIVIDED and row.dtype in SHARE:
            yield "divisions", times * SHARE[row.dtype] * row_cost(row) / operations("div")
        elif isinstance(row, Compute):
            yield "operations", times * row_cost(row)
        elif isinstance(row, Load | Store):
            if is_inner and is_vector and _is_apart(nest, row):
                yield "gathers", work.times[-1]
            else:
                yield "loads", times
            yield "addresses", outer * (is_inner and times > 0)
    yield "rows", outer
    yield "prefetches", outer * len(marks.asked) * max(1.0, work.row * widest / LINE)
    yield "streams", outer * len(marks.streams)
    if is_vector:
        each = outer * max(computed, default=0.0) * points * widest / machine.lanes
        values = _bytes_of_values(nest) / widest
        yield "loads", 2 * each * max(0.0, values - machine.registers)


def _strips(work: Work) -> tuple[int, list[float], list[float]]:
    """Return the points of a strip, and for each row how many strips of a walk compute and move it.

    Values that slide come from registers in whole strips. So does what follows from them alone,
    and one strip before the first whole one computes the others.
    """
    body = work.nest.body
    sizes = [ITEMSIZES[row.dtype] for row in body if isinstance(row, Load | Store)]
    points = STRIP // max(SMALLEST, min(sizes, default=8))
    count, whole = max(1.0, -(-work.row // points)), work.row // points
    slid = {row: origin for row, origin, _ in marks_of(work.nest).slides}
    if not slid:
        return points, [count] * len(body), [0.0] * len(body)
    stores = [number for number, row in enumerate(body) if isinstance(row, Store)]
    live = reached(stores, lambda n: (slid[n],) if n in slid else body[n].operands)
    again = whole + min(whole, 1.0)
    computed = [count - whole + again * (n in live and n not in slid) for n in range(len(body))]
    return points, computed, [whole * (n in live and n in slid) for n in range(len(body))]


@lru_cache(maxsize=1024)
def _bytes_of_values(nest: Nest) -> int:
    """Return the bytes of the values that a point keeps; those that slide need no operands."""
    rows = {row for row, _, _ in marks_of(nest).slides}
    body = tuple(
        Load(dtype=row.dtype, level=row.level, buffer="", dims=(), offsets=())
        if number in rows
        else row
        for number, row in enumerate(nest.body)
    )
    return (registers(classes.evolve(nest, body=body), 1) - OTHERS) * WORD


def _is_apart(nest: Nest, row: Load | Store) -> bool:
    """Tell whether a value of the innermost loop tells where the lanes of an access lie.

    The index of the loop itself tells a row of a staggered field.
    """
    told = [nest.body[each] for each in row.rows if each is not None]
    return any(each.level == len(nest.loops) and not isinstance(each, Index) for each in told)
