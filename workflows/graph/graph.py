"""`Workflow`: an immutable DAG of stages, connected port to port and checked when it is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from ...runtime.process import WorkflowError, classes
from ...stages.base import Stage
from . import text as graph_text
from .edges import Edge, Nodes, Step, accepted, ancestors, chain_edges, check, order
from .function_stage import as_stage


def _nodes(nodes: Iterable[tuple[str, Stage]]) -> Nodes:
    return tuple(nodes)


def _sorted(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges))


@classes.frozen(repr=False)
class Workflow:
    """Stages by name and the edges between their ports; methods return a changed copy.

    An input that no edge feeds is an input of the workflow, under the name of its port.

    >>> import fieldforge as ff
    >>> flow = ff.cpu.workflow
    >>> flow.names, flow.inputs
    (('parse', 'lower', 'codegen', 'compile', 'bind', 'decorate'), ('definition', 'variant'))
    >>> flow.upto("codegen").names
    ('parse', 'lower', 'codegen')
    """

    nodes: Nodes = classes.field(converter=_nodes)
    edges: tuple[Edge, ...] = classes.field(converter=_sorted)
    plan: tuple[Step, ...] = classes.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check(self.nodes, self.edges)
        object.__setattr__(self, "plan", order(self.nodes, self.edges))

    @classmethod
    def chain(cls, *stages: Stage) -> Self:
        """Connect stages in order: each input to the nearest earlier output port of its name."""
        nodes = tuple((stage.name, stage) for stage in stages)
        return cls(nodes, chain_edges(nodes))

    @classmethod
    def merge(cls, **branches: Workflow) -> Self:
        """Merge workflows; equal stages with equal inputs run once.

        A stage that differs between branches gets the branch as a prefix: 'cpu.codegen'.
        """
        return cls(*_merged({name: (flow.plan, flow.edges) for name, flow in branches.items()}))

    @classmethod
    def parse(cls, text: str, registry: Mapping[str, Any]) -> Self:
        """Parse the text of `str(workflow)`; `registry` maps names to stages."""
        return cls(*graph_text.parse(text, registry))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the stages, in the order of definition."""
        return tuple(name for name, _ in self.nodes)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs of the workflow, in the order of their first use."""
        outside = (feed.need for step in self.plan for feed in step.feeds if feed.source is None)
        return tuple(dict.fromkeys(outside))

    def __contains__(self, name: object) -> bool:
        return any(name == own for own, _ in self.nodes)

    def __getitem__(self, name: str) -> Stage:
        self._require(name)
        return dict(self.nodes)[name]

    def replace(self, **stages: Stage | Callable[..., Any]) -> Self:
        """Replace stages by name; edges stay."""
        for name in stages:
            self._require(name)
        nodes = tuple(
            (name, as_stage(stages[name]) if name in stages else stage)
            for name, stage in self.nodes
        )
        self._check_ports(dict(nodes))
        return classes.evolve(self, nodes=nodes)

    def insert_after(
        self, name: str, stage: Stage | Callable[..., Any], *, under: str | None = None
    ) -> Self:
        """Insert a stage after another; users of the ports that it provides now read from it.

        A plain function becomes a pass over the dataflow IR. `under` names the new node; the
        default is the name of the stage.
        """
        self._require(name)
        added = as_stage(stage)
        own = under or added.name
        if own in self:
            raise WorkflowError(
                f"The workflow has a stage '{own}' already.",
                hints=["Give the new stage another name with 'under='."],
            )
        above = ancestors([name], self.edges)
        near = self._providers(name, above)
        far = {port: step.name for step in self.plan for port in step.stage.provides} | near
        taken = {(near[port], port) for port in added.provides if port in near}
        edges = [Edge(far[need], need, own, need) for need in added.needs if need in far]
        for edge in self.edges:
            moves = (edge.source, edge.port) in taken and edge.target not in above
            edges.append(classes.evolve(edge, source=own) if moves else edge)
        place = self.names.index(name) + 1
        return classes.evolve(
            self, nodes=(*self.nodes[:place], (own, added), *self.nodes[place:]), edges=edges
        )

    def remove(self, name: str) -> Self:
        """Remove a stage; users of a port that it passed on read from its source."""
        self._require(name)
        feeding = {edge.need: edge for edge in self.edges if edge.target == name}
        edges = []
        for edge in self.edges:
            if edge.source == name:
                before = feeding.get(edge.port)
                if before is None:
                    raise WorkflowError(
                        f"Stage '{name}' cannot be removed: stage '{edge.target}' needs "
                        f"its output '{edge.port}', which no stage before it provides."
                    )
                edges.append(classes.evolve(edge, source=before.source, port=before.port))
            elif edge.target != name:
                edges.append(edge)
        return classes.evolve(
            self, nodes=tuple(node for node in self.nodes if node[0] != name), edges=edges
        )

    def upto(self, *names: str) -> Self:
        """Keep the given stages and their dependencies."""
        for name in names:
            self._require(name)
        kept = ancestors(names, self.edges)
        return classes.evolve(
            self,
            nodes=tuple(node for node in self.nodes if node[0] in kept),
            edges=tuple(edge for edge in self.edges if edge.target in kept),
        )

    def graph(self) -> Any:
        """Return a `networkx.DiGraph` with stages on the nodes and ports on the edges."""
        import networkx as nx

        made = nx.DiGraph()
        for name, stage in self.nodes:
            made.add_node(name, stage=stage)
        for edge in self.edges:
            ports = made.get_edge_data(edge.source, edge.target, {}).get("ports", ())
            made.add_edge(edge.source, edge.target, ports=(*ports, (edge.port, edge.need)))
        return made

    def __repr__(self) -> str:
        return f"<workflow {' -> '.join(self.names)}>"

    def _repr_html_(self) -> str:
        from ..reports.page import workflow_fragment
        from ..reports.view import outline

        return workflow_fragment(str(self), outline(self.plan))

    def draw(self) -> str:
        """Return a text drawing: one line per stage, with its inputs."""
        from . import drawing

        return drawing.draw(self.plan)

    def mermaid(self) -> str:
        """Return the graph in the mermaid language."""
        from . import drawing

        return drawing.mermaid(self.plan)

    def __str__(self) -> str:
        return graph_text.show(self.nodes, self.edges)

    def _require(self, name: str) -> None:
        if name not in self:
            known = ", ".join(f"'{own}'" for own in self.names)
            raise WorkflowError(f"The workflow has no stage '{name}', expected one of {known}.")

    def _providers(self, name: str, above: frozenset[str]) -> dict[str, str]:
        """Return the nearest node at or above `name` that provides each port."""
        upward = [step for step in self.plan if step.name in above and step.name != name]
        found = {port: step.name for step in upward for port in step.stage.provides}
        return found | dict.fromkeys(self[name].provides, name)

    def _check_ports(self, stages: Mapping[str, Stage]) -> None:
        before = dict(self.nodes)
        for edge in self.edges:
            old, new = before[edge.source].provides, stages[edge.source].provides
            wanted = accepted(stages[edge.target], edge.need) or old[edge.port]
            if edge.port in new and not issubclass(new[edge.port], wanted):
                raise WorkflowError(
                    f"Input '{edge.need}' of stage '{edge.target}' expects '{wanted.__name__}', "
                    f"got '{new[edge.port].__name__}' from the new stage '{edge.source}'."
                )


def _merged(
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
