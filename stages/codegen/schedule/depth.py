"""How much a nest computes again at and below a value that it computes at several points.

A value at few points may hide long chains: an average of averages of averages costs little at each
step, and the nest computes the first of them at many points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ...machine import Machine
from .costs import COMPUTED, own_cost, point_costs, users_of
from .places import Coords, still
from .points import Points

# What users of a value compute again already, in elements stored, before the chain is cut.
DEEP: Final = 1.5
# Longer chains are judged by their first values.
LONGEST: Final = 200


def beside_shared(
    points: Points,
    users: Mapping[int, int],
    costs: Mapping[int, float],
    index: int,
    enough: float,
    target: Machine,
) -> float:
    """Return the cost of a node without the values that become arrays for other users, too.

    These are the values that cost more than `enough`, and that also others use. Without any, the
    cost is that of the node.
    """
    cone = points.reachable([points.here(index)])
    within = users_of(points.nodes, cone)
    stored = {node for node in cone[:-1] if users[node] > within[node] and costs[node] > enough}
    if not stored:
        return costs[index]
    return point_costs(points, {node: users[node] for node in cone}, target, stored)[index]


def computed_again(
    points: Points,
    users: Mapping[int, int],
    target: Machine,
    index: int,
    places: Iterable[Coords],
    limit: float,
) -> float:
    """Return what an array in place of a node at `places` would save, in operations.

    That is, the operations of the values that it alone depends on, at the points beyond those that
    one point of the node needs; `users` counts the users of each value. A value that costs more
    than `limit` would become an array itself, and so counts as `limit`. The sum ends where it
    exceeds the limit.
    """
    nodes = points.nodes
    one = still(len(nodes[index].dims))
    cone = points.reachable([(index, one)])
    within = users_of(nodes, cone)
    found: dict[int, tuple[dict[Coords, None], dict[Coords, None]]] = {
        index: (dict.fromkeys(places), {one: None})
    }
    total = 0.0
    for node in reversed(cone[-LONGEST:]):
        value, is_shared = nodes[node].value, node != index and users[node] > within[node]
        if node not in found or not value.dims or is_shared or not isinstance(value, COMPUTED):
            continue
        every, single = found[node]
        again = max(len(every) - len(single), 0) * own_cost(value, target)
        total += min(again, limit)
        if total > limit:
            break
        if again <= limit:
            for own, others in ((0, every), (1, single)):
                for coords in others:
                    ahead = dict(zip(nodes[node].dims, coords, strict=True))
                    for operand in nodes[node].operands:
                        below, at = points.placed(operand, ahead)
                        found.setdefault(below, ({}, {}))[own][at] = None
    return total
