"""The tangent of a program: beside each value, how it moves when the inputs move.

A statement writes the tangents of its outputs together with them, so that versions of fields agree.
The rows of the program stay as they are, and so do the bits of its outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ...runtime.process import DerivativeError, classes
from ..ir.dataflow import (
    Body,
    Dataflow,
    Displace,
    Input,
    Leaf,
    Map,
    OfOne,
    Reduce,
    Ref,
    Region,
    Result,
    Scalar,
    Scan,
    Statement,
    Store,
    Table,
    Value,
)
from ..lower.graph import Graph
from ..lower.rewrite import rebuilt, with_operands
from ..lower.scans import body_of, trimmed
from .names import partner
from .rows import Rows, derivative_of, is_float

Tangent: TypeAlias = Ref | None  # None is 0


def tangent(
    program: Dataflow, wrt: Sequence[str], of: Sequence[str], names: str, leaves: Sequence[Leaf]
) -> Dataflow:
    """Return the program with tangents.

    `wrt` and `of` are the parameters whose values at entry are active, and those that have a
    partner because they are written. `leaves` are those of the result.
    """
    return _Tangents(program, frozenset(wrt), frozenset(of), names).result(leaves)


@classes.define(eq=False)
class _Tangents:
    program: Dataflow
    wrt: frozenset[str]
    of: frozenset[str]
    names: str
    graph: Graph = classes.field(factory=Graph)
    place: dict[Ref, Ref] = classes.field(factory=dict)
    tangents: dict[Ref, Tangent] = classes.field(factory=dict)
    walked: dict[Ref, tuple[tuple[Ref, ...], tuple[Tangent, ...]]] = classes.field(factory=dict)

    def result(self, leaves: Sequence[Leaf]) -> Dataflow:
        """Return the program with its tangents."""
        for row, value in enumerate(self.program.values):
            self._add(row, value)
        self._check_versions()
        statements = tuple(
            Statement(tuple(each for store in old.stores for each in self._stores(store)))
            for old in self.program.statements
        )
        return classes.evolve(
            self.program,
            parameters=_parameters(leaves),
            leaves=tuple(leaves),
            values=tuple(self.graph.values),
            statements=statements,
        )

    def _check_versions(self) -> None:
        """Refuse what is written and read again and has no place for its tangent."""
        inputs = (each for each in self.program.values if isinstance(each, Input))
        again = {each.name for each in inputs if each.version}
        stores = (store for each in self.program.statements for store in each.stores)
        for store in stores:
            parameter = store.target.partition(".")[0]
            is_lost = parameter not in self.of and self.tangents[store.value] is not None
            if is_lost and store.target in again:
                raise DerivativeError(
                    f"The program writes '{store.target}' and reads it again, and '{parameter}' "
                    "cannot have a tangent, because it is no collection of fields of floats.",
                    hint="Give fields of other types a collection of their own.",
                )

    def _stores(self, store: Store) -> Iterator[Store]:
        value = self.place[store.value]
        yield classes.evolve(store, value=value)
        if store.target.partition(".")[0] in self.of:
            found = self.tangents[store.value]
            if found is None:
                found = Rows(self.graph).number(0.0, value)
            yield classes.evolve(store, target=partner(store.target, self.names), value=found)

    def _add(self, row: Ref, value: Value) -> None:
        if isinstance(value, Scan):
            self.walked[row] = self._scanned(value)
            return
        if isinstance(value, Result):
            results, tangents = self.walked[value.scan]
            self.place[row] = results[value.index]
            self.tangents[row] = tangents[value.index]
            return
        self.place[row] = self.graph.add(with_operands(value, self.place.__getitem__))
        self.tangents[row] = self._tangent(value, self.place[row]) if is_float(value) else None

    def _tangent(self, value: Value, row: Ref) -> Tangent:
        match value:
            case Input() | Scalar():
                return self._of_input(value)
            case Map():
                args = [(self.place[arg], self.tangents[arg]) for arg in value.args]
                return of_map(Rows(self.graph), value, row, args)
            case Region():
                then, otherwise = (self.tangents[each] for each in value.operands)
                if then is None and otherwise is None:
                    return None
                zero = Rows(self.graph).number(0.0, row)
                sides = (zero if each is None else each for each in (then, otherwise))
                return self.graph.region(value.boxes, *sides)
            case Reduce() if value.op != "sum":
                return self._of_extreme(value)
            case OfOne() | Displace():
                moved = self.tangents[value.operands[0]]
                if moved is None:
                    return None
                operands = {value.operands[0]: moved}
                return rebuilt(
                    self.graph,
                    value,
                    lambda each: operands.get(each, self.place.get(each, each)),
                    self._tables,
                )
        return None

    @property
    def _tables(self) -> Mapping[str, Table]:
        return {table.name: table for table in self.program.tables}

    def _of_input(self, value: Input | Scalar) -> Tangent:
        parameter, name = value.name.partition(".")[0], partner(value.name, self.names)
        if isinstance(value, Scalar):
            return self.graph.scalar(name, value.dtype) if parameter in self.wrt else None
        if parameter in self.wrt or (value.version and parameter in self.of):
            return self.graph.input(name, value.dims, value.dtype, value.version)
        return None

    def _of_extreme(self, value: Reduce) -> Tangent:
        """Follow the slot that a fold by `max` or `min` takes; on ties the last."""
        moved = self.tangents[value.arg]
        if moved is None:
            return None
        table = self._tables[value.table]
        if table.skip or not table.width:
            raise DerivativeError(
                f"The derivative of '{value.op}_over' by table '{value.table}', in which "
                "neighbours may be missing, is not there yet."
            )
        rows, arg = Rows(self.graph), self.place[value.arg]
        slots = [
            tuple(self.graph.local(each, table.local, slot) for each in (arg, moved))
            for slot in range(table.width)
        ]
        op, compare = ("maximum", "gt") if value.op == "max" else ("minimum", "lt")
        best, found = slots[0]
        for other, its in slots[1:]:
            found = rows.apply("select", rows.apply(compare, best, other), found, its)
            best = rows.apply(op, best, other)
        return found

    def _scanned(self, scan: Scan) -> tuple[tuple[Ref, ...], tuple[Tangent, ...]]:
        """Add a scan that carries the tangents too; return its results and their tangents."""
        init = [self.tangents[each] for each in scan.init]
        args = [self.tangents[each] for each in scan.args]
        body, active = with_tangents(
            scan.body,
            frozenset(index for index, each in enumerate(init) if each is not None),
            tuple(index for index, each in enumerate(args) if each is not None),
            len(scan.args),
        )
        rows = Rows(self.graph)
        firsts = [
            rows.number(0.0, self.place[scan.init[index]]) if init[index] is None else init[index]
            for index in active
        ]
        given = [
            *(self.place[each] for each in scan.args),
            *(each for each in args if each is not None),
        ]
        body, kept = trimmed(body, tuple(given))
        results = self.graph.scan(
            body,
            (
                *(self.place[each] for each in scan.init),
                *(each for each in firsts if each is not None),
            ),
            kept,
            scan.axis,
            scan.forward,
            (scan.start, scan.stop),
        )
        count = len(scan.init)
        moved = dict(zip(active, results[count:], strict=True))
        return results[:count], tuple(moved.get(index) for index in range(count))


def _parameters(leaves: Sequence[Leaf]) -> tuple[str, ...]:
    """Return the names of the parameters that have leaves, in order."""
    return tuple(dict.fromkeys(leaf.name.partition(".")[0] for leaf in leaves))


def of_map(rows: Rows, value: Map, row: Ref, args: Sequence[tuple[Ref, Tangent]]) -> Tangent:
    """Return the tangent of an operation, from its arguments and their tangents."""
    moved = [place for place, (_, each) in enumerate(args) if each is not None]
    if not moved:
        return None
    operands = [each for each, _ in args]
    derivative = derivative_of(classes.evolve(value, args=tuple(operands)), rows.graph.values)
    if derivative.takes_first is not None:
        return _taken(rows, value, operands, [each for _, each in args[-2:]])
    found = []
    for place in moved:
        tangent = args[place][1]
        if tangent is not None and derivative.varies_with(place):
            if value.op == "cast":
                found.append(rows.cast(tangent, value.dtype))
            else:
                found.append(derivative.pull(place, rows, tangent, row, operands))
    return rows.sum(found) if found else None


def _taken(rows: Rows, value: Map, operands: Sequence[Ref], moved: Sequence[Tangent]) -> Ref:
    derivative = derivative_of(value)
    condition = derivative.first_taken(rows, operands)
    sides = [rows.literal(0.0, value.dtype) if each is None else each for each in moved]
    return rows.apply("select", condition, *sides)


def with_tangents(
    body: Body, state: frozenset[int], args: Sequence[int], count: int
) -> tuple[Body, tuple[int, ...]]:
    """Return the body of a scan that carries tangents, and the leaves of the state that have some.

    `state` are the leaves whose first state is active, `args` the active ones of `count` arguments.
    """
    while True:
        active = tuple(sorted(state))
        made, found = _body(body, active, args, count)
        if found <= state:
            return made, active
        state |= found


def _body(
    body: Body, active: Sequence[int], args: Sequence[int], count: int
) -> tuple[Body, frozenset[int]]:
    """Return a body with the tangents of some leaves, and the leaves that have one then."""
    graph = Graph()
    rows: dict[Ref, Ref] = {}
    rows_of = Rows(graph)
    tangents: dict[Ref, Tangent] = {}
    width = len(body.results)
    named = {f"s{index}": f"s{width + place}" for place, index in enumerate(active)}
    named |= {f"a{index}": f"a{count + place}" for place, index in enumerate(args)}
    for row, value in enumerate(body.values):
        rows[row] = graph.add(with_operands(value, rows.__getitem__))
        tangents[row] = None
        if isinstance(value, Scalar) and value.name in named:
            tangents[row] = graph.scalar(named[value.name], value.dtype)
        elif isinstance(value, Map) and is_float(value):
            given = [(rows[arg], tangents[arg]) for arg in value.args]
            tangents[row] = of_map(rows_of, value, rows[row], given)
    found = frozenset(place for place, row in enumerate(body.results) if tangents[row] is not None)
    results = [rows[each] for each in body.results]
    for index in active:
        moved = tangents[body.results[index]]
        results.append(rows_of.number(0.0, results[index]) if moved is None else moved)
    return body_of(graph, tuple(results)), found
