"""Rules of the dataflow IR: they hold before and after every pass, or the pass is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from ...runtime.errors import WorkflowError
from ...runtime.types import FLOATS, INTEGERS, SCALARS
from ..artifacts import Lowered
from . import bounds
from .bounds import DomainSymbol, Ranges, ScalarSymbol
from .dataflow import (
    ARITHMETIC,
    COMPARISONS,
    LOGIC,
    MATH,
    OPERATIONS,
    PREDICATES,
    UNARY,
    Dataflow,
    Input,
    Leaf,
    Literal,
    Map,
    Scalar,
    Shift,
    Statement,
    Value,
    is_canonical,
    union_of,
)
from .literal import respell

NUMBERS: Final = (*INTEGERS, *FLOATS)
BINARY: Final = (*ARITHMETIC, *COMPARISONS, "and", "or", "xor")

Complaints: TypeAlias = Iterator[str]
Leaves: TypeAlias = Mapping[str, Leaf]


def verify(lowered: Lowered) -> Lowered:
    """Return the program if it keeps every rule; `WorkflowError` names the row and the rule.

    Boxes and reads may be missing (both empty): they are inferred after the last pass.
    """
    for complaint in _complaints(lowered):
        raise WorkflowError(
            f"Program '{lowered.program.name}' breaks a rule of the dataflow IR: {complaint}.",
            hints=("The pass that ran last made it so.",),
        )
    return lowered


def _complaints(lowered: Lowered) -> Complaints:
    program = lowered.program
    leaves = {leaf.name: leaf for leaf in program.leaves}
    yield from _leaves(program)
    yield from _rows(program, leaves)
    yield from _statements(program, leaves)
    if lowered.boxes or lowered.reads:
        yield from _boxes(lowered, leaves)


def _leaves(program: Dataflow) -> Complaints:
    for name, count in Counter(leaf.name for leaf in program.leaves).items():
        if count > 1:
            yield f"leaf '{name}' stands {count} times, expected one"
    for leaf in program.leaves:
        if not leaf.path or not 0 <= leaf.path[0] < len(program.parameters):
            yield f"leaf '{leaf.name}' belongs to no parameter"
        if leaf.dtype not in SCALARS:
            yield f"leaf '{leaf.name}' has the unknown dtype '{leaf.dtype}'"
        if not is_canonical(leaf.dims):
            yield f"the dimensions of leaf '{leaf.name}' are not in canonical order"
        if leaf.kind == "scalar" and leaf.dims:
            yield f"scalar '{leaf.name}' has dimensions"


def _rows(program: Dataflow, leaves: Leaves) -> Complaints:
    first: dict[Value, int] = {}
    for row, value in enumerate(program.values):
        if first.setdefault(value, row) != row:
            yield f"row %{row} equals row %{first[value]}, expected one row for equal values"
        if any(not 0 <= operand < row for operand in value.operands):
            yield f"row %{row} uses a row that does not stand before it"
            return
        for complaint in _row(value, program.values, leaves):
            yield f"row %{row} {complaint}"


def _row(value: Value, values: tuple[Value, ...], leaves: Leaves) -> Complaints:
    match value:
        case Input() | Scalar():
            yield from _access(value, leaves)
        case Literal():
            yield from _literal(value)
        case Map():
            args = [values[arg] for arg in value.args]
            if value.dims != union_of(arg.dims for arg in args):
                yield "has dimensions that are not the canonical union of its operands'"
            yield from _operation(value, [arg.dtype for arg in args])
        case Shift():
            arg = values[value.arg]
            if (value.dims, value.dtype) != (arg.dims, arg.dtype):
                yield "has other dimensions or another dtype than what it shifts"
            if value.dim not in value.dims:
                yield f"is shifted along '{value.dim}', which it does not have"
            if value.offset == 0:
                yield "is shifted by 0"
        case _:
            yield f"is a '{type(value).__name__}', which is no value of the dataflow IR"


def _access(value: Input | Scalar, leaves: Leaves) -> Complaints:
    kind = "field" if isinstance(value, Input) else "scalar"
    leaf = leaves.get(value.name)
    if leaf is None or leaf.kind != kind:
        yield f"reads '{value.name}', which is no {kind} leaf"
    elif (leaf.dims, leaf.dtype) != (value.dims, value.dtype):
        yield f"reads '{value.name}' with other dimensions or another dtype than it has"


def _literal(value: Literal) -> Complaints:
    if value.dims:
        yield "is a literal with dimensions"
    try:
        spelling = respell(value.text, value.dtype)
    except ValueError:
        yield f"spells '{value.text}', which is no number of type '{value.dtype}'"
        return
    if spelling != value.text:
        yield f"spells '{value.text}', whose canonical spelling is '{spelling}'"


def _operation(value: Map, given: list[str]) -> Complaints:
    op = value.op
    if op not in OPERATIONS:
        yield f"has the unknown operation '{op}'"
        return
    arity = 2 if op in BINARY else 3 if op == "select" else 1
    if len(given) != arity:
        yield f"gives '{op}' {len(given)} operands, expected {arity}"
        return
    allowed: tuple[str, ...]
    if op == "select":
        allowed, operands, result = SCALARS, given[1:], given[1]
        if given[0] != "bool":
            yield f"selects by a '{given[0]}', expected 'bool'"
    else:
        allowed, result = _signature(op, given[0], value.dtype)
        operands = given
    if any(dtype != operands[0] for dtype in operands):
        yield f"gives '{op}' operands of different dtypes: {', '.join(operands)}"
    elif operands[0] not in allowed:
        yield f"gives '{op}' an operand of dtype '{operands[0]}'"
    elif value.dtype != result:
        yield f"has dtype '{value.dtype}', expected '{result}'"


def _signature(op: str, operand: str, own: str) -> tuple[tuple[str, ...], str]:
    """Return the dtypes that an operation takes, and the one that it then gives."""
    if op in ARITHMETIC or op in UNARY:
        return NUMBERS, operand
    if op in COMPARISONS:
        return SCALARS, "bool"
    if op in LOGIC:
        return ("bool",), "bool"
    if op in MATH:
        return FLOATS, operand
    if op in PREDICATES:
        return FLOATS, "bool"
    return SCALARS, own  # a cast


def _statements(program: Dataflow, leaves: Leaves) -> Complaints:
    written: Counter[str] = Counter()
    for index, statement in enumerate(program.statements):
        if not statement.stores:
            yield f"statement {index} stores nothing"
        for store in statement.stores:
            where = f"the store to '{store.target}' in statement {index}"
            leaf = leaves.get(store.target)
            if not 0 <= store.value < len(program.values):
                yield f"{where} has no value"
            elif leaf is None or leaf.kind != "field":
                yield f"{where} has no field leaf for its target"
            else:
                value = program.values[store.value]
                yield from _store(leaf, store.box, value, where)
                yield from _box(store.box, leaves, where)
        yield from _versions(program, statement, written)
        written.update({store.target for store in statement.stores})


def _store(leaf: Leaf, box: Ranges, value: Value, where: str) -> Complaints:
    if value.dtype != leaf.dtype:
        yield f"{where} has a value of dtype '{value.dtype}', expected '{leaf.dtype}'"
    if not set(value.dims) <= set(leaf.dims):
        yield f"{where} has a value with dimensions that its target does not have"
    if tuple(each.dim for each in box) != leaf.dims:
        yield f"{where} has a box that is not over the dimensions of its target"


def _versions(program: Dataflow, statement: Statement, written: Mapping[str, int]) -> Complaints:
    """Check that inputs are read as they stand when the statement runs: there is no other copy."""
    found = {store.value for store in statement.stores if 0 <= store.value < len(program.values)}
    stack = sorted(found)
    while stack:
        row = stack.pop()
        value = program.values[row]
        if isinstance(value, Input) and value.version != written[value.name]:
            yield (
                f"row %{row} is version {value.version} of '{value.name}', "
                f"where statements read version {written[value.name]}"
            )
        fresh = [operand for operand in value.operands if operand not in found]
        found.update(fresh)
        stack += fresh


def _boxes(lowered: Lowered, leaves: Leaves) -> Complaints:
    program = lowered.program
    if len(lowered.boxes) != len(program.values):
        yield f"{len(lowered.boxes)} boxes are given for {len(program.values)} values"
    for row, (value, box) in enumerate(zip(program.values, lowered.boxes, strict=False)):
        if tuple(each.dim for each in box) != value.dims:
            yield f"row %{row} has a box that is not over its dimensions"
        yield from _box(box, leaves, f"row %{row}")
    for read in lowered.reads:
        where = f"the read of '{read.name}' in statement {read.statement}"
        leaf = leaves.get(read.name)
        if leaf is None or leaf.kind != "field":
            yield f"{where} has no field leaf"
        elif tuple(each.dim for each in read.box) != leaf.dims:
            yield f"{where} has a box that is not over the dimensions of the leaf"
        if not 0 <= read.statement < len(program.statements):
            yield f"{where} belongs to no statement"
        yield from _box(read.box, leaves, where)


def _box(box: Ranges, leaves: Leaves, where: str) -> Complaints:
    for bound in (end for each in box for end in (each.start, each.stop)):
        for part in bounds.parts(bound):
            if isinstance(part, ScalarSymbol) and not _is_integer(leaves.get(part.name)):
                yield f"{where} has a bound in '{part}', which is no integer scalar"
            if isinstance(part, DomainSymbol) and not _has(leaves.get(part.field), part):
                yield f"{where} has a bound in '{part}', which no field leaf has"


def _is_integer(leaf: Leaf | None) -> bool:
    return leaf is not None and leaf.kind == "scalar" and leaf.dtype in INTEGERS


def _has(leaf: Leaf | None, symbol: DomainSymbol) -> bool:
    return leaf is not None and leaf.kind == "field" and symbol.dim in leaf.dims
