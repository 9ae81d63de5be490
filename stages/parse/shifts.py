"""Fields applied to offsets: `f(I + 1)`, `f(E2C[0])`, `f(C2E)`, `f(as_offset(Koff, n))`."""

from __future__ import annotations

import ast
from typing import Final

import numpy as np

from ...runtime.language import (
    Dimension,
    DimensionKind,
    FieldType,
    as_non_staggered,
    check_dims,
    flip_staggered,
    in_canonical_order,
    is_staggered,
    shift,
)
from ...runtime.process import DomainError, OptionError, classes
from ..ir import syntax
from .meanings import (
    Axis,
    DataOffset,
    Displacement,
    IndexOf,
    Meaning,
    NeighbourTag,
    Number,
    OffsetTag,
    Row,
    describe,
)
from .promotion import common_dims, is_integral
from .scope import Scope

MAX_SHIFT: Final = 2**31


def displacement(scope: Scope, node: ast.BinOp, left: Axis) -> Displacement:
    """Read `I + 1`, or `I + 0.5`, which shifts onto the staggered dimension."""
    right = scope.meanings[node.right]
    if not isinstance(right, Number) or isinstance(right.value, bool | np.bool_):
        raise scope.error(
            node.right,
            "Cartesian offsets are only supported with a literal right-hand side.",
            hints=["For an offset that depends on data write 'as_offset'."],
        )
    amount = -right.value if isinstance(node.op, ast.Sub) else right.value
    if isinstance(amount, int | np.integer):
        return Displacement(left.dim, _small(scope, node.right, int(amount)), left.dim)
    try:
        moved = shift(left.dim, float(amount))
    except (OptionError, OverflowError, ValueError):
        raise scope.error(
            node.right,
            f"Invalid offset '{amount}' for a Cartesian shift.",
            hints=["Write an integer, or a half such as 0.5 for the staggered dimension."],
        ) from None
    return Displacement(moved.codomain, _small(scope, node.right, moved.offset), moved.domain_dim)


def offset_element(scope: Scope, node: ast.Subscript, tag: OffsetTag) -> Meaning:
    """Read `Off[k]`: neighbour k, or k indices along a dimension."""
    index = scope.meanings[node.slice]
    if not isinstance(index, Number) or type(index.value) is not int:
        raise scope.error(
            node.slice,
            f"Offset '{tag.type.name}' expects a literal integer, got {describe(index)}.",
        )
    if len(tag.type.target) == 1:
        amount = _small(scope, node.slice, index.value)
        return Displacement(tag.type.source, amount, tag.type.target[0])
    if index.value < 0:
        raise scope.error(node.slice, "Neighbours are counted from 0, from the first one on.")
    return NeighbourTag(tag.type, _small(scope, node.slice, index.value))


def index_of(scope: Scope, node: ast.Call, axis: Axis) -> IndexOf:
    """Read `E2CDim(0)`."""
    meaning = scope.meanings[node.args[0]] if len(node.args) == 1 and not node.keywords else None
    if not isinstance(meaning, Number) or type(meaning.value) is not int:
        raise scope.error(
            node.args[0] if node.args else node,
            f"An index along '{axis.dim.value}' is one literal integer, "
            f"as in '{axis.dim.value}(0)'.",
        )
    return IndexOf(axis.dim, _small(scope, node.args[0], meaning.value))


def as_offset(scope: Scope, node: ast.Call) -> DataOffset:
    """Read `as_offset(Koff, by)`."""
    tag, by = scope.meanings[node.args[0]], scope.value(node.args[1])
    if not isinstance(tag, OffsetTag) or tag.type.target != (tag.type.source,):
        raise scope.type_error(
            node.args[0],
            "Expected 0-th argument of 'as_offset' to be an offset along one dimension, got "
            f"{describe(tag)}.",
            hints=["Make one with 'FieldOffset(\"Koff\", source=K, target=(K,))'."],
        )
    if not isinstance(by.type, FieldType) or not is_integral(by.type):
        raise scope.type_error(
            node.args[1],
            f"Expected 1-th argument of 'as_offset' to be a field of integers, got '{by.type}'.",
        )
    if tag.type.source not in by.type.dims:
        raise scope.type_error(
            node.args[1],
            f"Expected a field with dimension '{tag.type.source.value}' in call to 'as_offset', "
            f"got '{by.type}'.",
        )
    return DataOffset(tag.type.source, by)


def apply(scope: Scope, node: ast.Call, field: Row) -> Row:
    """Read `f(I + 1, J - 1)`: apply the shifts from left to right."""
    if node.keywords:
        raise scope.type_error(node.keywords[0], "A shift takes no keyword arguments.")
    if not node.args:
        raise scope.type_error(node, "A shift takes at least one offset, as in 'f(I + 1)'.")
    row = field
    for argument in node.args:
        meaning = scope.meanings[argument]
        if len(node.args) > 1 and isinstance(meaning, NeighbourTag | OffsetTag | DataOffset):
            raise scope.type_error(
                argument,
                "Several offsets in one call must all be Cartesian, such as 'I + 1'.",
                hints=["Apply the field step by step: 'f(E2C[0])(K + 1)'."],
            )
        row = _applied(scope, node, argument, row, meaning)
    return row


