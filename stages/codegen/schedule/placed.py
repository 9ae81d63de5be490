"""What placement decides: arrays, scans, and what each nest needs."""

from __future__ import annotations

from collections.abc import Mapping

from ....runtime.process import classes
from ...ir.bounds import Ranges
from .needs import Need


@classes.frozen
class Array:
    """A node that becomes an array over a box."""

    node: int
    box: Ranges
    reason: str


@classes.frozen
class Walk:
    """A scan, its box, and the roots that it stores itself: numbers of a group and in it.

    With `fused`, these are all roots of a group, computed from the results of the scan level by
    level.
    """

    node: int
    box: Ranges
    stores: tuple[tuple[int, int], ...]
    fused: bool = False

    @property
    def nest(self) -> int:
        """Its name for placement, with `fused` that of the stores: what both need is one use."""
        return stores(self.stores[0][0]) if self.fused else self.node


@classes.frozen
class Placement:
    """The nodes that become arrays and the scans, both ascending; notes on the other nodes.

    `needs[nest][node]` are the indices at which a nest needs a node. The name of a nest is the node
    that it computes, the first one in `nests` of those that it fills together, or that of the
    `stores` of a group. `groups` are those that need a nest. One `within` a group does nothing
    where the box of that group is empty; the box of any other nest then is empty by itself. `cost`
    counts operations, loads and arrays, each for one point.
    """

    arrays: tuple[Array, ...]
    walks: tuple[Walk, ...]
    notes: tuple[str, ...]
    needs: Mapping[int, Mapping[int, Need]]
    groups: Mapping[int, frozenset[int]]
    within: Mapping[int, int]
    nests: Mapping[int, int]
    cost: float


def stores(group: int) -> int:
    """Return the name of the nest that stores the roots of a group."""
    return ~group
