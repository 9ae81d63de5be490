"""Split a reversed scan: what its state does not need is computed point by point, behind it.

An output that multiplies the adjoint of a state by something that only this output reads waits for
it. Outside, the scan does not, and may walk together with another one (see `merging`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from ...runtime.process import classes
from ..ir.dataflow import Body, Map, Ref, Scalar, Scan, Value
from ..lower.graph import Graph
from ..lower.rewrite import reachable, with_operands
from ..lower.scans import body_of


@classes.frozen(eq=False)
class Split:
    """The body of a scan, and the rows of the old one that it gives.

    Attributes:
        body: gives the leaves that the state carries, then `given`.
        old: the rows before, which know all outputs.
        given: rows of `old`, the outputs or what they are made from.

    """

    body: Body
    old: Body
    given: tuple[Ref, ...]

    @classmethod
    def of(cls, body: Body, carried: int, late: Container[str]) -> Split:
        """Split a body whose first results are carried; some arguments are `late`."""
        reads = _reads(body)
        own = frozenset().union(*(reads[each] for each in body.results[:carried]))
        given: dict[Ref, None] = {}
        for output in body.results[carried:]:
            foreign = {name for name in reads[output] - own if name in late}
            stack = [output]
            while stack:
                row = stack.pop()
                if foreign & reads[row]:
                    stack += reversed(body.values[row].operands)
                elif not foreign or any(name[0] == "s" for name in reads[row]):
                    given[row] = None
        graph = Graph()
        for value in body.values:
            graph.add(with_operands(value, lambda row: row))
        results = (*body.results[:carried], *given)
        return cls(body_of(graph, results), body, tuple(given))

    def outputs(
        self, graph: Graph, carried: int, results: Sequence[Ref], args: Sequence[Ref]
    ) -> list[Ref]:
        """Return the outputs, from the results of the scan and its arguments in a program."""
        known: dict[Ref, Ref] = dict(zip(self.given, results[carried:], strict=True))
        return [self._outside(graph, row, known, args) for row in self.old.results[carried:]]

    def _outside(self, graph: Graph, row: Ref, known: dict[Ref, Ref], args: Sequence[Ref]) -> Ref:
        if row not in known:
            value = self.old.values[row]
            if isinstance(value, Map):
                operands = [self._outside(graph, each, known, args) for each in value.args]
                known[row] = graph.map(value.op, operands, value.dtype)
            elif isinstance(value, Scalar):
                known[row] = args[int(value.name[1:])]
            else:
                known[row] = graph.add(value)
        return known[row]


def late(graph: Graph, args: Sequence[Ref], forward: bool) -> frozenset[str]:
    """Return the arguments for which a scan in a direction waits for one in the other direction.

    That counts if the other one waits for one in this direction, with which the scan may walk.
    """
    values = graph.values

    def scans(roots: Iterable[Ref], ahead: bool) -> list[Ref]:
        rows = reachable(tuple(values), roots)
        return [row for row in rows if _is_scan(values[row], ahead)]

    found = set()
    for index, arg in enumerate(args):
        other = [each for row in scans([arg], not forward) for each in values[row].operands]
        if scans(other, forward):
            found.add(f"a{index}")
    return frozenset(found)


def _is_scan(value: Value, forward: bool) -> bool:
    return isinstance(value, Scan) and value.forward == forward


def _reads(body: Body) -> Mapping[Ref, frozenset[str]]:
    """Return the names of the states and arguments that each row is made from."""
    found: dict[Ref, frozenset[str]] = {}
    for row, value in enumerate(body.values):
        own = {value.name} if isinstance(value, Scalar) else set()
        found[row] = frozenset(own).union(*(found[each] for each in value.operands))
    return found
