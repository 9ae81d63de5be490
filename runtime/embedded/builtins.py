"""The builtin functions of the language, on fields and numbers, for use anywhere.

Inside a compiled operator `parse` recognises each by its attribute
`__fieldforge_builtin__` and never calls it; embedded execution and plain Python do.
A Python number beside a field takes the field's dtype, alone it is int32 or float64.
"""

from __future__ import annotations

from builtins import bool, float, int, tuple  # noqa: A004, UP029 - names of the language
from collections.abc import Sequence
from typing import Any, Final

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

from ..language import Dimension, Displacement, FieldOffset
from ..language.operation_table import Operation
from ..language.operations import POINTWISE
from ..process import classes

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
    operation: Operation
    __doc__: str

    @property
    def __name__(self) -> str:
        return self.__fieldforge_builtin__

    def __repr__(self) -> str:
        return f"<builtin '{self.__name__}'>"

    def __call__(self, *operands: Any) -> Any:
        """Compute the operation on fields and numbers."""
        return _computing().pointwise(self.operation, operands)


def where(mask: Any, a: Any, b: Any, /) -> Any:
    """Choose point by point: `a` where `mask` holds, else `b`; tuples element by element.

    >>> from fieldforge.runtime.fields.constructors import as_field
    >>> I = Dimension("I")
    >>> f = as_field([I], [-1.0, 2.0])
    >>> where(f > 0.0, f, 0.0).asnumpy()
    array([0., 2.])
    """
    return _computing().where(mask, a, b)


def broadcast(x: Any, dims: Sequence[Dimension], /) -> Any:
    """Repeat a field or number along further dimensions, without end.

    >>> I = Dimension("I")
    >>> str(broadcast(1.0, (I,)))
    'UnboundedField(I=(-inf:inf); float64)'
    """
    return _computing().broadcast(x, dims)


def astype(x: Any, dtype: Any, /) -> Any:
    """Convert numbers, fields or tuples of them to a scalar type.

    Float to integer truncates (what does not fit saturates, NaN gives 0), and
    anything to bool is `!= 0`.

    >>> astype((2.7, -2.7), int32)
    (np.int32(2), np.int32(-2))
    """
    return _computing().astype(x, dtype)


def neighbor_sum(field: Any, /, *, axis: Dimension) -> Any:
    """Sum over the valid neighbours along a local dimension, in the order of the slots."""
    return _computing().reduced("neighbor_sum", "add", field, axis)


def max_over(field: Any, /, *, axis: Dimension) -> Any:
    """Take the largest value of the valid neighbours along a local dimension."""
    return _computing().reduced("max_over", "maximum", field, axis)


def min_over(field: Any, /, *, axis: Dimension) -> Any:
    """Take the smallest value of the valid neighbours along a local dimension."""
    return _computing().reduced("min_over", "minimum", field, axis)


def concat_where(condition: Any, a: Any, b: Any, /) -> Any:
    """Take `a` where a condition on indices holds, else `b`; tuples element by element.

    The program needs each branch on its own part only.

    >>> from fieldforge.runtime.fields.constructors import as_field
    >>> I = Dimension("I")
    >>> concat_where(I < 1, as_field([I], [1.0]), as_field({I: (1, 3)}, [2.0, 3.0])).asnumpy()
    array([1., 2., 3.])
    """
    return _computing().concat_where(condition, a, b)


def as_offset(offset: FieldOffset, by: Any, /) -> Displacement:
    """Make an offset that differs from point to point: `f(as_offset(Koff, g))` is f at k + g(k)."""
    found: Displacement = _computing().as_offset(offset, by)
    return found


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

_POINTWISE: Final = {name: MathBuiltin(name, row, row.meaning) for name, row in POINTWISE.items()}
globals().update(_POINTWISE)
__all__ += [name for name in _POINTWISE if name not in __all__]


def _computing() -> Any:
    """Import what computes builtins: a compiled program calls none, see decision 0005."""
    from . import builtin_meanings

    return builtin_meanings
