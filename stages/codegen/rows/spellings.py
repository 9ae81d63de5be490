"""Spell each operation of the language in C++, with the values of NumPy's.

The DaCe writer uses the same spellings in its tasklets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from .expressions import TYPES, Expression, builtin, is_float, is_unsigned, literal, narrow

Spelling: TypeAlias = Callable[[str, Sequence[str], Sequence[str]], Expression]
"""From the dtype of the result, the operands and their dtypes to the expression."""

# GCC merges both choices of an extremum into one, and turns the test whether an extremum of extrema
# is NaN into a choice between two tests, which it cannot vectorise. Values that it may not take
# apart become one instruction for the extremum and two for NaN.
WHOLE: Final = """\
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define WHOLE(value) __builtin_assoc_barrier(value)
#else
#define WHOLE(value) (value)
#endif"""
_NUMBER: Final = re.compile(r"\(?-?0x[0-9a-f.]+p[+-]\d+f?\)?")  # a literal that is not NaN
SYMBOLS: Final = {
    "add": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
LIBRARY: Final = {
    "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "cbrt": "cbrt",
    "gamma": "tgamma", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
}  # fmt: skip


def symbol(text: str, dtype: str, args: Sequence[str], _: Sequence[str]) -> Expression:
    """Spell an operation as an operator between two operands.

    >>> symbol("+", "int8", ["a", "b"], ["int8", "int8"]).text
    's8(a + b)'
    """
    return narrow(dtype, f"{args[0]} {text} {args[1]}")


def library(name: str, _: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
    """Spell an operation as a call of a function of the C library.

    >>> library("sqrt", "float32", ["a"], ["float32"]).text
    '__builtin_sqrtf(a)'
    """
    return Expression(f"{builtin(name, dtypes[0])}({', '.join(args)})")


def inline(op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
    """Spell an operation as a call of an inline function for its dtypes."""
    name, text = _function(op, dtype, dtypes)
    return Expression(f"{name}({', '.join(args)})", ((name, text),))


def extreme(sign: str) -> Spelling:
    """Spell `minimum` or `maximum`: the second operand unless the first is beyond it, or NaN.

    >>> extreme(">")("float64", ["a", "b"], []).text
    '((a > b) | (a != a)) ? a : b'
    """

    def spell(dtype: str, args: Sequence[str], _: Sequence[str]) -> Expression:
        first = f"{args[0]} {sign} {args[1]}"
        if is_float(dtype):
            first = f"({first}) | ({args[0]} != {args[0]})"
        return Expression(f"({first}) ? {args[0]} : {args[1]}")

    return spell


def _extreme_of_lanes(
    name: str, sign: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]
) -> Expression:
    """Spell the same for loops that a compiler vectorises.

    >>> _extreme_of_lanes("larger", ">", "float64", ["a", "b"], []).text
    'larger_f64(a, b)'
    >>> _extreme_of_lanes("larger", ">", "float64", ["a", "0x0p+0"], []).text  # is not NaN
    '(a <= 0x0p+0) ? 0x0p+0 : a'
    """
    if not is_float(dtype):
        return extreme(sign)(dtype, args, dtypes)
    if _NUMBER.fullmatch(args[1]):
        other = {"<": ">=", ">": "<="}[sign]
        return Expression(f"({args[0]} {other} {args[1]}) ? {args[1]} : {args[0]}")
    real = TYPES[dtype][0]
    called = f"{name}_{real}"
    text = (
        f"static inline {real} {called}({real} a, {real} b) {{\n"
        f"  const {real} beyond = WHOLE(a {sign} b ? a : b);\n"
        "  return WHOLE(a != a ? a : beyond);\n"
        "}"
    )
    return Expression(f"{called}({', '.join(args)})", (("WHOLE", WHOLE), (called, text)))


def _divide(dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
    quotient = f"{args[0]} / {args[1]}"
    return Expression(quotient) if is_float(dtype) else inline("div", dtype, args, dtypes)


def _raise(dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
    if is_float(dtypes[1]) and not is_float(dtype):
        return cast(dtype, "float64", f"__builtin_pow(f64({args[0]}), f64({args[1]}))")
    return inline("pow", dtype, args, dtypes)


def _negate(dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
    negative = f"-{args[0]}"
    return Expression(negative if is_float(dtypes[0]) else f"{TYPES[dtype][0]}({negative})")


def _size(dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
    (arg,), source = args, dtypes[0]
    if is_float(source):
        return Expression(f"{builtin('fabs', source)}({arg})")
    if is_unsigned(source) or source == "bool":
        return Expression(arg)
    return Expression(f"{TYPES[dtype][0]}({arg} < 0 ? -{arg} : {arg})")


def _beside_infinity(sign: str, _: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
    size, infinity = (builtin(name, dtypes[0]) for name in ("fabs", "inf"))
    return Expression(f"{size}({args[0]}) {sign} {infinity}()")


def cast(dtype: str, source: str, arg: str) -> Expression:
    """Convert an operand; floats out of the range of an integer saturate, NaN gives 0."""
    if dtype == source:
        return Expression(arg)
    if dtype == "bool":
        return Expression(f"{arg} != 0")
    target = TYPES[dtype][0]
    if not is_float(source) or is_float(dtype):
        # GCC reads 'f64(f32(r[i]))' behind a parenthesis as a function of an array, and fails
        sign = "+" if arg.startswith(f"{TYPES[source][0]}(") else ""
        return Expression(f"{target}({sign}{arg})")
    bounds = np.iinfo(dtype)
    origin = TYPES[source][0]
    low, high = literal(str(bounds.min), source), literal(str(float(bounds.max + 1)), source)
    name = f"cast_{target}_{origin}"
    least, most = literal(str(bounds.min), dtype), literal(str(bounds.max), dtype)
    inside = f"a == a ? {target}(a) : {target}(0)"
    text = (
        f"static inline {target} {name}({origin} a) {{\n"
        f"  return a < {low} ? {least} : a >= {high} ? {most} : {inside};\n"
        "}"
    )
    return Expression(f"{name}({arg})", ((name, text),))


def _function(op: str, dtype: str, dtypes: Sequence[str]) -> tuple[str, str]:
    """Return name and text of an inline function for a division or a power."""
    left, right = (TYPES[name][0] for name in dtypes)
    result = TYPES[dtype][0]
    name = f"{op}_{left}_{right}"
    if op == "pow":
        body = _power(dtypes[0], dtypes[1], result)
    elif is_float(dtype):
        body = _float_division(op, dtype)
    else:
        body = _integer_division(op, dtype, result)
    lines = "\n".join(f"  {line}" for line in body)
    return name, f"static inline {result} {name}({left} a, {right} b) {{\n{lines}\n}}"


def _integer_division(op: str, dtype: str, result: str) -> list[str]:
    sign, negated = ("/", f"{result}(-a)") if op in ("div", "floordiv") else ("%", "0")
    lines = ["if (b == 0) return 0;"]
    if not is_unsigned(dtype):  # MIN / -1 does not fit and would trap
        lines.append(f"if (b == -1) return {negated};")
    if op in ("div", "fmod") or is_unsigned(dtype):
        return [*lines, f"return {result}(a {sign} b);"]
    value = "a / b - (down ? 1 : 0)" if op == "floordiv" else "down ? r + b : r"
    return [
        *lines,
        f"const {result} r = {result}(a % b);",
        "const bool down = r != 0 && (r < 0) != (b < 0);",
        f"return {result}({value});",
    ]


def _float_division(op: str, dtype: str) -> list[str]:
    fmod, sign, floor = (builtin(name, dtype) for name in ("fmod", "copysign", "floor"))
    if op == "fmod":
        return [f"return {fmod}(a, b);"]
    real, zero, half = TYPES[dtype][0], literal("0.0", dtype), literal("0.5", dtype)
    rest = [
        f"{real} r = {fmod}(a, b);",
        f"const bool down = r != {zero} && (r < {zero}) != (b < {zero});",
    ]
    if op == "mod":
        return [*rest, f"return down ? r + b : r != {zero} ? r : {sign}({zero}, b);"]
    return [
        f"if (b == {zero}) return a / b;",
        *rest,
        f"const {real} q = (a - r) / b - (down ? {literal('1.0', dtype)} : {zero});",
        f"if (q == {zero}) return {sign}({zero}, a / b);",
        f"const {real} whole = {floor}(q);",
        f"return q - whole > {half} ? whole + {literal('1.0', dtype)} : whole;",
    ]


def _float_power(base: str, exponent: str, result: str) -> list[str]:
    power = f"return {builtin('pow', base)}(a, {result}(b));"
    if not is_float(exponent):
        return [power]
    # GCC's vectoriser makes a power of 0.5 a square root, which differs at -inf and at -0.0
    infinity, root = f"{builtin('inf', base)}()", f"{builtin('sqrt', base)}(a)"
    half = f"a == -{infinity} ? {infinity} : {root} + {literal('0.0', base)}"
    return [f"if (b == {literal('0.5', exponent)}) return {half};", power]


def _power(base: str, exponent: str, result: str) -> list[str]:
    if is_float(base):
        return _float_power(base, exponent, result)
    lines = []
    if not is_unsigned(exponent):
        minus = " : a == -1 ? (b % 2 ? -1 : 1)" if not is_unsigned(base) else ""
        lines.append(f"if (b < 0) return {result}(a == 1 ? 1{minus} : 0);")
    return [
        *lines,
        "u64 product = 1, square = u64(a), rest = u64(b);",
        "for (; rest; rest >>= 1, square *= square)",
        "  if (rest & 1) product *= square;",
        f"return {result}(product);",
    ]


SPELLINGS: Final[dict[str, Spelling]] = {
    **{op: partial(symbol, text) for op, text in SYMBOLS.items()},
    **{op: partial(library, name) for op, name in LIBRARY.items()},
    **{op: partial(inline, op) for op in ("floordiv", "mod", "fmod")},
    "div": _divide, "pow": _raise, "neg": _negate, "abs": _size, "fma": partial(library, "fma"),
    "minimum": partial(_extreme_of_lanes, "smaller", "<"),
    "maximum": partial(_extreme_of_lanes, "larger", ">"),
    "not": lambda _, args, __: Expression(f"!{args[0]}"),
    "select": lambda _, args, __: Expression(f"{args[0]} ? {args[1]} : {args[2]}"),
    "isnan": lambda _, args, __: Expression(f"{args[0]} != {args[0]}"),
    "isinf": partial(_beside_infinity, "=="), "isfinite": partial(_beside_infinity, "<"),
    "cast": lambda dtype, args, dtypes: cast(dtype, dtypes[0], args[0]),
}  # fmt: skip
