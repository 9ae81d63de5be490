"""Merge graphs; equal stages with equal inputs appear once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ...runtime.process import classes
from .edges import Edge, Nodes, Step


def merged(
    branches: Mapping[str, tuple[Iterable[Step], Iterable[Edge]]],
) -> tuple[Nodes, frozenset[Edge]]:
    """Return nodes and edges of the union; ambiguous names get their branch as a prefix."""
    index_of: dict[tuple[str, str | None], int] = {}
    meanings: dict[Any, int] = {}
    first: list[tuple[str, Step]] = []
    for branch, (plan, _) in branches.items():
        for step in plan:
            feeds = tuple(
                (feed.need, feed.port, index_of.get((branch, feed.source))) for feed in step.feeds
            )
            meaning = (step.name, step.stage, feeds)
            if meaning not in meanings:
                meanings[meaning] = len(first)
                first.append((branch, step))
            index_of[branch, step.name] = meanings[meaning]
    occurs = Counter(step.name for _, step in first)
    names = [
        f"{branch}.{step.name}" if occurs[step.name] > 1 else step.name for branch, step in first
    ]
    edges = frozenset(
        classes.evolve(
            edge,
            source=names[index_of[branch, edge.source]],
            target=names[index_of[branch, edge.target]],
        )
        for branch, (_, own) in branches.items()
        for edge in own
    )
    return tuple((name, step.stage) for name, (_, step) in zip(names, first, strict=True)), edges
