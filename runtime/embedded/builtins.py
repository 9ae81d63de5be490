"""The builtin functions of the language, on fields and numbers, for use anywhere.

Inside a compiled operator `parse` recognises each by its attribute
`__fieldforge_builtin__` and never calls it; embedded execution and plain Python do.
A Python number beside a field takes the field's dtype, alone it is int32 or float64.
"""

from __future__ import annotations

from builtins import bool, float, int, tuple  # noqa: A004, UP029 - names of the language
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy import (
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

from ..fields.constructors import as_dtype
from ..fields.field import make
from ..fields.operators import Operators, combined, common_dtype, converted
from ..language.connectivity import Displacement, FieldOffset
from ..language.dimension import Dimension, check_dims, in_canonical_order
from ..language.domain import Domain
from ..language.operations import POINTWISE, literal
from ..language.regions import Region, as_region, outside
from ..language.structure import map_leaves
from ..language.types import FLOATS
from ..process import classes
from ..process.errors import ArgumentError, DomainError
from .partial import PartialField, choices_of, chosen, required, sure_of, valid_of, value_of
from .piecewise import AnyValue, assembled, cut, mapped, nothing, pieces_of, widened
from .reducing import reduced
from .walking import ScanResult

IndexType = int32

__all__ = [  # noqa: RUF022 - types, then functions in the order of the specification
    "bool", "float", "float32", "float64", "int", "int8", "int16", "int32", "int64", "tuple",
    "uint8", "uint16", "uint32", "uint64", "IndexType",
    "neighbor_sum", "max_over", "min_over", "where", "broadcast", "astype",
    "minimum", "maximum", "power", "fmod", "abs", "neg", "sqrt", "exp", "log",
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "arcsinh", "arccosh", "arctanh", "cbrt", "gamma", "floor", "ceil", "trunc",
    "isfinite", "isinf", "isnan",
]  # fmt: skip


@classes.frozen(eq=False, repr=False)
class MathBuiltin:
    """A builtin that works point by point: a row of the table of operations."""

    __fieldforge_builtin__: str
    operation: str
    operands: int
    floating: bool
    __doc__: str

    @property
    def __name__(self) -> str:
        return self.__fieldforge_builtin__

    def __repr__(self) -> str:
        return f"<builtin '{self.__name__}'>"

    def __call__(self, *operands: Any) -> Any:
        """Compute the operation on fields and numbers."""
        if len(operands) != self.operands:
            raise ArgumentError(
                f"Builtin '{self.__name__}' takes {self.operands} arguments, got {len(operands)}."
            )
        for operand in operands:
            _check_number(self.__name__, operand)
        common = common_dtype(*operands)
        if self.floating and common.kind != "f":
            raise ArgumentError(
                f"Expected 0-th argument to be a floating point type, got '{common}' "
                f"in call to '{self.__name__}'."
            )
        if self.operation == "pow":  # the language lets the exponent have a type of its own
            return combined("pow", *(literal(operand) for operand in operands))
        return combined(self.operation, *(converted(operand, common) for operand in operands))


def where(mask: Any, a: Any, b: Any, /) -> Any:
    """Choose point by point: `a` where `mask` holds, else `b`; tuples element by element.

    >>> from fieldforge.runtime.fields.constructors import as_field
    >>> I = Dimension("I")
    >>> f = as_field([I], [-1.0, 2.0])
    >>> where(f > 0.0, f, 0.0).asnumpy()
    array([0., 2.])
    """
    if not isinstance(mask, AnyValue):
        raise ArgumentError(
            f"Expected the mask of 'where' to be a field of bool, got '{type(mask).__name__}'.",
            hints=["Use 'a if condition else b' for a scalar condition."],
        )
    if mask.dtype != np.bool_:
        raise ArgumentError(
            f"Expected the mask of 'where' to be a field of bool, got one of '{mask.dtype}'."
        )
    return map_leaves(lambda then, otherwise: _select(mask, then, otherwise), a, b)


def broadcast(x: Any, dims: Sequence[Dimension], /) -> Any:
    """Repeat a field or number along further dimensions, without end.

    >>> I = Dimension("I")
    >>> str(broadcast(1.0, (I,)))
    'UnboundedField(I=(-inf:inf); float64)'
    """
    _check_number("broadcast", x)
    check_dims(tuple(dims))
    field = x if isinstance(x, AnyValue) else make(literal(x), Domain())
    own = field.dims if isinstance(field, ScanResult) else field.domain.dims
    missing = [dim.value for dim in own if dim not in dims]
    if missing:
        raise DomainError(
            f"The dimensions of 'broadcast' must include those of the field: '{missing[0]}' is "
            "missing."
        )
    if isinstance(field, ScanResult):
        return field.then(tuple(dims), lambda value: broadcast(value, dims))
    if isinstance(field, PartialField):
        return field.each(lambda value: broadcast(value, dims))
    return mapped(lambda field: widened(field, dims), field)


def astype(x: Any, dtype: Any, /) -> Any:
    """Convert numbers, fields or tuples of them to a scalar type.

    Float to integer truncates (what does not fit saturates, NaN gives 0), and
    anything to bool is `!= 0`.

    >>> astype((2.7, -2.7), int32)
    (np.int32(2), np.int32(-2))
    """
    target = as_dtype(dtype).dtype.name
    return map_leaves(lambda leaf: _cast(leaf, target), x)


def _cast(leaf: Any, target: str) -> Any:
    if isinstance(leaf, ScanResult) and leaf.dtype == target:
        return leaf  # not walked yet
    return combined("cast", literal(leaf), dtype=target)


def neighbor_sum(field: Any, /, *, axis: Dimension) -> Any:
    """Sum over the valid neighbours along a local dimension, in the order of the slots."""
    return reduced("neighbor_sum", "add", field, axis)


def max_over(field: Any, /, *, axis: Dimension) -> Any:
    """Take the largest value of the valid neighbours along a local dimension."""
    return reduced("max_over", "maximum", field, axis)


def min_over(field: Any, /, *, axis: Dimension) -> Any:
    """Take the smallest value of the valid neighbours along a local dimension."""
    return reduced("min_over", "minimum", field, axis)


def concat_where(condition: Any, a: Any, b: Any, /) -> Any:
    """Take `a` where a condition on indices holds, else `b`; tuples element by element.

    The program needs each branch on its own part only.

    >>> from fieldforge.runtime.fields.constructors import as_field
    >>> I = Dimension("I")
    >>> concat_where(I < 1, as_field([I], [1.0]), as_field({I: (1, 3)}, [2.0, 3.0])).asnumpy()
    array([1., 2., 3.])
    """
    region = as_region(condition)
    return map_leaves(lambda then, otherwise: _concatenated(region, then, otherwise), a, b)


def as_offset(offset: FieldOffset, by: Any, /) -> Displacement:
    """Make an offset that differs from point to point: `f(as_offset(Koff, g))` is f at k + g(k)."""
    if not isinstance(offset, FieldOffset) or not offset.is_cartesian:
        raise ArgumentError(
            f"The first argument of 'as_offset' is a Cartesian one, got '{offset}'."
        )
    if not isinstance(by, AnyValue) or by.dtype.dtype.kind not in "iu":
        raise ArgumentError(
            f"The second argument of 'as_offset' is a field of integers, got '{by}'."
        )
    if offset.source not in by.domain.dims:
        raise ArgumentError(
            f"The field given to 'as_offset' must have the dimension '{offset.source.value}' of "
            f"offset '{offset.value}', got '{by}'."
        )
    return Displacement(offset.source, required(by))


_FUNCTIONS: Final = (
    where, broadcast, astype, neighbor_sum, max_over, min_over, concat_where, as_offset
)  # fmt: skip
for _function in _FUNCTIONS:
    setattr(_function, "__fieldforge_builtin__", _function.__name__)  # noqa: B010 - for mypy


# Type checkers learn the names here; the values come from the table of operations.
minimum: MathBuiltin
maximum: MathBuiltin
power: MathBuiltin
fmod: MathBuiltin
abs: MathBuiltin  # noqa: A001 - a name of the language
neg: MathBuiltin
sqrt: MathBuiltin
exp: MathBuiltin
log: MathBuiltin
sin: MathBuiltin
cos: MathBuiltin
tan: MathBuiltin
arcsin: MathBuiltin
arccos: MathBuiltin
arctan: MathBuiltin
sinh: MathBuiltin
cosh: MathBuiltin
tanh: MathBuiltin
arcsinh: MathBuiltin
arccosh: MathBuiltin
arctanh: MathBuiltin
cbrt: MathBuiltin
gamma: MathBuiltin
floor: MathBuiltin
ceil: MathBuiltin
trunc: MathBuiltin
isfinite: MathBuiltin
isinf: MathBuiltin
isnan: MathBuiltin

_POINTWISE: Final = {
    name: MathBuiltin(name, row.name, row.arity, row.takes is FLOATS, row.meaning)
    for name, row in POINTWISE.items()
}
globals().update(_POINTWISE)
__all__ += [name for name in _POINTWISE if name not in __all__]


def _select(mask: Any, then: Any, otherwise: Any) -> Any:
    _check_number("where", then)
    _check_number("where", otherwise)
    common = common_dtype(then, otherwise)
    return chosen(mask, converted(then, common), converted(otherwise, common))


def _concatenated(region: Region, then: Any, otherwise: Any) -> Any:
    fields = []
    rest = outside(region)
    for branch, part in ((then, region), (otherwise, rest)):
        _check_number("concat_where", branch)
        branch = branch.in_region(part) if isinstance(branch, ScanResult) else branch  # noqa: PLW2901
        value = converted(branch, common_dtype(then, otherwise))
        fields.append(value if isinstance(value, AnyValue) else make(value, Domain()))
    if any(isinstance(field, PartialField) for field in fields):
        value, valid, sure = (
            _joined(region, rest, *map(of, fields)) for of in (value_of, valid_of, sure_of)
        )
        return PartialField(value, valid, sure, choices_of(fields))
    return _joined(region, rest, *fields)


def _joined(region: Region, rest: Region, *fields: AnyValue) -> AnyValue:
    dims = in_canonical_order(
        (*region.dims, *(dim for field in fields for dim in field.domain.dims))
    )
    here, there = (mapped(lambda field: widened(field, dims), field) for field in fields)
    pieces = cut(pieces_of(here), region.boxes) + cut(pieces_of(there), rest.boxes)
    return (
        assembled(pieces) if pieces else nothing(dims, here.dtype.dtype, here.domain, there.domain)
    )


def _check_number(builtin: str, value: Any) -> None:
    if not isinstance(literal(value), Operators | np.generic):
        raise ArgumentError(
            f"Builtin '{builtin}' works on fields and numbers, got '{type(value).__name__}'."
        )
