"""Functions of GTScript that are made of several operations of the dataflow IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....runtime.process import classes
from ...ir.stencil import Ref
from ...parse.source import Located
from .scope import Scope
from .typing import FLOATS, WIDEST, cast, choice, logic, operation

# `erf` and `erfc` are made of rational functions on intervals of |x|, in double precision.
# Intervals and coefficients are those of the C library that FreeBSD and musl share; where |x| is
# large, exp(-x*x) is split so that the rounding of the square does not count.
_AT_ONE: Final = "0.845062911510467529297"  # erf(1), to the bits of a float32
SMALL, MIDDLE, LARGE = "0.84375", "1.25", "2.857142857142857"

# numerator and denominator, from the constant term upwards
_NEAR_ZERO: Final = (
    (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
     -5.77027029648944159157e-03, -2.37630166566501626084e-05),
    (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
     1.32494738004321644526e-04, -3.96022827877536812320e-06),
)  # fmt: skip
_NEAR_ONE: Final = (
    (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
     3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
     -2.16637559486879084300e-03),
    (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
     1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02),
)  # fmt: skip
_NEAR_TWO: Final = (
    (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01,
     -6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02,
     -8.12874355063065934246e01, -9.81432934416914548592e00),
    (1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02,
     6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02,
     6.57024977031928170135e00, -6.04244152148580987438e-02),
)  # fmt: skip
_BEYOND: Final = (
    (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01,
     -1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03,
     -4.83519191608651397019e02),
    (1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03,
     3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02,
     -2.24409524465858183362e01),
)  # fmt: skip

_Rational = tuple[Sequence[float], Sequence[float]]


@classes.frozen
class _Arithmetic:
    """Writes operations on doubles at one place of the text."""

    scope: Scope
    node: Located

    def number(self, text: str) -> Ref:
        """Add a number."""
        return self.scope.number(WIDEST, text, self.node)

    def __call__(self, op: str, *args: Ref | str) -> Ref:
        """Add an operation; texts are numbers."""
        rows = [self.number(arg) if isinstance(arg, str) else arg for arg in args]
        return operation(self.scope, op, rows, self.node)

    def pick(self, test: Ref, then: Ref | str, otherwise: Ref | str) -> Ref:
        """Add a choice."""
        yes, no = (
            self.number(each) if isinstance(each, str) else each for each in (then, otherwise)
        )
        return choice(self.scope, test, yes, no, self.node)

    def rational(self, given: _Rational, at: Ref) -> Ref:
        """Add a quotient of two polynomials, by Horner's rule."""
        over, under = (self._polynomial(each, at) for each in given)
        return self("div", over, under)

    def _polynomial(self, terms: Sequence[float], at: Ref) -> Ref:
        value = self.number(repr(terms[-1]))
        for term in reversed(terms[:-1]):
            value = self("add", repr(term), self("mul", at, value))
        return value


def _erf(scope: Scope, arg: Ref, node: Located) -> Ref:
    """Add the error function."""
    do, x, size = _begun(scope, arg, node)
    near_zero = do("add", x, do("mul", x, do.rational(_NEAR_ZERO, do("mul", x, x))))
    near_one = do("add", _AT_ONE, do.rational(_NEAR_ONE, do("sub", size, "1.0")))
    far = do("sub", "1.0", _tail(do, size))
    positive = do.pick(do("lt", size, MIDDLE), near_one, do.pick(do("lt", size, "6.0"), far, "1.0"))
    signed = do.pick(do("lt", x, "0.0"), do("neg", positive), positive)
    return _ended(do, arg, x, do.pick(do("lt", size, SMALL), near_zero, signed))


def _erfc(scope: Scope, arg: Ref, node: Located) -> Ref:
    """Add one minus the error function, exact where that is small."""
    do, x, size = _begun(scope, arg, node)
    part = do("mul", x, do.rational(_NEAR_ZERO, do("mul", x, x)))
    below = do("sub", "1.0", do("add", x, part))
    above = do("sub", "0.5", do("add", part, do("sub", x, "0.5")))
    near_zero = do.pick(do("lt", x, "0.25"), below, above)
    step = do.rational(_NEAR_ONE, do("sub", size, "1.0"))
    right = do("sub", do("sub", "1.0", _AT_ONE), step)
    left = do("add", "1.0", do("add", _AT_ONE, step))
    tail = do.pick(do("lt", size, "28.0"), _tail(do, size), "0.0")
    is_left = do("lt", x, "0.0")
    near_one = do.pick(is_left, left, right)
    far = do.pick(is_left, do("sub", "2.0", tail), tail)
    other = do.pick(do("lt", size, MIDDLE), near_one, far)
    return _ended(do, arg, x, do.pick(do("lt", size, SMALL), near_zero, other))


