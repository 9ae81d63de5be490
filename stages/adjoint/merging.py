"""Merge scans that walk the same levels in one direction, where neither waits for the other.

A reversed scan of a tridiagonal solver needs what the forward one gives at the same level, or had
as its state: both are one sweep then. What is computed point by point between them moves into the
body.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ...runtime.process import classes
from ..ir.dataflow import (
    Body,
    Dataflow,
    Literal,
    Map,
    Ref,
    Region,
    Result,
    Scalar,
    Scan,
    Shift,
    Side,
    add,
)
from ..lower.boxes.infer_boxes import infer_boxes
from ..lower.graph import Graph
from ..lower.rewrite import with_operands, with_values
from ..lower.scans import trimmed

Inlined: TypeAlias = dict[Ref, tuple[str, int]]  # rows that are results or states of a scan


def merged(program: Dataflow) -> Dataflow:
    """Return the program with as few scans as its directions allow, none of which reads more."""
    reads = None
    pairs = _pairs(program)
    while (pair := next(pairs, None)) is not None:
        reads = reads or infer_boxes(program).reads
        made = pair.merged()
        if infer_boxes(made).reads == reads:
            program, pairs = made, _pairs(made)
    return program


def _pairs(program: Dataflow) -> Iterator[_Pair]:
    scans = [(row, each) for row, each in enumerate(program.values) if isinstance(each, Scan)]
    for later, (second, two) in enumerate(scans):
        for first, one in scans[:later]:
            if _walk(one) == _walk(two):
                pair = _Pair.of(program, first, second)
                if pair is not None:
                    yield pair


def _walk(scan: Scan) -> tuple[object, ...]:
    return scan.axis, scan.forward, scan.start, scan.stop, scan.dims


@classes.frozen(eq=False)
class _Pair:
    """Two scans, the rows that depend on the first, and those that its body knows."""

    program: Dataflow
    first: Ref
    second: Ref
    after: frozenset[Ref]
    known: Inlined

    @classmethod
    def of(cls, program: Dataflow, first: Ref, second: Ref) -> _Pair | None:
        """Return the pair if the second scan does not wait for the first."""
        values = program.values
        one, two = values[first], values[second]
        assert isinstance(one, Scan)
        assert isinstance(two, Scan)
        after: set[Ref] = {first}
        for row in range(first + 1, second):
            if any(each in after for each in values[row].operands):
                after.add(row)
        known: Inlined = {}
        stack = [arg for arg in two.args if arg in after]
        while stack:
            row = stack.pop()
            place = _place(program, row, first, one)
            if place is not None:
                known[row] = place
            elif isinstance(values[row], Map):
                stack += [each for each in values[row].operands if each in after]
            else:
                return None
        waits = any(each in after for each in two.init)
        return None if waits else cls(program, first, second, frozenset(after), known)

    def merged(self) -> Dataflow:
        """Return the program with one scan for both."""
        graph = Graph()
        rows: dict[Ref, Ref] = {}
        values = self.program.values
        one, two = values[self.first], values[self.second]
        assert isinstance(one, Scan)
        assert isinstance(two, Scan)
        before = range(self.second)
        for row in (row for row in before if row not in self.after):
            rows[row] = graph.add(with_operands(values[row], rows.__getitem__))
        body, args = self._body(one, two)
        body, kept = trimmed(body, tuple(rows[each] for each in args))
        init = tuple(rows[each] for each in (*one.init, *two.init))
        scan = graph.add(classes.evolve(one, body=body, init=init, args=kept))
        rows[self.first] = rows[self.second] = scan
        later = (row for row in before if row in self.after and row != self.first)
        for row in (*later, *range(self.second + 1, len(values))):
            value = with_operands(values[row], rows.__getitem__)
            if isinstance(value, Result) and self._is_second(row):
                value = classes.evolve(value, index=value.index + len(one.init))
            rows[row] = graph.add(value)
        return with_values(self.program, graph, rows.__getitem__)

    def _is_second(self, row: Ref) -> bool:
        value = self.program.values[row]
        return isinstance(value, Result) and value.scan == self.second

    def _body(self, one: Scan, two: Scan) -> tuple[Body, tuple[Ref, ...]]:
        """Return the body of both, and its arguments as rows of the program."""
        graph, args = Graph(), list(one.args)
        ours: list[Ref] = []
        for value in one.body.values:
            ours.append(graph.add(with_operands(value, ours.__getitem__)))
        results = tuple(ours[each] for each in one.body.results)
        found: dict[Ref, Ref] = {}

        def given(row: Ref) -> Ref:
            """Return a row of the program as one of the body, operands first."""
            stack = [row]
            while stack:
                each = stack[-1]
                value = self.program.values[each]
                inner = each in self.after and each not in self.known
                missing = [at for at in value.operands if at not in found] if inner else []
                stack += missing
                if missing:
                    continue
                found[stack.pop()] = self._given(graph, each, found, results, args)
            return found[row]

        theirs: list[Ref] = []
        for value in two.body.values:
            if isinstance(value, Scalar) and value.name[0] == "a":
                theirs.append(given(two.args[int(value.name[1:])]))
            elif isinstance(value, Scalar):
                name = f"s{len(one.init) + int(value.name[1:])}"
                theirs.append(graph.scalar(name, value.dtype))
            else:
                theirs.append(graph.add(with_operands(value, theirs.__getitem__)))
        both = (*results, *(theirs[each] for each in two.body.results))
        return Body(tuple(graph.values), both), tuple(args)

    def _given(
        self,
        graph: Graph,
        row: Ref,
        found: dict[Ref, Ref],
        results: tuple[Ref, ...],
        args: list[Ref],
    ) -> Ref:
        value = self.program.values[row]
        if row in self.known:
            kind, index = self.known[row]
            return results[index] if kind == "result" else graph.scalar(f"s{index}", value.dtype)
        if isinstance(value, Literal):
            return graph.add(value)
        if row in self.after:
            made = with_operands(value, found.__getitem__)
            return graph.add(classes.evolve(made, dims=()))
        args.append(row)
        return graph.scalar(f"a{len(args) - 1}", value.dtype)


def _place(program: Dataflow, row: Ref, first: Ref, scan: Scan) -> tuple[str, int] | None:
    """Return which result or state of a scan a row is; None if it is none."""
    value = program.values[row]
    if isinstance(value, Result) and value.scan == first:
        return "result", value.index
    if not isinstance(value, Region):
        return None
    before = program.values[value.otherwise]
    if (
        not isinstance(before, Shift)
        or before.onto is not before.dim
        or before.dim is not scan.axis
    ):
        return None
    result = program.values[before.arg]
    if not isinstance(result, Result) or result.scan != first:
        return None
    if scan.forward:
        side, by = Side(scan.axis, scan.start, add(scan.start, 1)), -1
    else:
        side, by = Side(scan.axis, add(scan.stop, -1), scan.stop), 1
    is_state = (value.boxes, before.offset) == (((side,),), by)
    return ("state", result.index) if is_state and value.then == scan.init[result.index] else None
