"""What a tree reaches, with everything that it calls: neighbour tables, local axes, scan axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from ...runtime.language.dimension import Dimension, DimensionKind
from ...runtime.language.types import CollectionType, FieldType, TupleType
from ..ir import syntax


@attrs.frozen
class Reach:
    """Names of tables that must be there, and of those that may be; axes of scans; local dims."""

    needed: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    axes: frozenset[Dimension] = frozenset()
    unstructured: bool = False

    @property
    def tables(self) -> tuple[tuple[str, bool], ...]:
        """The tables in the order of their names, each with whether it must be there."""
        return tuple((name, name in self.needed) for name in sorted(self.needed | self.asked))


def reach_of(root: syntax.Root, callees: Iterable[Reach]) -> Reach:
    """Return what a root reaches, given what its callees reach."""
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
