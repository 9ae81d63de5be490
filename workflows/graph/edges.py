"""Edges between named ports, and the frozen order in which the stages of a graph run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ...runtime.process import WorkflowError, classes
from ...stages.base import Artifact, Stage

Nodes: TypeAlias = tuple[tuple[str, Stage], ...]


@classes.frozen
class Edge:
    """Connects output `port` of node `source` to input `need` of node `target`."""

    source: str
    port: str
    target: str
    need: str

    def __lt__(self, other: Edge) -> bool:
        return classes.astuple(self) < classes.astuple(other)

    def __str__(self) -> str:
        return f"{self.source}.{self.port} -> {self.target}.{self.need}"


@classes.frozen
class Feed:
    """The source of one input of a step; None for an input of the workflow."""

    need: str
    source: str | None
    port: str


@classes.frozen
class Step:
    """One stage in execution order, and the sources of its inputs."""

    name: str
    stage: Stage
    feeds: tuple[Feed, ...]


def order(nodes: Nodes, edges: Sequence[Edge]) -> tuple[Step, ...]:
    """Return the steps in topological order, ties in the order of `nodes`; a cycle is an error."""
    feeding = {(edge.target, edge.need): edge for edge in edges}
    waiting = dict.fromkeys((name for name, _ in nodes), 0)
    consumers: dict[str, list[str]] = {name: [] for name in waiting}
    for edge in edges:
        waiting[edge.target] += 1
        consumers[edge.source].append(edge.target)
    place = {name: index for index, (name, _) in enumerate(nodes)}
    ready = [index for index, (name, _) in enumerate(nodes) if waiting[name] == 0]
    steps = []
    while ready:
        first = min(ready)
        ready.remove(first)
        name, stage = nodes[first]
        steps.append(Step(name, stage, _feeds(name, stage, feeding)))
        for target in consumers[name]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(place[target])
    if len(steps) < len(nodes):
        stuck = ", ".join(f"'{name}'" for name, count in waiting.items() if count > 0)
        raise WorkflowError(
            f"The workflow has a cycle through {stuck}.",
            hints=["Connect each stage only to stages that can run before it."],
        )
    return tuple(steps)


def _feeds(name: str, stage: Stage, feeding: Mapping[tuple[str, str], Edge]) -> tuple[Feed, ...]:
    found = []
    for need in stage.needs:
        edge = feeding.get((name, need))
        found.append(Feed(need, edge.source, edge.port) if edge else Feed(need, None, need))
    return tuple(found)


def check(nodes: Nodes, edges: Sequence[Edge]) -> None:
    """Refuse duplicate names, unknown ports, two sources for one input, wrong types, islands."""
    stages: dict[str, Stage] = {}
    for name, stage in nodes:
        if name in stages:
            raise WorkflowError(f"Two stages of the workflow have the name '{name}'.")
        stages[name] = stage
    fed: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        _check_edge(edge, stages)
        other = fed.setdefault((edge.target, edge.need), edge)
        if other is not edge:
            raise WorkflowError(
                f"Input '{edge.need}' of stage '{edge.target}' is fed twice: "
                f"by '{other.source}' and by '{edge.source}'."
            )
    joined = {name for edge in edges for name in (edge.source, edge.target)}
    for name, stage in nodes:
        if len(nodes) > 1 and name not in joined:
            raise WorkflowError(
                f"Stage '{name}' cannot be reached: none of its ports is connected.",
                hints=[f"It needs {_quoted(stage.needs)} and provides {_quoted(stage.provides)}."],
            )


def _check_edge(edge: Edge, stages: Mapping[str, Stage]) -> None:
    for name in (edge.source, edge.target):
        if name not in stages:
            raise WorkflowError(
                f"Edge '{edge}' names the unknown stage '{name}', "
                f"expected one of {_quoted(stages)}."
            )
    source, target = stages[edge.source], stages[edge.target]
    if edge.port not in source.provides:
        raise WorkflowError(
            f"Stage '{edge.source}' has no output '{edge.port}', "
            f"expected one of {_quoted(source.provides)}."
        )
    if edge.need not in target.needs:
        raise WorkflowError(
            f"Stage '{edge.target}' has no input '{edge.need}', "
            f"expected one of {_quoted(target.needs)}."
        )
    expected, got = accepted(target, edge.need), source.provides[edge.port]
    if expected is not None and not issubclass(got, expected):
        raise WorkflowError(
            f"Input '{edge.need}' of stage '{edge.target}' expects '{expected.__name__}', "
            f"got '{got.__name__}' from '{edge.source}.{edge.port}'."
        )


def accepted(stage: Stage, need: str) -> type[Artifact] | None:
    """Return the artifact class that a stage accepts for an input, None if undeclared.

    `accepts` declares it, or an output port of the same name.
    """
    accepts: Mapping[str, type[Artifact]] = getattr(stage, "accepts", {})
    return accepts.get(need) or stage.provides.get(need)


def chain_edges(nodes: Nodes) -> tuple[Edge, ...]:
    """Connect every input to the nearest earlier stage that provides a port of that name."""
    providers: dict[str, str] = {}
    edges = []
    for name, stage in nodes:
        edges += [
            Edge(providers[need], need, name, need) for need in stage.needs if need in providers
        ]
        providers.update(dict.fromkeys(stage.provides, name))
    return tuple(sorted(edges))


def ancestors(names: Sequence[str], edges: Sequence[Edge]) -> frozenset[str]:
    """Return the given nodes and all their dependencies."""
    sources: dict[str, list[str]] = {}
    for edge in edges:
        sources.setdefault(edge.target, []).append(edge.source)
    found = dict.fromkeys(names)
    stack = list(names)
    while stack:
        for source in sources.get(stack.pop(), ()):
            if source not in found:
                found[source] = None
                stack.append(source)
    return frozenset(found)


def _quoted(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "nothing"
