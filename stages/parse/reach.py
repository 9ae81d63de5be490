"""Collect the neighbour tables, local dimensions and scan axes of a tree and its callees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...runtime.language.dimension import Dimension, DimensionKind
from ...runtime.language.types import CollectionType, FieldType, TupleType
from ...runtime.process import classes
from ..ir import syntax


@classes.frozen
class Reach:
    """Names of required and of optional neighbour tables; axes of scans; local dimensions."""

    needed: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    axes: frozenset[Dimension] = frozenset()
    unstructured: bool = False

    @property
    def tables(self) -> tuple[tuple[str, bool], ...]:
        """The tables sorted by name, each with whether it is required."""
        return tuple((name, name in self.needed) for name in sorted(self.needed | self.asked))


def reach_of(root: syntax.Root, callees: Iterable[Reach]) -> Reach:
    """Return the reach of a root, given the reaches of its callees."""
    nodes = root.nodes
    below = list(callees)
    needed = {
        node.offset.name for node in nodes if isinstance(node, syntax.Neighbour | syntax.Neighbours)
    }
    asked = {node.dim.value for node in nodes if isinstance(node, syntax.Reduction)}
    axes = {root.axis} if isinstance(root, syntax.Scan) else set()
    types: set[Any] = {node.type for node in nodes} | {each.type for each in root.parameters}
    return Reach(
        frozenset(needed).union(*(each.needed for each in below)),
        frozenset(asked).union(*(each.asked for each in below)),
        frozenset(axes).union(*(each.axes for each in below)),
        bool(needed) or any(each.unstructured for each in below) or _has_local(types),
    )


def _has_local(types: Iterable[Any]) -> bool:
    return any(dim.kind is DimensionKind.LOCAL for type_ in types for dim in _dims(type_))


def _dims(type_: Any) -> Iterator[Dimension]:
    waiting = [type_]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FieldType):
            yield from part.dims
        elif isinstance(part, TupleType | CollectionType):
            waiting += part.elements
