"""Fill an array in the kernel of another nest that reads the same fields at the same places.

On a mesh the stores of cells and of edges are nests of their own, and an array for the edges is
filled by a nest over cells, which reads the edges of a cell as the stores of cells do. In calls
where both nests have the same points, one kernel does the work of both and reads what they share
once. The other nest may read the array too, if only at its own points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops import (
    Bound,
    Choice,
    Const,
    Instruction,
    Kernel,
    Load,
    Nest,
    Node,
    Range,
    Seq,
    Step,
    Store,
    accesses,
    arrays_of,
    difference,
    greatest,
    in_order,
    maximum,
    multiply,
    steps_of,
    subtract,
    walk,
)
from ...pass_list import Rules
from .unrolling import Buffers, joined

# The share of what the array's nest loads that the other nest must load too.
WORTH: Final = 0.75
LONGEST: Final = 400  # instructions


def fuse(kernel: Kernel, rules: Rules) -> Kernel:
    """Bring pairs of nests that share what they load beside each other, with a nest for both."""
    if rules.checked:
        return kernel
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    steps: list[Step] = []
    for step in kernel.steps:
        steps.append(classes.evolve(step, body=_fused(step.body, buffers, _count(steps))))
    return classes.evolve(kernel, steps=tuple(steps))


def _fused(body: Node, buffers: Buffers, number: int) -> Node:
    """Return the body of a step, of which the first nest has a number."""
    done: list[Node] = []
    left = list(steps_of(body))
    while (pair := next(_pairs(left, buffers), None)) is not None:
        (place, fills), (at, other) = pair
        above = _ancestors(left)
        ahead = (above[place] | above[at] | set(range(min(place, at)))) - {place}
        done += [left[each] for each in sorted(ahead)]
        done.append(_either(fills, other, buffers, number + _count(done) + 1))
        left = [node for each, node in enumerate(left) if each not in (*ahead, place, at)]
    return in_order(*done, *left)


def _count(nodes: Sequence[Node]) -> int:
    return sum(isinstance(each, Nest) for node in nodes for each in walk(node))


def _pairs(
    nodes: Sequence[Node], buffers: Buffers
) -> Iterator[tuple[tuple[int, Nest], tuple[int, Nest]]]:
    """Yield a nest that fills arrays, and one that reads the same, each after its place."""
    above = _ancestors(nodes)
    nests = [(place, node) for place, node in enumerate(nodes) if isinstance(node, Nest)]
    for place, fills in nests:
        for at, other in nests:
            between = any(place in above[each] for each in above[at])
            if (
                at not in above[place]
                and not between
                and at != place
                and _in_one_turn(fills, other, buffers)
                and _go_together(fills, other, buffers)
            ):
                yield (place, fills), (at, other)


def _in_one_turn(fills: Nest, other: Nest, buffers: Buffers) -> bool:
    """Tell whether each thread may do the work of a nest, then that of another at the same point.

    The other one reads what the first fills at its own points alone, and stores nothing of it, nor
    a field that a call may give the same memory as what the first alone reads at other points.
    """
    filled, stored = arrays_of(fills, Store), arrays_of(other, Store)
    around = _read_around(other)
    kinds = {(buffers[each].dims, buffers[each].dtype) for each in stored}
    alike = (
        (buffers[each].dims, buffers[each].dtype) in kinds
        for each in _read_around(fills) - around
        if buffers[each].memory == "field"
    )
    return stored.isdisjoint(arrays_of(fills)) and around.isdisjoint(filled) and not any(alike)


def _read_around(nest: Nest) -> set[str]:
    """Return the buffers that a nest reads at other points than its own, or not at all of them."""
    return {
        row.buffer
        for row in accesses(nest, Load)
        if row.is_told or any(row.offsets) or row.when is not None
    }


def _ancestors(nodes: Sequence[Node]) -> list[set[int]]:
    """Return for each node the nodes before it that must stay before it."""
    above: list[set[int]] = []
    touched = [(arrays_of(node, Load), arrays_of(node, Store)) for node in nodes]
    for number, (loads, stores) in enumerate(touched):
        found: set[int] = set()
        for before in range(number):
            read, written = touched[before]
            if written & (loads | stores) or read & stores:
                found |= {before} | above[before]
        above.append(found)
    return above


def _go_together(fills: Nest, other: Nest, buffers: Buffers) -> bool:
    """Tell whether the second nest may fill the arrays of the first, and reads what that reads.

    It must load most of what the first does, and both must be short.
    """
    if any(nest.states or nest.parts or not nest.loops for nest in (fills, other)):
        return False
    if any(buffers[name].memory != "arena" for name in arrays_of(fills, Store)):
        return False
    if len(fills.box) != len(other.box) or any(map(_are_apart, fills.box, other.box)):
        return False
    level, body = len(fills.loops), joined((fills, other), buffers)
    own, others, all_ = (_inner(rows, level) for rows in (fills.body, other.body, body))
    return len(body) <= LONGEST and own > 0 and own + others - all_ >= WORTH * own


def _are_apart(one: Range, other: Range) -> bool:
    """Tell whether two ranges are known to differ."""
    gaps = (difference(one.start, other.start), difference(one.stop, other.stop))
    return one.dim != other.dim or any(gap not in (None, 0) for gap in gaps)


def _inner(body: Sequence[Instruction], level: int) -> int:
    return sum(isinstance(row, Load) and row.level == level for row in body)


def _either(one: Nest, two: Nest, buffers: Buffers, number: int) -> Node:
    """Return a nest for both where they have the same points; `number` is that of the second.

    The readings of the two stand for its own.
    """
    reason = f"{two.reason}; {one.reason.partition(';')[0]} too"
    made = classes.evolve(two, body=joined((one, two), buffers), reason=reason, reads=())
    same, filled = _same_points(one, two), arrays_of(one, Store)
    if same == Const(1):
        own = (reading for reading in two.reads if reading.buffer not in filled)
        return classes.evolve(made, reads=tuple(dict.fromkeys((*one.reads, *own))))
    why = f"{', '.join(sorted(filled))} from what nest {number} reads too"
    return Choice(same, made, Seq((one, two)), why)


def _same_points(one: Nest, other: Nest) -> Bound:
    """Return 1 in calls where the loops of two nests have the same ranges, 0 in others."""
    pairs = [
        pair
        for left, right in zip(one.box, other.box, strict=True)
        for pair in ((left.start, right.start), (left.stop, right.stop))
    ]
    gaps = [subtract(start, stop) for start, stop in pairs if start != stop]
    apart = greatest([Const(0), *gaps, *(multiply(gap, -1) for gap in gaps)])
    return maximum(Const(0), subtract(Const(1), apart))
