"""Inline operators: run their bodies symbolically, with rows of a graph in place of numbers.

A tuple is the row of each of its leaves, depth first; a variable is its latest
version. Operators call operators as deep as they like: a body is a generator that
asks for the result of another one, and a worklist keeps those that wait. A
call with the same arguments as an earlier one has its result.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from ...runtime.errors import WorkflowError
from ...runtime.types import CollectionType, TupleType, Type, leaves
from ..ir import syntax
from ..ir.dataflow import Ref
from .graph import Graph

Leaves: TypeAlias = tuple[Ref, ...]
Task: TypeAlias = Generator["Task", Any, Any]


@attrs.frozen
class Returned:
    """The result of a path; `when` is the condition under which it was taken, None for always."""

    leaves: Leaves
    when: Ref | None = None


@attrs.define
class Frame:
    """One table of expressions being evaluated: its variables, and the rows done so far."""

    nodes: tuple[syntax.Expression, ...]
    variables: dict[str, Leaves]
    done: dict[syntax.Ref, Leaves] = attrs.field(factory=dict)
    before: list[dict[str, Leaves | None]] = attrs.field(factory=list)

    def bind(self, name: str, value: Leaves) -> None:
        """Give a variable a new version, and remember the one that it had before the branch."""
        if self.before:
            self.before[-1].setdefault(name, self.variables.get(name))
        self.variables[name] = value

    def read(self, name: str) -> Leaves:
        """Return the latest version of a variable."""
        if name not in self.variables:
            raise WorkflowError(f"Name '{name}' is read before it is bound; 'parse' let it pass.")
        return self.variables[name]

    def pending(self, root: syntax.Ref) -> Iterator[syntax.Ref]:
        """Yield what must still be evaluated for `root`, operands before their users."""
        found = {root} - self.done.keys()
        stack = list(found)
        while stack:
            for ref in operands(self.nodes[stack.pop()]):
                if ref not in found and ref not in self.done:
                    found.add(ref)
                    stack.append(ref)
        return iter(sorted(found))


class Inliner:
    """Evaluates operators into a graph."""

    def __init__(self, graph: Graph, operators: Mapping[str, syntax.Operator]) -> None:
        self._graph: Final = graph
        self._operators: Final = operators
        self._results: Final[dict[tuple[str, tuple[Leaves, ...]], Leaves]] = {}
        self._sizes: Final[dict[Type, int]] = {}

    def call(self, operator: syntax.Operator, args: Sequence[Leaves]) -> Leaves:
        """Return the leaves of what `operator` returns for these arguments."""
        result: Leaves = _finish(self._body(operator, args))
        return result

    def expression(self, frame: Frame, root: syntax.Ref) -> Leaves:
        """Return the leaves of one expression."""
        result: Leaves = _finish(self._evaluate(frame, root))
        return result

    def _body(self, operator: syntax.Operator, args: Sequence[Leaves]) -> Task:
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
                break  # what follows is dead
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
            merged = self._select(condition, ours, theirs)
        frame.bind(name, merged if merged is not None else ())
        if merged is None:  # bound in one branch only: undefined from here on
            del frame.variables[name]

    def _either(
        self, condition: Ref, then: Returned | None, otherwise: Returned | None
    ) -> Returned | None:
        """Return what an `if` returns, from what its branches return."""
        if then is None and otherwise is None:
            return None
        if then is None or otherwise is None:
            taken = then or otherwise
            assert taken is not None
            side = condition if then else self._graph.map("not", (condition,))
            when = side if taken.when is None else self._graph.map("and", (side, taken.when))
            return Returned(taken.leaves, when)
        result = self._select(condition, then.leaves, otherwise.leaves)
        if then.when is None and otherwise.when is None:
            return Returned(result)
        whens = [
            self._graph.literal("bool", "True") if each.when is None else each.when
            for each in (then, otherwise)
        ]
        return Returned(result, self._select(condition, (whens[0],), (whens[1],))[0])

    def _then(self, first: Returned | None, second: Returned | None) -> Returned | None:
        """Return what two statements return of which the second runs where the first did not."""
        if first is None or second is None:
            return first or second
        assert first.when is not None
        result = self._select(first.when, first.leaves, second.leaves)
        if second.when is None:
            return Returned(result)
        return Returned(result, self._graph.map("or", (first.when, second.when)))

    def _evaluate(self, frame: Frame, root: syntax.Ref) -> Task:
        for ref in frame.pending(root):
            node = frame.nodes[ref]
            if not isinstance(node, syntax.CallOf):
                frame.done[ref] = self._node(frame, node)
                continue
            args = tuple(frame.done[arg] for arg in node.args)
            key = (node.callee, args)
            if key not in self._results:
                self._results[key] = yield self._body(self._operators[node.callee], args)
            frame.done[ref] = self._results[key]
        return frame.done[root]

    def _node(self, frame: Frame, node: syntax.Expression) -> Leaves:
        graph, done = self._graph, frame.done
        match node:
            case syntax.Name():
                return frame.read(node.id)
            case syntax.Literal():
                return (graph.literal(str(node.type), node.text),)
            case syntax.Operation():
                return (graph.map(node.op, [done[arg][0] for arg in node.args]),)
            case syntax.Select():
                return self._select(done[node.condition][0], done[node.then], done[node.otherwise])
            case syntax.TupleOf():
                return tuple(leaf for element in node.elements for leaf in done[element])
            case syntax.Element():
                start, stop = self._place(frame.nodes[node.of].type, node.index)
                return done[node.of][start:stop]
            case syntax.ShiftBy():
                return (graph.shift(done[node.field][0], node.dim, node.offset),)
            case syntax.Broadcast():
                return done[node.arg]
            case syntax.Cast():
                return self._cast(done[node.arg], node.type)
        raise WorkflowError(f"'{type(node).__name__}' is not supported by 'lower' yet.")

    def _select(self, condition: Ref, then: Leaves, otherwise: Leaves) -> Leaves:
        return tuple(
            a if a == b else self._graph.map("select", (condition, a, b))
            for a, b in zip(then, otherwise, strict=True)
        )

    def _cast(self, values: Leaves, type_: Type) -> Leaves:
        dtypes = [str(getattr(leaf, "dtype", leaf)) for _, leaf in leaves(type_)]
        return tuple(
            value
            if self._graph[value].dtype == dtype
            else self._graph.map("cast", (value,), dtype=dtype)
            for value, dtype in zip(values, dtypes, strict=True)
        )

    def _unpack(self, frame: Frame, statement: syntax.Unpack, value: Leaves) -> None:
        type_ = frame.nodes[statement.value].type
        count = len(_elements(type_))
        spare = count - len(statement.targets) + 1
        index = 0
        for position, name in enumerate(statement.targets):
            width = spare if position == statement.starred else 1
            start = self._place(type_, index)[0]
            index += width
            frame.bind(name, value[start : self._place(type_, index)[0]])

    def _place(self, type_: Type, index: int) -> tuple[int, int]:
        """Return where the leaves of one element of a tuple begin and end."""
        sizes = [self._size(element) for element in _elements(type_)]
        start = sum(sizes[:index])
        return start, start + sum(sizes[index : index + 1])

    def _size(self, type_: Type) -> int:
        if type_ not in self._sizes:
            self._sizes[type_] = sum(1 for _ in leaves(type_))
        return self._sizes[type_]


def operands(node: syntax.Expression) -> tuple[syntax.Ref, ...]:
    """Return the rows that an expression is made from, in the order of evaluation."""
    match node:
        case syntax.Operation() | syntax.CallOf():
            return node.args
        case syntax.Select():
            return node.condition, node.then, node.otherwise
        case syntax.TupleOf():
            return node.elements
        case syntax.Element():
            return (node.of,)
        case syntax.ShiftBy():
            return (node.field,)
        case syntax.Broadcast() | syntax.Cast():
            return (node.arg,)
    return ()


def _elements(type_: Type) -> tuple[Type, ...]:
    if not isinstance(type_, TupleType | CollectionType):
        raise WorkflowError(f"Expected a tuple, got '{type_}'; 'parse' let it pass.")
    return type_.elements


def _always(outcome: Returned | None) -> bool:
    return outcome is not None and outcome.when is None


def _leave_branch(frame: Frame) -> dict[str, Leaves]:
    """Return what the branch bound, and restore what stood before it."""
    before = frame.before.pop()
    bound = {name: frame.variables[name] for name in before if name in frame.variables}
    for name, value in before.items():
        if value is None:
            frame.variables.pop(name, None)
        else:
            frame.variables[name] = value
    return bound


def _finish(task: Task) -> Any:
    """Run a task and those that it asks for, one at a time and without recursion."""
    stack, result = [task], None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as stop:
            stack.pop()
            result = stop.value
    return result
