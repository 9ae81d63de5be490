"""Put new rows into a program: what every pass ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from ..ir.dataflow import Dataflow, Map, Ref, Shift, Statement, Value
from .graph import Graph


def with_values(program: Dataflow, graph: Graph, place: Callable[[Ref], Ref]) -> Dataflow:
    """Return the program over the rows of `graph`; `place` says where an old row is now."""
    statements = tuple(
        Statement(tuple(attrs.evolve(store, value=place(store.value)) for store in each.stores))
        for each in program.statements
    )
    return attrs.evolve(program, values=tuple(graph.values), statements=statements)


def with_operands(value: Value, place: Callable[[Ref], Ref]) -> Value:
    """Return the value made from the rows at which its operands are now."""
    if isinstance(value, Map):
        return attrs.evolve(value, args=tuple(map(place, value.args)))
    if isinstance(value, Shift):
        return attrs.evolve(value, arg=place(value.arg))
    return value


def reachable(values: tuple[Value, ...], roots: Iterable[Ref]) -> list[Ref]:
    """Return the rows that `roots` are made from, roots included, ascending."""
    found = dict.fromkeys(roots)
    stack = list(found)
    while stack:
        for operand in values[stack.pop()].operands:
            if operand not in found:
                found[operand] = None
                stack.append(operand)
    return sorted(found)
