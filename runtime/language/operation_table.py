"""The one table of the operations of the language: a frozen row for each.

To add an operation, add its row here, its spelling in each writer below `stages/codegen`
(`rows/spellings.py`), and for the first tier its kernel in `runtime/native/rows/operations.inc`.
Embedded execution, parsing, typing, folding, cost rules, the interpreter and the tests derive the
rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from ..process import classes
from . import derivatives as d, operation_values as values
from .types import FLOATS, INTEGERS, SCALARS

Compute: TypeAlias = Callable[..., Any]

NUMBERS: Final = (*INTEGERS, *FLOATS)
BOOL: Final = ("bool",)


@classes.frozen(eq=False, repr=False)  # rows are single, and methods cost import time
class Operation:
    """The properties of an operation, for typing, execution, code generation and documentation.

    Attributes:
        name: the name in the IRs and their listings.
        compute: the NumPy function that defines the values, on arrays and NumPy scalars.
        meaning: one sentence for the reference; the docstring of the builtin.
        example: an expression of the language that is true.
        arity: the number of operands.
        takes: the dtypes of the operands; all operands have the same one. A `select` takes a
            bool before them.
        gives: the dtype of the result: that of the operands, `bool`, or the target of a cast.
        builtin: the name in stencils; empty where no function of the language stands for it.
        domain: where the result is a number; empty for everywhere.
        ulps: the largest error of a float result in units in the last place; 0 is exact, and only
            exact operations are folded.
        cost: the cost of one element, in units of one addition of a vectorised loop.
        is_recomputed: whether a shifted point may compute the value again instead of reading it.
        hides_nan: whether the result may be a number where an operand is NaN.
        derivative: how the result varies with its operands; None if that is not known yet.

    """

    name: str
    compute: Compute
    meaning: str
    example: str
    arity: int = 2
    takes: tuple[str, ...] = NUMBERS
    gives: Literal["operand", "bool", "target"] = "operand"
    builtin: str = ""
    domain: str = ""
    ulps: int = 0
    cost: int = 1
    is_recomputed: bool = True
    hides_nan: bool = False
    derivative: d.Derivative | None = d.INACTIVE

    def __repr__(self) -> str:
        return f"<operation '{self.name}'>"


def _function(name: str, compute: Compute, meaning: str, example: str, **rest: Any) -> Operation:
    """Return the row of a function of one operand whose builtin has its name."""
    return Operation(name, compute, meaning, example, **{"builtin": name, "arity": 1, **rest})


_compare = partial(Operation, takes=SCALARS, gives="bool")
_logic = partial(Operation, takes=BOOL, gives="bool")
_divide = partial(Operation, domain="y != 0; 0 for integers where y is 0")
_binary = partial(_function, arity=2)
_round = partial(_function, takes=FLOATS)
_test = partial(_function, takes=FLOATS, gives="bool")
_transcendental = partial(_function, takes=FLOATS, ulps=4, cost=25, is_recomputed=False)

TABLE: tuple[Operation, ...] = (
    Operation("add", np.add, "Add; integers wrap.", "1 + 2 == 3", derivative=d.ADD),
    Operation("sub", np.subtract, "Subtract; integers wrap.", "1 - 2 == -1", derivative=d.SUB),
    Operation("mul", np.multiply, "Multiply; integers wrap.", "2 * 3 == 6", derivative=d.MUL),
    _divide(
        "div", values.divide, "Divide; integers truncate toward zero.", "-7 / 2 == -3", cost=12,
        derivative=d.DIV,
    ),
    _divide("floordiv", np.floor_divide, "Divide and round down.", "-7 // 2 == -4", cost=20),
    _divide(
        "mod", np.remainder, "Return the remainder with the sign of the divisor.", "-7 % 2 == 1",
        cost=20, is_recomputed=False,
        derivative=d.MOD,
    ),
    Operation(
        "pow", values.power, "Raise to a power; the type is that of the base.",
        "power(2.0, 3.0) == 8.0", builtin="power", domain="x >= 0, or y is a whole number",
        ulps=4, cost=110, is_recomputed=False, hides_nan=True,
        derivative=d.POW,
    ),
    _binary(
        "fmod", np.fmod, "Return the remainder with the sign of the dividend.",
        "fmod(-7.0, 2.0) == -1.0", domain="y != 0; 0 for integers where y is 0",
        cost=20, is_recomputed=False,
        derivative=d.FMOD,
    ),
    _binary(
        "minimum", np.minimum, "Take the smaller value; NaN propagates.", "minimum(1, 2) == 1",
        cost=4,
        derivative=d.MINIMUM,
    ),
    _binary(
        "maximum", np.maximum, "Take the larger value; NaN propagates.", "maximum(1, 2) == 2",
        cost=4,
        derivative=d.MAXIMUM,
    ),
    _compare("eq", np.equal, "Tell where two values are equal.", "1 == 1"),
    _compare("ne", np.not_equal, "Tell where two values differ.", "1 != 2"),
    _compare("lt", np.less, "Tell where the left value is smaller.", "1 < 2"),
    _compare("le", np.less_equal, "Tell where the left value is not larger.", "1 <= 1"),
    _compare("gt", np.greater, "Tell where the left value is larger.", "2 > 1"),
    _compare("ge", np.greater_equal, "Tell where the left value is not smaller.", "1 >= 1"),
    _logic("and", np.bitwise_and, "Tell where both hold.", "(1 < 2) & (2 < 3)"),
    _logic("or", np.bitwise_or, "Tell where at least one holds.", "(1 < 2) | (3 < 2)"),
    _logic("xor", np.bitwise_xor, "Tell where exactly one holds.", "(1 < 2) ^ (3 < 2)"),
    _logic("not", np.logical_not, "Tell where the operand does not hold.", "not 2 < 1", arity=1),
    _function("neg", np.negative, "Return the negative.", "neg(2) == -2", derivative=d.NEG),
    _function("abs", np.absolute, "Return the absolute value.", "abs(-2) == 2", derivative=d.ABS),
    _round(
        "sqrt", np.sqrt, "Return the square root.", "sqrt(2.25) == 1.5", domain="x >= 0",
        cost=16, is_recomputed=False,
        derivative=d.SQRT,
    ),
    _transcendental("exp", np.exp, "Return the exponential.", "exp(0.0) == 1.0", derivative=d.EXP),
    _transcendental(
        "log", np.log, "Return the natural logarithm.", "log(1.0) == 0.0", domain="x > 0",
        derivative=d.LOG,
    ),
    _transcendental(
        "sin", np.sin, "Return the sine.", "sin(0.0) == 0.0", domain="x is finite",
        derivative=d.SIN,
    ),
    _transcendental(
        "cos", np.cos, "Return the cosine.", "cos(0.0) == 1.0", domain="x is finite",
        derivative=d.COS,
    ),
    _transcendental(
        "tan", np.tan, "Return the tangent.", "tan(0.0) == 0.0", domain="x is finite",
        derivative=d.TAN,
    ),
    _transcendental(
        "arcsin", np.arcsin, "Return the inverse sine.", "arcsin(0.0) == 0.0",
        domain="-1 <= x <= 1",
        derivative=d.ARCSIN,
    ),
    _transcendental(
        "arccos", np.arccos, "Return the inverse cosine.", "arccos(1.0) == 0.0",
        domain="-1 <= x <= 1",
        derivative=d.ARCCOS,
    ),
    _transcendental(
        "arctan", np.arctan, "Return the inverse tangent.", "arctan(0.0) == 0.0",
        derivative=d.ARCTAN,
    ),
    _transcendental(
        "sinh", np.sinh, "Return the hyperbolic sine.", "sinh(0.0) == 0.0", derivative=d.SINH,
    ),
    _transcendental(
        "cosh", np.cosh, "Return the hyperbolic cosine.", "cosh(0.0) == 1.0", derivative=d.COSH,
    ),
    _transcendental(
        "tanh", np.tanh, "Return the hyperbolic tangent.", "tanh(0.0) == 0.0", derivative=d.TANH,
    ),
    _transcendental(
        "arcsinh", np.arcsinh, "Return the inverse hyperbolic sine.", "arcsinh(0.0) == 0.0",
        derivative=d.ARCSINH,
    ),
    _transcendental(
        "arccosh", np.arccosh, "Return the inverse hyperbolic cosine.", "arccosh(1.0) == 0.0",
        domain="x >= 1",
        derivative=d.ARCCOSH,
    ),
    _transcendental(
        "arctanh", np.arctanh, "Return the inverse hyperbolic tangent.", "arctanh(0.0) == 0.0",
        domain="-1 < x < 1",
        derivative=d.ARCTANH,
    ),
    _transcendental(
        "cbrt", np.cbrt, "Return the cube root.", "cbrt(8.0) == 2.0", derivative=d.CBRT,
    ),
    _transcendental(
        "gamma", values.gamma, "Return the gamma function.", "gamma(5.0) == 24.0",
        domain="x > 0, or x is no whole number", ulps=10, derivative=None,
    ),
    _round("floor", np.floor, "Round down.", "floor(-2.5) == -3.0"),
    _round("ceil", np.ceil, "Round up.", "ceil(-2.5) == -2.0"),
    _round("trunc", np.trunc, "Round toward zero.", "trunc(-2.5) == -2.0"),
    _test("isfinite", np.isfinite, "Say where a value is neither infinite nor NaN.",
          "isfinite(1.0)"),
    _test("isinf", np.isinf, "Say where a value is infinite.", 'isinf(float64("inf"))'),
    _test("isnan", np.isnan, "Say where a value is NaN.", 'isnan(float64("nan"))'),
    Operation(
        "cast", values.cast,
        "Convert to another dtype; from floats to integers truncate, saturate, and turn NaN to 0.",
        "astype(-2.7, int32) == -2", arity=1, takes=SCALARS, gives="target", hides_nan=True,
        derivative=d.CAST,
    ),
    Operation(
        "select", values.select, "Take the second operand where the first holds, else the third.",
        "(1 if 2 > 1 else 0) == 1", arity=3, takes=SCALARS, hides_nan=True,
        derivative=d.SELECT,
    ),
    Operation(
        "fma", values.fused_multiply_add, "Return the first operand times the second plus the "
        "third, rounded once.", "2.0 * 3.0 + 1.0 == 7.0", arity=3, takes=FLOATS,
        derivative=d.FMA,
    ),
)  # fmt: skip