def _applied(scope: Scope, node: ast.Call, argument: ast.expr, row: Row, meaning: Meaning) -> Row:
    match meaning:
        case Displacement():
            return _shifted(scope, node, argument, row, meaning)
        case DataOffset():
            return _displaced(scope, node, argument, row, meaning)
        case NeighbourTag() | OffsetTag() if len(meaning.type.target) == 2:
            return _gathered(scope, node, argument, row, meaning)
    hints = [f"Write '{meaning.dim.value} + 1'."] if isinstance(meaning, Axis) else []
    if isinstance(meaning, OffsetTag):
        hints = [f"Write '{meaning.type.name}[1]'."]
    if isinstance(meaning, Number) and isinstance(row.type, FieldType) and row.type.dims:
        hints = [f"Name the dimension: '{_written(row.type.dims[0])} + 1'."]
    raise scope.type_error(argument, f"Expected an offset, got {describe(meaning)}.", hints=hints)


def _shifted(scope: Scope, node: ast.Call, argument: ast.expr, row: Row, by: Displacement) -> Row:
    type_ = _moved(scope, argument, row, by.dim, (by.onto,))
    onto = None if by.onto is by.dim else by.onto
    return scope.add(
        syntax.ShiftBy(field=row.ref, dim=by.dim, offset=by.offset, onto=onto, type=type_), node
    )


def _displaced(scope: Scope, node: ast.Call, argument: ast.expr, row: Row, by: DataOffset) -> Row:
    type_ = _moved(scope, argument, row, by.dim, (by.dim,))
    assert isinstance(by.by.type, FieldType)  # `as_offset` checked
    dims = common_dims(type_.dims, by.by.type.dims)
    if dims is None:
        raise scope.type_error(
            argument, f"No field can have the dimensions of '{type_}' and '{by.by.type}'."
        )
    return scope.add(
        syntax.Displace(field=row.ref, dim=by.dim, by=by.by.ref, type=FieldType(dims, type_.dtype)),
        node,
    )


def _gathered(
    scope: Scope, node: ast.Call, argument: ast.expr, row: Row, meaning: NeighbourTag | OffsetTag
) -> Row:
    offset = meaning.type
    if isinstance(meaning, OffsetTag):
        type_ = _moved(scope, argument, row, offset.source, offset.target)
        return scope.add(syntax.Neighbours(field=row.ref, offset=offset, type=type_), node)
    type_ = _moved(scope, argument, row, offset.source, offset.target[:1])
    return scope.add(
        syntax.Neighbour(field=row.ref, offset=offset, index=meaning.index, type=type_), node
    )


def _moved(
    scope: Scope, argument: ast.expr, row: Row, source: Dimension, target: tuple[Dimension, ...]
) -> FieldType:
    """Return the type of a field with `target` in place of its dimension `source`."""
    type_ = row.type
    assert isinstance(type_, FieldType)  # the caller shifts fields only
    if source not in type_.dims:
        raise scope.type_error(
            argument,
            "Incompatible offset can not shift field defined on "
            f"{_names(type_.dims) or 'no dimensions'} from {source.value} to target dim(s): "
            f"{_names(target)}.",
            hints=_other_place(type_.dims, source, target),
        )
    if target == (source,):
        return type_
    kept = [dim for dim in type_.dims if dim is not source]
    dims = (*kept, *target)
    try:
        if any(dim in kept for dim in target):
            check_dims(dims)  # its message names the dimension that occurs twice
        moved = in_canonical_order(dims)
        check_dims(moved)
    except DomainError as error:
        raise scope.type_error(argument, error.message) from None
    return classes.evolve(type_, dims=moved)


def _other_place(
    dims: tuple[Dimension, ...], source: Dimension, target: tuple[Dimension, ...]
) -> tuple[str, ...]:
    """Return what to write where cells and faces of one dimension are taken for each other."""
    other = flip_staggered(source)
    if other not in dims:
        return (f"The offset shifts fields that have the dimension '{source.value}'.",)
    if target == (source,):
        return (
            f"The field lies on '{other.value}': write '{_written(other)} + 1' to stay there, or "
            f"'{_written(source)} + 0.5' to come to '{source.value}'.",
        )
    return (
        "A shift by half a cell names the dimension of its result: write "
        f"'{_written(source)} + 0.5'.",
    )


def _written(dim: Dimension) -> str:
    name = as_non_staggered(dim).value
    return f"flip_staggered({name})" if is_staggered(dim) else name


def local_element(scope: Scope, node: ast.Subscript, field: Row) -> Row:
    """Read `coeff[E2CDim(0)]`: one slot of a field along its local dimension."""
    index, type_ = scope.meanings[node.slice], field.type
    assert isinstance(type_, FieldType)  # the caller checked
    if not isinstance(index, IndexOf) or index.dim.kind is not DimensionKind.LOCAL:
        raise scope.type_error(
            node.slice,
            f"Elements of a field are chosen along a local dimension, got {describe(index)}.",
            hints=["Write 'f[L(0)]' with the local dimension 'L'; shift with 'f(I + 1)'."],
        )
    if index.dim not in type_.dims:
        raise scope.type_error(
            node.slice, f"Expected a field with dimension '{index.dim.value}', got '{type_}'."
        )
    if index.index < 0:
        raise scope.error(node.slice, "Neighbours are counted from 0, from the first one on.")
    return scope.add(
        syntax.LocalElement(
            field=field.ref, dim=index.dim, index=index.index, type=without(type_, index.dim)
        ),
        node,
    )


def without(type_: FieldType, dim: Dimension) -> FieldType:
    """Return the type of a field without one of its dimensions."""
    return FieldType(tuple(each for each in type_.dims if each is not dim), type_.dtype)


def _small(scope: Scope, node: ast.expr, amount: int) -> int:
    if not -MAX_SHIFT <= amount < MAX_SHIFT:
        raise scope.error(node, f"Offset {amount} does not fit into 32 bits.")
    return amount


def _names(dims: tuple[Dimension, ...]) -> str:
    return ", ".join(dim.value for dim in dims)
