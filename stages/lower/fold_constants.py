"""Fold constants where the result is the same bit for bit.

The pass folds exact operations on literals (not `exp` or float `pow`, and no result that is NaN,
whose bits differ between machines), selects with a known condition, operations that change nothing
(`x * 1`, `x - 0`, `--x`, a cast to the same type), a cast of a lossless cast, and `x ** 1`, `x **
2`. It folds the bodies of scans with their literal arguments too. It leaves expressions whose
result may differ: `x + 0.0` (the sign of zero), `x * 0.0`, `x - x`, and any change of order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...runtime.language import FLOATS, INTEGERS, operations
from ...runtime.language.operation_table import TABLE
from ...runtime.process import classes
from ..ir.dataflow import Body, Dataflow, Literal, Map, Ref, Scalar, Scan, Table, Value
from ..ir.literal import number, spell
from .graph import Graph
from .rewrite import rebuilt, with_values
from .scans import body_of, trimmed

Known: TypeAlias = tuple[tuple[str, Literal], ...]  # the arguments of a body that are literals

INEXACT: Final = frozenset(row.name for row in TABLE if row.ulps)  # on floats


def fold_constants(program: Dataflow) -> Dataflow:
    """Replace known values by literals, and operations that change nothing by their operand."""
    graph = Graph()
    rows: list[Ref] = []
    tables = {table.name: table for table in program.tables}
    bodies: dict[tuple[Body, Known], Body] = {}
    for value in program.values:
        folded = value
        if isinstance(value, Scan):
            folded = _scan(value, [graph[rows[arg]] for arg in value.args], bodies)
        rows.append(_row(graph, folded, rows, tables))
    return with_values(program, graph, rows.__getitem__)


def _scan(scan: Scan, args: Sequence[Value], bodies: dict[tuple[Body, Known], Body]) -> Scan:
    """Fold the body of a scan and drop the arguments that it no longer needs."""
    known = tuple((f"a{index}", arg) for index, arg in enumerate(args) if isinstance(arg, Literal))
    if (scan.body, known) not in bodies:
        bodies[scan.body, known] = _body(scan.body, dict(known))
    body, kept = trimmed(bodies[scan.body, known], scan.args)
    return classes.evolve(scan, body=body, args=kept)


def _body(body: Body, known: dict[str, Literal]) -> Body:
    graph = Graph()
    rows: list[Ref] = []
    for value in body.values:
        literal = known.get(value.name) if isinstance(value, Scalar) else None
        rows.append(_row(graph, literal or value, rows, {}))
    return body_of(graph, tuple(rows[each] for each in body.results))


def _row(graph: Graph, value: Value, rows: Sequence[Ref], tables: Mapping[str, Table]) -> Ref:
    if isinstance(value, Map):
        return folded(graph, classes.evolve(value, args=tuple(rows[arg] for arg in value.args)))
    return rebuilt(graph, value, rows.__getitem__, tables)


def folded(graph: Graph, value: Map) -> Ref:
    """Add an operation on rows of a graph, or the simpler value that it is equal to."""
    numbers = [_known(graph, arg) for arg in value.args]
    known = None
    if all(each is not None for each in numbers):
        known = _computed(graph, value, numbers)
    if known is None:
        known = _simplified(graph, value, numbers)
    return graph.map(value.op, value.args, value.dtype) if known is None else known


def _known(graph: Graph, ref: Ref) -> Any:
    value = graph[ref]
    return number(value.text, value.dtype) if isinstance(value, Literal) else None


def _computed(graph: Graph, value: Map, numbers: list[Any]) -> Ref | None:
    if value.op in INEXACT and value.dtype in FLOATS:
        return None
    dtype = value.dtype if value.op == "cast" else None
    result = np.dtype(value.dtype).type(operations.apply(value.op, *numbers, dtype=dtype))
    if result != result:  # noqa: PLR0124 - a NaN
        return None
    return graph.literal(value.dtype, spell(result))


def _simplified(graph: Graph, value: Map, numbers: list[Any]) -> Ref | None:
    """Return the row of a simpler, equal value, or None."""
    args = value.args
    match value.op:
        case "cast":
            return _cast(graph, value)
        case "select":
            if args[1] == args[2]:
                return args[1]
            return None if numbers[0] is None else args[1] if numbers[0] else args[2]
        case "neg" | "not":
            inner = graph[args[0]]
            return inner.args[0] if isinstance(inner, Map) and inner.op == value.op else None
        case "and" | "or":
            return _logic(value, numbers)
        case "add" | "sub" | "mul" | "div" | "floordiv" | "pow":
            return _arithmetic(graph, value, numbers)
    return None


def _cast(graph: Graph, value: Map) -> Ref | None:
    (arg,) = value.args
    inner = graph[arg]
    if inner.dtype == value.dtype:
        return arg
    if isinstance(inner, Map) and inner.op == "cast":
        source = graph[inner.args[0]].dtype
        # a float outside the range of an integer saturates, an integer wraps
        saturates = inner.dtype in FLOATS and not keeps_values(source, value.dtype)
        if keeps_values(source, inner.dtype) and not (value.dtype in INTEGERS and saturates):
            if source == value.dtype:
                return inner.args[0]
            return graph.map("cast", inner.args, value.dtype)
    return None


def keeps_values(source: str, target: str) -> bool:
    """Tell whether a cast is lossless, so that a cast after it may skip it.

    >>> keeps_values("int32", "float64"), keeps_values("int64", "float64")
    (True, False)
    """
    return bool(np.can_cast(source, target, "safe")) and (source, target) not in (
        ("int64", "float64"),
        ("uint64", "float64"),
    )


def _logic(value: Map, numbers: list[Any]) -> Ref | None:
    left, right = value.args
    if left == right:
        return left
    for known, here, other in ((numbers[0], left, right), (numbers[1], right, left)):
        if known is not None:
            return other if bool(known) == (value.op == "and") else here
    return None


def _arithmetic(graph: Graph, value: Map, numbers: list[Any]) -> Ref | None:
    left, right = value.args
    op, (ours, theirs) = value.op, numbers
    integral = value.dtype not in FLOATS
    if theirs is not None:
        # x - 0.0 is x even for x = -0.0; x + 0.0 is not
        match op:
            case "sub" if theirs == 0 and (integral or not np.signbit(theirs)):
                return left
            case "add" if integral and theirs == 0:
                return left
            case "mul" | "div" | "pow" if theirs == 1:
                return left
            case "floordiv" if integral and theirs == 1:
                return left
            case "pow" if theirs == 2:
                return graph.map("mul", (left, left))
    if ours is not None and (
        (op == "mul" and ours == 1) or (op == "add" and integral and ours == 0)
    ):
        return right
    return None
