"""Make conditions numbers: loops that load bools beside wider numbers compute few points at once.

`select c a b` becomes `select (ne (select c 1.0 0.0) 0.0) a b`. Where the condition is stored, the
number is; where it is not, compilers see through it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...runtime.language import FLOATS
from ..ir.dataflow import Dataflow, Input, Map, Ref, Value
from ..lower.graph import Graph
from ..lower.rewrite import with_operands, with_values
from .rows import Rows


def flagged(program: Dataflow) -> Dataflow:
    """Return the program with numbers for conditions that vary over points."""
    graph = Graph()
    rows: list[Ref] = []
    for value in program.values:
        made = with_operands(value, rows.__getitem__)
        if isinstance(made, Map) and made.op == "select" and made.dtype in FLOATS:
            condition, *sides = _asserted(graph, made.args)
            if _may_be_stored(graph[condition]):
                condition = _as_flag(Rows(graph), condition, made.dtype)
            made = graph[graph.map("select", (condition, *sides), made.dtype)]
        rows.append(graph.add(made))
    return with_values(program, graph, rows.__getitem__)


def _asserted(graph: Graph, args: Sequence[Ref]) -> Sequence[Ref]:
    """Return the operands of a choice without a 'not': both sides of a choice test one number."""
    condition, then, otherwise = args
    value = graph[condition]
    is_not = isinstance(value, Map) and value.op == "not"
    return (value.operands[0], otherwise, then) if is_not else args


def _may_be_stored(condition: Value) -> bool:
    return bool(condition.dims) and not isinstance(condition, Input)


def _as_flag(rows: Rows, condition: Ref, dtype: str) -> Ref:
    flag = rows.apply("select", condition, rows.literal(1.0, dtype), rows.literal(0.0, dtype))
    return rows.apply("ne", flag, rows.literal(0.0, dtype))
