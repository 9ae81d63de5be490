"""Normal form: shifts move to the inputs, so that equal computations are equal rows.

    shift(add(u, v), I+1)   becomes   add(shift(u, I+1), shift(v, I+1))

Shifts of shifts add up, shifts of what does not vary along their dimension vanish,
and a value moved by the same net offsets in two ways is one row. A chain of shifts has each
dimension once, in the order of the value's dimensions.

Cost rule: a value that is asked for at more than `SPREAD` different offsets keeps its
shifts, and the count starts again below it. Otherwise a chain of n stencils would
become n**2 rows or more; as it is, a program grows at most `SPREAD` times. `codegen` decides for
each such value whether it becomes memory.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ...runtime.dimension import Dimension
from ..ir.dataflow import Dataflow, Map, Ref, Shift, Value
from .graph import Graph
from .rewrite import with_values

SPREAD: Final = 16

Offsets: TypeAlias = tuple[int, ...]  # one for each dimension of the value
Demand: TypeAlias = dict[Offsets, None]  # an ordered set


def push_shifts(program: Dataflow) -> Dataflow:
    """Move shifts to the inputs, but for values that too many offsets are asked of."""
    demands = _demands(program)
    graph = Graph()
    rows: list[dict[Offsets, Ref]] = []
    for value, demand in zip(program.values, demands, strict=True):
        rows.append(_rebuild(graph, value, demand, program.values, rows))
    return with_values(program, graph, lambda ref: rows[ref][_still(program.values[ref])])


def _demands(program: Dataflow) -> list[Demand]:
    """Return the offsets at which each value is asked for, from the stores backwards."""
    values = program.values
    demands: list[Demand] = [{} for _ in values]
    for statement in program.statements:
        for store in statement.stores:
            demands[store.value][_still(values[store.value])] = None
    for row in range(len(values) - 1, -1, -1):
        value, demand = values[row], demands[row]
        if _is_kept(value, demand):
            demand = {_still(value): None}
        for offsets in demand:
            moved = _moved(value, offsets)
            for operand in value.operands:
                demands[operand][_onto(values[operand].dims, value.dims, moved)] = None
    return demands


def _rebuild(
    graph: Graph,
    value: Value,
    demand: Demand,
    values: tuple[Value, ...],
    rows: list[dict[Offsets, Ref]],
) -> dict[Offsets, Ref]:
    """Add the rows of one value at all of its offsets."""

    def operands(offsets: Offsets) -> list[Ref]:
        moved = _moved(value, offsets)
        return [rows[each][_onto(values[each].dims, value.dims, moved)] for each in value.operands]

    if isinstance(value, Shift):
        return {offsets: operands(offsets)[0] for offsets in demand}
    if isinstance(value, Map) and not _is_kept(value, demand):
        return {o: graph.map(value.op, operands(o), value.dtype) for o in demand}
    if not demand:
        return {}
    if isinstance(value, Map):
        base = graph.map(value.op, operands(_still(value)), value.dtype)
    else:
        base = graph.add(value)
    return {offsets: _shifted(graph, base, value.dims, offsets) for offsets in demand}


def _is_kept(value: Value, demand: Demand) -> bool:
    return isinstance(value, Map) and len(demand) > SPREAD


def _moved(value: Value, offsets: Offsets) -> Offsets:
    if not isinstance(value, Shift):
        return offsets
    axis = value.dims.index(value.dim)
    return (*offsets[:axis], offsets[axis] + value.offset, *offsets[axis + 1 :])


def _onto(dims: tuple[Dimension, ...], given: tuple[Dimension, ...], offsets: Offsets) -> Offsets:
    """Return the offsets along `dims` only."""
    if dims == given:
        return offsets
    ahead = dict(zip(given, offsets, strict=True))
    return tuple(ahead[dim] for dim in dims)


def _still(value: Value) -> Offsets:
    return (0,) * len(value.dims)


def _shifted(graph: Graph, base: Ref, dims: tuple[Dimension, ...], offsets: Offsets) -> Ref:
    for dim, offset in zip(dims, offsets, strict=True):
        base = graph.shift(base, dim, offset)
    return base
