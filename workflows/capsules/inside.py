"""Find the row inside an operator where two executions part: its operands agree, it differs.

The operator is cut after a row, which becomes its result, and both executions run again. The
search starts at the result and follows operands that differ; where a call differs and its arguments
agree, it goes on inside the callee. Rows of tuples, scans and branches end it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from ...runtime.language import (
    CollectionType,
    DataType,
    Dimension,
    FieldType,
    ScalarType,
    TupleType,
)
from ...runtime.process import classes
from ...stages.artifacts import Parsed
from ...stages.ir import syntax
from ...stages.ir.syntax import Ref
from ...stages.lower.expressions import operands

Differs: TypeAlias = Callable[[Parsed], bool]
Frames: TypeAlias = tuple[tuple[syntax.Operator, Ref], ...]  # the calls above, outermost first
MOST_RUNS: Final = 100
LONGEST: Final = 100
SIGNS: Final = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "eq": "==", "ne": "!=", "and": "&", "or": "|",
}  # fmt: skip


@classes.frozen
class Place:
    """A row of an operator: the names of the operators around it, and its expression."""

    operators: tuple[str, ...]
    row: Ref
    expression: str
    variable: str

    @property
    def text(self) -> str:
        """The place as a sentence."""
        inside = " in ".join(f"'{name}'" for name in reversed(self.operators))
        named = f", which makes '{self.variable}'" if self.variable else ""
        return f"inside: row %{self.row} of operator {inside}: {self.expression}{named}"


def find_inside(parsed: Parsed, differs: Differs) -> Place | None:
    """Return where the last statement of a program, or an operator, begins to differ.

    Args:
        parsed: its result differs.
        differs: runs a program in both executions, and tells whether the results differ.

    """
    operators = dict(parsed.operators)
    top = _callee(parsed, operators)
    if not isinstance(top, syntax.Operator) or not _is_straight(top):
        return None
    frames: Frames = ()
    operator, row = top, _result(top)
    for _ in range(MOST_RUNS):
        wrong = next(
            (ref for ref in _operands(operator, row)
             if _cut(parsed, (*frames, (operator, ref)), differs)), None
        )  # fmt: skip
        if wrong is not None:
            row = wrong
            continue
        node = operator.nodes[row]
        callee = operators.get(node.callee) if isinstance(node, syntax.CallOf) else None
        if not isinstance(callee, syntax.Operator) or not _is_straight(callee):
            break
        if not isinstance(callee.result, FieldType | ScalarType):
            break
        frames, operator = (*frames, (operator, row)), callee
        row = _result(operator)
    names = tuple(each.name for each, _ in (*frames, (operator, row)))
    return Place(names, row, _expression(operator, row)[:LONGEST], _variable(operator, row))


def _cut(parsed: Parsed, frames: Frames, differs: Differs) -> bool:
    """Tell whether the executions differ when the innermost row is the result."""
    cut = _with_result(parsed, frames)
    return cut is not None and differs(cut)


def _with_result(parsed: Parsed, frames: Frames) -> Parsed | None:
    """Return the program whose result is the innermost row; None if that does not fit."""
    made: dict[str, syntax.Operator] = {}
    inner: tuple[str, DataType] | None = None
    for depth in reversed(range(len(frames))):
        operator, row = frames[depth]
        nodes = list(operator.nodes[: row + 1])
        call = nodes[row]
        if inner is not None:
            assert isinstance(call, syntax.CallOf)
            nodes[row] = classes.evolve(call, callee=inner[0], type=inner[1])
        type_ = nodes[row].type
        result: Ref | None = row
        if depth == 0:
            result, type_ = _fitted(nodes, row, operator.result), operator.result
        if result is None or not isinstance(type_, FieldType | ScalarType | TupleType):
            return None
        kept = [each for each in operator.body if _value(each) <= row]
        body = (*(each for each in kept if not isinstance(each, syntax.Return)),
                syntax.Return(result))  # fmt: skip
        key = f"{operator.name}:{depth:016x}"
        made[key] = classes.evolve(operator, nodes=tuple(nodes), body=body, result=type_)
        inner = key, type_
    assert inner is not None
    root = parsed.root
    every = tuple(sorted((dict(parsed.operators) | made).items()))
    if not isinstance(root, syntax.Program):
        return Parsed(made[inner[0]], every)
    last = classes.evolve(root.body[-1], callee=inner[0])
    return Parsed(classes.evolve(root, body=(*root.body[:-1], last)), every)


def _fitted(nodes: list[syntax.Expression], row: Ref, wanted: DataType) -> Ref | None:
    """Add rows that make a row a value of the type of the result; None if no part takes it."""
    given = nodes[row].type
    if not isinstance(given, FieldType | ScalarType):
        return None
    if isinstance(wanted, TupleType | CollectionType):
        parts = [_fitted(nodes, row, each) for each in _parts(wanted)]
        if all(part is None for part in parts):
            return None
        refs = [
            _zero(nodes, each) if part is None else part
            for part, each in zip(parts, _parts(wanted), strict=True)
        ]
        return _add(nodes, syntax.TupleOf(elements=tuple(refs), type=wanted))
    dims, dtype = _dims(given), _dtype(given)
    if not set(dims) <= set(_dims(wanted)):
        return None
    if dtype != _dtype(wanted):
        cast = FieldType(dims, _dtype(wanted)) if dims else _dtype(wanted)
        row = _add(nodes, syntax.Cast(arg=row, type=cast))
    if dims != _dims(wanted):
        row = _add(nodes, syntax.Broadcast(arg=row, type=wanted))
    return row


def _parts(wanted: TupleType | CollectionType) -> tuple[DataType, ...]:
    return wanted.elements  # type: ignore[return-value]  # data is made of data


def _zero(nodes: list[syntax.Expression], wanted: DataType) -> Ref:
    if isinstance(wanted, TupleType | CollectionType):
        parts = tuple(_zero(nodes, each) for each in _parts(wanted))
        return _add(nodes, syntax.TupleOf(elements=parts, type=wanted))
    dtype = _dtype(wanted)
    text = {"bool": "False", "float32": "0.0", "float64": "0.0"}.get(dtype.name, "0")
    row = _add(nodes, syntax.Literal(text=text, type=dtype))
    return _add(nodes, syntax.Broadcast(arg=row, type=wanted)) if _dims(wanted) else row


def _add(nodes: list[syntax.Expression], node: syntax.Expression) -> Ref:
    nodes.append(node)
    return len(nodes) - 1


def _dims(type_: DataType) -> tuple[Dimension, ...]:
    return type_.dims if isinstance(type_, FieldType) else ()


def _dtype(type_: DataType) -> ScalarType:
    assert isinstance(type_, FieldType | ScalarType)
    return type_.dtype if isinstance(type_, FieldType) else type_


# --- operators ------------------------------------------------------------------------------------


def _callee(parsed: Parsed, operators: dict[str, syntax.Callee]) -> syntax.Root:
    root = parsed.root
    return operators[root.body[-1].callee] if isinstance(root, syntax.Program) else root


def _is_straight(operator: syntax.Operator) -> bool:
    return not any(isinstance(each, syntax.If) for each in operator.body)


def _result(operator: syntax.Operator) -> Ref:
    return next(each.value for each in operator.body if isinstance(each, syntax.Return))


def _value(statement: syntax.Statement) -> Ref:
    assert not isinstance(statement, syntax.If)
    return statement.value


def _operands(operator: syntax.Operator, row: Ref) -> Iterator[Ref]:
    """Yield the rows that a row is made of: a variable stands for the row that made it."""
    node = operator.nodes[row]
    for ref in (_made_by(operator, row),) if isinstance(node, syntax.Name) else operands(node):
        if ref is None:
            continue
        own = operator.nodes[ref]
        made = _made_by(operator, ref) if isinstance(own, syntax.Name) else ref
        if made is not None:
            yield made


def _made_by(operator: syntax.Operator, row: Ref) -> Ref | None:
    """Return the row whose value a variable has; None for parameters and unpacked tuples."""
    node = operator.nodes[row]
    assert isinstance(node, syntax.Name)
    found = None
    for each in operator.body:
        if isinstance(each, syntax.Assign) and each.target == node.id and each.value < row:
            found = each.value
    return found


def _variable(operator: syntax.Operator, row: Ref) -> str:
    assigned = (each for each in operator.body if isinstance(each, syntax.Assign))
    return next((each.target for each in assigned if each.value == row), "")


def _expression(operator: syntax.Operator, row: Ref) -> str:
    """Return a row as the user would write it, with its operands."""
    node = operator.nodes[row]
    parts = [_expression(operator, ref) for ref in operands(node)]
    match node:
        case syntax.Name():
            return node.id
        case syntax.Literal():
            return node.text
        case syntax.Operation() if node.op in SIGNS and len(parts) == 2:
            return f"({parts[0]} {SIGNS[node.op]} {parts[1]})"
        case syntax.Operation():
            return f"{node.op}({', '.join(parts)})"
        case syntax.ShiftBy():
            sign = "-" if node.offset < 0 else "+"
            return f"{parts[0]}({(node.onto or node.dim).value} {sign} {abs(node.offset)})"
        case syntax.Neighbour():
            return f"{parts[0]}({node.offset.name}[{node.index}])"
        case syntax.Neighbours():
            return f"{parts[0]}({node.offset.name})"
        case syntax.Select():
            return f"where({', '.join(parts)})"
        case syntax.CallOf():
            return f"{node.callee.partition(':')[0]}({', '.join(parts)})"
    return f"{type(node).__name__.lower()}({', '.join(parts)})"
