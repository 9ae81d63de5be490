"""The cost of operations, in units of one addition of a vectorised loop."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from ....runtime.language import DimensionKind
from ....runtime.language.operations import BY_NAME
from ...ir import dataflow
from ...ir.loops import Compute, Instruction, Load
from ...machine import Machine
from .places import Coords, Indices
from .points import Node, Points

TRANSCENDENTAL: Final = 25  # the least cost of an operation that calls a function
COMPUTED: Final = (dataflow.Map, dataflow.Reduce, dataflow.Region)


def operations(op: str) -> int:
    """Return the cost of one operation.

    >>> operations("add"), operations("div"), operations("exp")
    (1, 12, 25)
    """
    return BY_NAME[op].cost


def row_cost(row: Instruction) -> int:
    """Return the additions that a row of a vectorised loop takes; a load is one."""
    return operations(row.op) if isinstance(row, Compute) else int(isinstance(row, Load))


def users_of(nodes: Sequence[Node], needed: Iterable[int]) -> dict[int, int]:
    """Return how many nodes use each node; `needed` is closed under operands."""
    users = dict.fromkeys(needed, 0)
    for index in users:
        for operand in dict.fromkeys(operand for operand, _ in nodes[index].operands):
            users[operand] += 1
    return users


def point_costs(
    points: Points,
    users: Mapping[int, int],
    target: Machine,
    stored: Container[int] = (),
) -> dict[int, float]:
    """Return the cost of one point of each node, operands at the same point included.

    An operand that several nodes share is shared among them; one that a node reads at
    other points too is a stage of its own, and one of `stored` costs nothing. `users` is
    ascending and closed under operands; `target` tells what a load through a neighbour table costs.
    """
    nodes, indices = points.nodes, points.indices
    costs: dict[int, float] = {}
    for index in users:
        node = nodes[index]
        costs[index] = 0.0
        # a value without dimensions is computed once, outside all loops
        if isinstance(node.value, COMPUTED) and node.dims:
            places: dict[int, set[Coords]] = {}
            for operand, coords in node.operands:
                places.setdefault(operand, set()).add(coords)
            own = {each: costs[each] * (each not in stored) / users[each] for each in places}
            costs[index] = own_cost(node.value, target) + sum(
                _share(node.value, own[operand], at, indices)
                + _gathered(node, nodes[operand], at, indices, target)
                for operand, at in places.items()
            )
    return costs


def own_cost(value: dataflow.Value, target: Machine) -> float:
    """Return the cost of one point of a value, operands left out."""
    if isinstance(value, dataflow.Map):
        return operations(value.op)
    if isinstance(value, dataflow.Region):  # which a choice and the tests of its sides decide
        ends = (end for box in value.boxes for side in box for end in (side.start, side.stop))
        return 1.0 + target.test * sum(end is not None for end in ends)
    return 1.0


def _gathered(
    node: Node, operand: Node, at: set[Coords], indices: Indices, target: Machine
) -> float:
    """Return the cost of a node's loads through neighbour tables of a field at some places."""
    if not isinstance(operand.value, dataflow.Input):
        return sum(_is_collected(operand, coords, indices) for coords in at) * target.gather
    count = sum(any(indices.depth(base) for base, _ in coords) for coords in at)
    own = sum(dim.kind is not DimensionKind.LOCAL for dim in node.dims)
    return count * (target.gather_alone if own == 1 else target.gather)


def _is_collected(operand: Node, coords: Coords, indices: Indices) -> bool:
    """Tell whether a table leads to a slot of an operand, and so to what it is computed from."""
    return any(
        dim.kind is DimensionKind.LOCAL and indices.depth(base)
        for dim, (base, _) in zip(operand.dims, coords, strict=True)
    )


def _share(value: dataflow.Value, cost: float, at: set[Coords], indices: Indices) -> float:
    """Return the cost of an operand at some places for its user; `cost` is that at one place."""
    if isinstance(value, dataflow.Reduce):
        return len(at) * (1 + cost)
    (first, *others) = at
    return 0.0 if others or not indices.is_here(first) else cost
