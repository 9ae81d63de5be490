"""Rebuild a program from new rows, the last step of every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ...runtime.language import union_of
from ...runtime.process import classes
from ..ir.column_rows import Column, GetAt, If, Set, SetAt
from ..ir.dataflow import (
    Collect,
    Dataflow,
    Displace,
    Gather,
    Level,
    Local,
    Map,
    Neighbours,
    Reduce,
    Ref,
    Region,
    Result,
    Scan,
    Shift,
    Statement,
    Table,
    Value,
)
from .graph import Graph


def with_values(program: Dataflow, graph: Graph, place: Callable[[Ref], Ref]) -> Dataflow:
    """Return the program over the rows of `graph`; `place` maps old rows to new ones."""
    statements = tuple(
        Statement(tuple(classes.evolve(store, value=place(store.value)) for store in each.stores))
        for each in program.statements
    )
    return classes.evolve(program, values=tuple(graph.values), statements=statements)


def with_operands(value: Value, place: Callable[[Ref], Ref]) -> Value:
    """Return the value with its operands replaced by `place`."""
    match value:
        case Map():
            return classes.evolve(value, args=tuple(map(place, value.args)))
        case Shift() | Gather() | Neighbours() | Collect() | Reduce() | Local() | Level():
            return classes.evolve(value, arg=place(value.arg))
        case Displace():
            return classes.evolve(value, arg=place(value.arg), by=place(value.by))
        case Region():
            then, otherwise = place(value.then), place(value.otherwise)
            return classes.evolve(value, then=then, otherwise=otherwise)
        case Scan() | Column():
            init, args = tuple(map(place, value.init)), tuple(map(place, value.args))
            return classes.evolve(value, init=init, args=args)
        case Result():
            return classes.evolve(value, scan=place(value.scan))
        case GetAt():
            return classes.evolve(value, at=place(value.at))
        case Set():
            return classes.evolve(value, value=place(value.value))
        case SetAt():
            return classes.evolve(value, at=place(value.at), value=place(value.value))
        case If():
            return classes.evolve(value, test=place(value.test))
    return value


def rebuilt(
    graph: Graph, value: Value, place: Callable[[Ref], Ref], tables: Mapping[str, Table]
) -> Ref:
    """Add the value with its operands replaced by `place`, and compute its dimensions anew."""
    match value:
        case Map():
            return graph.map(value.op, map(place, value.args), value.dtype)
        case Shift():
            return graph.shift(place(value.arg), value.dim, value.offset, value.onto)
        case Displace():
            return graph.displace(place(value.arg), value.dim, place(value.by))
        case Gather():
            return graph.gather(place(value.arg), tables[value.table], value.index)
        case Neighbours():
            return graph.neighbours(place(value.arg), tables[value.table])
        case Collect():
            back = tables[value.table], tables[value.slots]
            return graph.collect(place(value.arg), *back, value.index)
        case Reduce():
            return graph.reduce(value.op, place(value.arg), tables[value.table])
        case Local():
            return graph.local(place(value.arg), value.dim, value.index)
        case Level():
            return graph.level(place(value.arg), value.dim, value.at)
        case Region():
            return graph.region(value.boxes, place(value.then), place(value.otherwise))
        case Scan() | Column():
            moved = with_operands(value, place)
            dims = union_of([(value.axis,), *(graph[each].dims for each in moved.operands)])
            return graph.add(classes.evolve(moved, dims=dims))
        case Result():
            scan = place(value.scan)
            made = graph[scan]
            dims = made.dims_of(value.index) if isinstance(made, Column) else made.dims
            return graph.add(classes.evolve(value, scan=scan, dims=dims))
    return graph.add(value)


def reachable(values: tuple[Value, ...], roots: Iterable[Ref]) -> list[Ref]:
    """Return the rows that `roots` depend on, including `roots`, in ascending order."""
    found = dict.fromkeys(roots)
    stack = list(found)
    while stack:
        for operand in values[stack.pop()].operands:
            if operand not in found:
                found[operand] = None
                stack.append(operand)
    return sorted(found)


def remove_dead(program: Dataflow) -> Dataflow:
    """Keep only the rows that the stores need, in their order."""
    return without_dead(program)[0]


def without_dead(program: Dataflow) -> tuple[Dataflow, dict[Ref, Ref]]:
    """Return the program without dead values, and the new place of each row that is left."""
    roots = (store.value for statement in program.statements for store in statement.stores)
    graph = Graph()
    rows: dict[Ref, Ref] = {}
    for row in reachable(program.values, roots):
        rows[row] = graph.add(with_operands(program.values[row], rows.__getitem__))
    return with_values(program, graph, rows.__getitem__), rows
