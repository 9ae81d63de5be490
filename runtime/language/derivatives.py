"""The derivatives of operations: how the adjoint of a result gives those of its operands.

A *pull* multiplies a number `b` by the partial derivative of a result `z` with respect to one
operand, in the form that loses the least: the same function gives adjoints (`b` is the adjoint of
the result) and tangents (`b` is the tangent of the operand). Pulls are written with `Term`s, which
compute with whatever stands behind them: arrays in embedded execution, rows of the dataflow IR in
`stages/adjoint`.

Where a slope is infinite, it counts as 0; at a kink it is that of the branch which the forward
takes, and 0 for `abs(0)`. Jumps count as flat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

from ..process import classes


class Arithmetic(Protocol):
    """What computes with the values behind terms."""

    def apply(self, op: str, *operands: Any) -> Any:
        """Compute an operation of the table."""

    def number(self, value: float, like: Any) -> Any:
        """Return a number in the dtype of a value."""

    def converted(self, value: Any, like: Any) -> Any:
        """Return a value in the dtype of another."""

    def is_single(self, value: Any) -> bool:
        """Tell whether a value is of float32."""


class Term:
    """A value with the operators of Python; other operands are terms or numbers."""

    __slots__ = ("by", "value")

    def __init__(self, value: Any, by: Arithmetic) -> None:
        self.value, self.by = value, by

    def of(self, op: str, *others: Term | float) -> Term:
        """Compute an operation on this term and others."""
        values = (
            each.value if isinstance(each, Term) else self.by.number(each, self.value)
            for each in others
        )
        return Term(self.by.apply(op, self.value, *values), self.by)

    def __add__(self, other: Term | float) -> Term:
        return self.of("add", other)

    __radd__ = __add__

    def __sub__(self, other: Term | float) -> Term:
        return self.of("sub", other)

    def __rsub__(self, other: float) -> Term:
        return Term(self.by.number(other, self.value), self.by).of("sub", self)

    def __mul__(self, other: Term | float) -> Term:
        return self.of("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Term | float) -> Term:
        return self.of("div", other)

    def __neg__(self) -> Term:
        return self.of("neg")

    def __abs__(self) -> Term:
        return self.of("abs")

    def __lt__(self, other: Term | float) -> Term:
        return self.of("lt", other)

    def __gt__(self, other: Term | float) -> Term:
        return self.of("gt", other)

    def is_zero(self) -> Term:
        """Compare with 0."""
        return self.of("eq", 0.0)

    def choose(self, then: Term | float, otherwise: Term | float) -> Term:
        """Take one of two values, at least one of them a term, by this condition."""
        like = then if isinstance(then, Term) else otherwise
        assert isinstance(like, Term)
        sides = (
            each.value if isinstance(each, Term) else self.by.number(each, like.value)
            for each in (then, otherwise)
        )
        return Term(self.by.apply("select", self.value, *sides), self.by)


Pull: TypeAlias = Callable[..., Term]  # of b, z and the operands


@classes.frozen(eq=False)
class Derivative:
    """The pulls of an operation, one for each operand; None where the result does not vary.

    An operation that hands on one of its last two operands has none: of all operands,
    `takes_first` tells where that is the first of both.
    """

    pulls: tuple[Pull | None, ...] = ()
    takes_first: Callable[..., Term] | None = None

    def varies_with(self, place: int) -> bool:
        """Tell whether the result varies with an operand."""
        if self.takes_first is not None:
            return True
        return place < len(self.pulls) and self.pulls[place] is not None

    def pull(self, place: int, by: Arithmetic, b: Any, z: Any, operands: Sequence[Any]) -> Any:
        """Return `b` times the partial derivative with respect to one operand."""
        terms = [Term(value, by) for value in operands]
        if self.takes_first is not None:
            first = Term(self.first_taken(by, operands), by)
            sides = (Term(b, by), 0.0) if place == len(terms) - 2 else (0.0, Term(b, by))
            return first.choose(*sides).value
        pull = self.pulls[place]
        assert pull is not None  # the caller asks for what varies
        return pull(Term(b, by), Term(z, by), *terms).value

    def first_taken(self, by: Arithmetic, operands: Sequence[Any]) -> Any:
        """Tell where an operation hands on the first of its last two operands."""
        assert self.takes_first is not None  # the caller asks it of such an operation
        return self.takes_first(*(Term(value, by) for value in operands)).value


def _of_one(pull: Pull) -> Derivative:
    return Derivative((pull,))


def _unless_infinite(is_infinite: Term, slope: Term) -> Term:
    return is_infinite.choose(0.0, slope)


def _over(b: Term, y: Term) -> Term:
    """Return `b / y`; 0 where y is 0, also because 0 / 0 would make NaN of an adjoint of 0."""
    return _unless_infinite(y.is_zero(), b / y)


def _asinh(b: Term, _: Term, x: Term) -> Term:
    limit = 2.0**12 if x.by.is_single(x.value) else 2.0**27
    return (abs(x) < limit).choose(b / (1.0 + x * x).of("sqrt"), b / abs(x))


def _acosh(b: Term, _: Term, x: Term) -> Term:
    root = (x - 1.0).of("sqrt") * (x + 1.0).of("sqrt")
    return _unless_infinite(root.is_zero(), b / root)


def _tanh(b: Term, _: Term, x: Term) -> Term:
    e = (abs(x) * -2.0).of("exp")  # 1 - z z would be 0 from x = 20 on
    return b * (4.0 * e / ((1.0 + e) * (1.0 + e)))


def _asin(b: Term, _: Term, x: Term) -> Term:
    root = ((1.0 - x) * (1.0 + x)).of("sqrt")  # 1 - x x loses digits near 1
    return _unless_infinite(root.is_zero(), b / root)


def _power_of_base(b: Term, _: Term, x: Term, y: Term) -> Term:
    flat = y.is_zero().of("or", x.is_zero().of("and", y < 1.0))
    return flat.choose(0.0, b * y * x.of("pow", y - 1.0))


INACTIVE: Final = Derivative()
ADD: Final = Derivative((lambda b, *_: b, lambda b, *_: b))
SUB: Final = Derivative((lambda b, *_: b, lambda b, *_: -b))
MUL: Final = Derivative((lambda b, _z, _x, y: b * y, lambda b, _z, x, _y: b * x))
FMA: Final = Derivative(
    (lambda b, _z, _x, y, _more: b * y, lambda b, _z, x, _y, _more: b * x, lambda b, *_: b)
)
DIV: Final = Derivative(
    (
        lambda b, _z, _x, y: _over(b, y),
        # -x / (y y) would overflow earlier
        lambda b, z, _x, y: _unless_infinite(y.is_zero(), -(b / y * z)),
    )
)
# of 1 / y, which needs no other division
RECIPROCAL: Final = Derivative(
    (None, lambda b, z, _x, y: _unless_infinite(y.is_zero(), -(b * z * z)))
)
# of a product with d = 1 / y, for d and y: a quotient, which needs its result but no factor
QUOTIENT: Final = Derivative((None, lambda b, z, d, y: -_unless_infinite(y.is_zero(), b * d * z)))
MOD: Final = Derivative((lambda b, *_: b, lambda b, _z, x, y: -(b * x.of("floordiv", y))))
FMOD: Final = Derivative((lambda b, *_: b, lambda b, _z, x, y: -(b * (x / y).of("trunc"))))
POW: Final = Derivative(
    (
        _power_of_base,
        # a base below 0 has powers at whole numbers only, so they have no slope
        lambda b, z, x, _y: (x > 0.0).choose(b * z * x.of("log"), 0.0),
    )
)
SELECT: Final = Derivative(takes_first=lambda condition, _x, _y: condition)
MINIMUM: Final = Derivative(takes_first=lambda x, y: x < y)
MAXIMUM: Final = Derivative(takes_first=lambda x, y: x > y)
NEG: Final = _of_one(lambda b, *_: -b)
ABS: Final = _of_one(lambda b, _z, x: (x > 0.0).choose(b, (x < 0.0).choose(-b, 0.0)))
SQRT: Final = _of_one(lambda b, z, _x: _unless_infinite(z.is_zero(), b * 0.5 / z))
CBRT: Final = _of_one(lambda b, z, x: _unless_infinite(x.is_zero(), b * z / (3.0 * x)))
EXP: Final = _of_one(lambda b, z, _x: b * z)
LOG: Final = _of_one(lambda b, _z, x: _over(b, x))
SIN: Final = _of_one(lambda b, _z, x: b * x.of("cos"))
COS: Final = _of_one(lambda b, _z, x: -(b * x.of("sin")))
TAN: Final = _of_one(lambda b, z, _x: b * (1.0 + z * z))
ARCSIN: Final = _of_one(_asin)
ARCCOS: Final = _of_one(lambda b, z, x: -_asin(b, z, x))
ARCTAN: Final = _of_one(lambda b, _z, x: b / (1.0 + x * x))
SINH: Final = _of_one(lambda b, _z, x: b * x.of("cosh"))
COSH: Final = _of_one(lambda b, _z, x: b * x.of("sinh"))
TANH: Final = _of_one(_tanh)
ARCSINH: Final = _of_one(_asinh)
ARCCOSH: Final = _of_one(_acosh)
ARCTANH: Final = _of_one(lambda b, _z, x: _over(b, (1.0 - x) * (1.0 + x)))
CAST: Final = _of_one(lambda b, _z, x: Term(x.by.converted(b.value, x.value), x.by))