def _begun(scope: Scope, arg: Ref, node: Located) -> tuple[_Arithmetic, Ref, Ref]:
    do, x = _Arithmetic(scope, node), cast(scope, arg, WIDEST, node)
    return do, x, do("abs", x)


def _tail(do: _Arithmetic, size: Ref) -> Ref:
    """Add _erfc(size) for a size of 1.25 or more."""
    inverse = do("div", "1.0", do("mul", size, size))
    near, beyond = (do.rational(each, inverse) for each in (_NEAR_TWO, _BEYOND))
    rest = do.pick(do("lt", size, LARGE), near, beyond)
    rough = cast(do.scope, cast(do.scope, size, "float32", do.node), WIDEST, do.node)
    square = do("exp", do("sub", do("neg", do("mul", rough, rough)), "0.5625"))
    fine = do("mul", do("sub", rough, size), do("add", rough, size))
    return do("div", do("mul", square, do("exp", do("add", fine, rest))), size)


def _ended(do: _Arithmetic, arg: Ref, x: Ref, value: Ref) -> Ref:
    """Let NaN propagate, and return to the type of the argument."""
    found = do.pick(do("ne", x, x), x, value)
    dtype = do.scope.dtype(arg)
    return cast(do.scope, found, dtype if dtype in FLOATS else WIDEST, do.node)


LOG10_OF_E: Final = "0.4342944819032518"


def _log10(scope: Scope, arg: Ref, node: Located) -> Ref:
    log = operation(scope, "log", (arg,), node)
    factor = scope.number(scope.dtype(log), LOG10_OF_E, node)
    return operation(scope, "mul", (log, factor), node)


def _round(scope: Scope, arg: Ref, node: Located) -> Ref:
    """Round halves to even."""
    if scope.dtype(arg) not in FLOATS:
        return arg
    dtype = scope.dtype(arg)
    half, two = (scope.number(dtype, text, node) for text in ("0.5", "2.0"))
    near, part = _parts(scope, arg, node)
    is_odd = operation(
        scope,
        "ne",
        (operation(scope, "mod", (near, two), node), scope.number(dtype, "0.0", node)),
        node,
    )
    tie = logic(scope, "and", (operation(scope, "eq", (part, half), node), is_odd), node)
    away = logic(scope, "or", (operation(scope, "gt", (part, half), node), tie), node)
    return choice(scope, away, _further(scope, arg, near, node), near, node)


def _round_away(scope: Scope, arg: Ref, node: Located) -> Ref:
    """Round halves away from zero."""
    if scope.dtype(arg) not in FLOATS:
        return arg
    near, part = _parts(scope, arg, node)
    half = scope.number(scope.dtype(arg), "0.5", node)
    away = operation(scope, "ge", (part, half), node)
    return choice(scope, away, _further(scope, arg, near, node), near, node)


def _parts(scope: Scope, arg: Ref, node: Located) -> tuple[Ref, Ref]:
    """Return the whole part, and the size of the rest, which is exact."""
    near = operation(scope, "trunc", (arg,), node)
    rest = operation(scope, "sub", (arg, near), node)
    return near, operation(scope, "abs", (rest,), node)


def _further(scope: Scope, arg: Ref, near: Ref, node: Located) -> Ref:
    """Return the next whole number away from zero."""
    dtype = scope.dtype(arg)
    zero, one = (scope.number(dtype, text, node) for text in ("0.0", "1.0"))
    below = operation(scope, "lt", (arg, zero), node)
    down, up = (operation(scope, op, (near, one), node) for op in ("sub", "add"))
    return choice(scope, below, down, up, node)


FUNCTIONS: Final[dict[str, Callable[[Scope, Ref, Located], Ref]]] = {
    "log10": _log10,
    "round": _round,
    "round_away_from_zero": _round_away,
    "erf": _erf,
    "erfc": _erfc,
}
