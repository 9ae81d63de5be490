"""Inline operators: execute their bodies symbolically, with rows of a graph as values.

A tuple is the list of the rows of its leaves, depth first; a variable is its latest version. The
depth of calls is not limited: a body is a generator that yields the calls whose results it needs,
and a worklist keeps the waiting generators. Calls with equal arguments share one result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ...runtime.language import Dimension, leaves
from ...runtime.process import DSLError, WorkflowError, classes
from ..ir import syntax
from ..ir.dataflow import Body, Bound, Ref
from .expressions import Expressions, Leaves, elements_of, operands
from .graph import Graph
from .scans import Walked, axes_of, body_of, trimmed, walked_by
from .tables import Tables
from .worklist import Task, finish

Levels: TypeAlias = tuple[tuple[Dimension, Bound, Bound], ...]  # levels of the scans of a call


@classes.frozen
class Returned:
    """The result of a path through a body; `when` is its condition, None for always."""

    leaves: Leaves
    when: Ref | None = None


@classes.define
class Frame:
    """The evaluation of one table of expressions: its variables, and the rows done so far."""

    nodes: tuple[syntax.Expression, ...]
    variables: dict[str, Leaves]
    done: dict[syntax.Ref, Leaves] = classes.field(factory=dict)
    before: list[dict[str, Leaves | None]] = classes.field(factory=list)

    def bind(self, name: str, value: Leaves) -> None:
        """Bind a new version of a variable, and save the version from before the branch."""
        if self.before:
            self.before[-1].setdefault(name, self.variables.get(name))
        self.variables[name] = value

    def read(self, name: str) -> Leaves:
        """Return the latest version of a variable."""
        if name not in self.variables:
            raise WorkflowError(f"Name '{name}' is read before it is bound; 'parse' let it pass.")
        return self.variables[name]

    def pending(self, root: syntax.Ref) -> Iterator[syntax.Ref]:
        """Yield the expressions that `root` still needs, operands before their users."""
        found = {root} - self.done.keys()
        stack = list(found)
        while stack:
            for ref in operands(self.nodes[stack.pop()]):
                if ref not in found and ref not in self.done:
                    found.add(ref)
                    stack.append(ref)
        return iter(sorted(found))


class Inliner:
    """Inline operators into a graph."""

    def __init__(
        self,
        graph: Graph,
        operators: Mapping[str, syntax.Callee],
        tables: Tables | None = None,
        walked: Walked | None = None,
    ) -> None:
        self._graph: Final = graph
        self._operators: Final = operators
        self._expressions: Final = Expressions(graph, tables or Tables({}, {}))
        self._results: Final[dict[tuple[str, tuple[Leaves, ...], Levels | None], Leaves]] = {}
        self._bodies: Final[dict[str, Body]] = {}
        self._walked: Final = walked_by(operators) if walked is None else walked
        self._levels: Levels = ()

    def axes(self, callee: syntax.Callee) -> frozenset[Dimension]:
        """Return the axes of the scans that an operator is or reaches."""
        return axes_of(callee, self._walked)

    def call(self, callee: syntax.Callee, args: Sequence[Leaves], levels: Levels = ()) -> Leaves:
        """Return the leaves of the result of `callee` for these arguments.

        `levels` are the ranges that its scans walk.
        """
        self._levels = levels
        if isinstance(callee, syntax.Scan):
            return self._scan(callee.name, callee, args)
        result: Leaves = finish(self._body(callee, args))
        return result

    def expression(self, frame: Frame, root: syntax.Ref) -> Leaves:
        """Return the leaves of one expression."""
        result: Leaves = finish(self._evaluate(frame, root))
        return result

    def _scan(self, key: str, scan: syntax.Scan, args: Sequence[Leaves]) -> Leaves:
        levels = {dim: (start, stop) for dim, start, stop in self._levels}
        if scan.axis not in levels:
            raise DSLError(
                None,
                f"Scan operator '{scan.name}' walks along '{scan.axis.value}', "
                "but nothing that the statement writes has this dimension.",
            )
        if key not in self._bodies:
            self._bodies[key] = self._body_of_scan(scan)
        state = [str(leaf) for _, leaf in leaves(scan.parameters[0].type)]
        body, given = trimmed(self._bodies[key], tuple(leaf for arg in args for leaf in arg))
        init = [self._graph.literal(*each) for each in zip(state, scan.init, strict=True)]
        start_stop = levels[scan.axis]
        return self._graph.scan(body, tuple(init), given, scan.axis, scan.forward, start_stop)

    def _body_of_scan(self, scan: syntax.Scan) -> Body:
        """Inline the body of a scan into a graph of its own, on scalars; a body calls no scan."""
        graph = Graph()
        rows: list[Leaves] = []
        count = 0
        for index, parameter in enumerate(scan.parameters):
            dtypes = [str(getattr(leaf, "dtype", leaf)) for _, leaf in leaves(parameter.type)]
            names = [f"a{count + place}" if index else f"s{place}" for place in range(len(dtypes))]
            rows.append(tuple(map(graph.scalar, names, dtypes)))
            count += len(dtypes) if index else 0
        inliner = Inliner(graph, self._operators, self._expressions.tables, self._walked)
        results: Leaves = finish(inliner._body(scan, rows))
        return body_of(graph, results)

    def _body(self, operator: syntax.Callee, args: Sequence[Leaves]) -> Task:
        names = [parameter.name for parameter in operator.parameters]
        frame = Frame(operator.nodes, dict(zip(names, args, strict=True)))
        outcome = yield self._block(frame, operator.body)
        if outcome is None or outcome.when is not None:
            raise WorkflowError(f"Operator '{operator.name}' does not return on every path.")
        return outcome.leaves

    def _block(self, frame: Frame, statements: Sequence[syntax.Statement]) -> Task:
        outcome: Returned | None = None
        for statement in statements:
            root = statement.condition if isinstance(statement, syntax.If) else statement.value
            value = yield self._evaluate(frame, root)
            match statement:
                case syntax.Assign():
                    frame.bind(statement.target, value)
                case syntax.Unpack():
                    self._unpack(frame, statement, value)
                case syntax.Return():
                    return self._then(outcome, Returned(value))
                case syntax.If():
                    found = yield self._branches(frame, statement, value[0])
                    outcome = self._then(outcome, found)
            if _always(outcome):
                break  # the statements after it are dead
        return outcome

    def _branches(self, frame: Frame, statement: syntax.If, condition: Ref) -> Task:
        frame.before.append({})
        then = yield self._block(frame, statement.then)
        ours = _leave_branch(frame)
        frame.before.append({})
        otherwise = yield self._block(frame, statement.otherwise)
        theirs = _leave_branch(frame)
        for name in dict.fromkeys((*ours, *theirs)):
            old = frame.variables.get(name)
            here, there = ours.get(name, old), theirs.get(name, old)
            if _always(then) != _always(otherwise):  # only the other path goes on
                here = there = there if _always(then) else here
            self._merge(frame, name, condition, here, there)
        return self._either(condition, then, otherwise)

    def _merge(
        self, frame: Frame, name: str, condition: Ref, ours: Leaves | None, theirs: Leaves | None
    ) -> None:
        merged = None
        if ours is not None and theirs is not None and len(ours) == len(theirs):
            merged = self._expressions.select(condition, ours, theirs)
        frame.bind(name, merged if merged is not None else ())
        if merged is None:  # bound in one branch only, hence undefined after the branch
            del frame.variables[name]

    def _either(
        self, condition: Ref, then: Returned | None, otherwise: Returned | None
    ) -> Returned | None:
        """Combine the results of the two branches of an `if`."""
        if then is None and otherwise is None:
            return None
        if then is None or otherwise is None:
            taken = then or otherwise
            assert taken is not None
            side = condition if then else self._graph.map("not", (condition,))
            when = side if taken.when is None else self._graph.map("and", (side, taken.when))
            return Returned(taken.leaves, when)
        result = self._expressions.select(condition, then.leaves, otherwise.leaves)
        if then.when is None and otherwise.when is None:
            return Returned(result)
        whens = [
            self._graph.literal("bool", "True") if each.when is None else each.when
            for each in (then, otherwise)
        ]
        return Returned(result, self._expressions.select(condition, (whens[0],), (whens[1],))[0])

    def _then(self, first: Returned | None, second: Returned | None) -> Returned | None:
        """Combine the results of two statements; the second runs where the first did not return."""
        if first is None or second is None:
            return first or second
        assert first.when is not None
        result = self._expressions.select(first.when, first.leaves, second.leaves)
        if second.when is None:
            return Returned(result)
        return Returned(result, self._graph.map("or", (first.when, second.when)))

    def _evaluate(self, frame: Frame, root: syntax.Ref) -> Task:
        for ref in frame.pending(root):
            node = frame.nodes[ref]
            if isinstance(node, syntax.Name):
                frame.done[ref] = frame.read(node.id)
            elif isinstance(node, syntax.CallOf):
                args = tuple(frame.done[arg] for arg in node.args)
                frame.done[ref] = yield self._called(node.callee, args)
            else:
                frame.done[ref] = self._expressions.value(frame.nodes, ref, frame.done)
        return frame.done[root]

    def _called(self, key: str, args: tuple[Leaves, ...]) -> Task:
        """Return the result of an operator; without a scan it does not depend on `levels`."""
        callee = self._operators[key]
        place = (key, args, self._levels if self._walked[key] else None)
        if place not in self._results:
            if isinstance(callee, syntax.Scan):
                self._results[place] = self._scan(key, callee, args)
            else:
                self._results[place] = yield self._body(callee, args)
        return self._results[place]

    def _unpack(self, frame: Frame, statement: syntax.Unpack, value: Leaves) -> None:
        type_ = frame.nodes[statement.value].type
        count = len(elements_of(type_))
        spare = count - len(statement.targets) + 1
        index = 0
        for position, name in enumerate(statement.targets):
            width = spare if position == statement.starred else 1
            start = self._expressions.place(type_, index)[0]
            index += width
            frame.bind(name, value[start : self._expressions.place(type_, index)[0]])


def _always(outcome: Returned | None) -> bool:
    return outcome is not None and outcome.when is None


def _leave_branch(frame: Frame) -> dict[str, Leaves]:
    """Return the bindings of the branch, and restore those from before it."""
    before = frame.before.pop()
    bound = {name: frame.variables[name] for name in before if name in frame.variables}
    for name, value in before.items():
        if value is None:
            frame.variables.pop(name, None)
        else:
            frame.variables[name] = value
    return bound
