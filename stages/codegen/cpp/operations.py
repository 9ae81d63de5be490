"""Operations of the language as C++ expressions, with the values of NumPy's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from .mathematics import function, is_written

# Names of the types in generated code, and what they are without any header.
TYPES: Final = {
    "bool": ("b8", "bool"),
    "int8": ("s8", "__INT8_TYPE__"),
    "uint8": ("u8", "__UINT8_TYPE__"),
    "int16": ("s16", "__INT16_TYPE__"),
    "uint16": ("u16", "__UINT16_TYPE__"),
    "int32": ("s32", "__INT32_TYPE__"),
    "uint32": ("u32", "__UINT32_TYPE__"),
    "int64": ("s64", "__INT64_TYPE__"),
    "uint64": ("u64", "__UINT64_TYPE__"),
    "float32": ("f32", "float"),
    "float64": ("f64", "double"),
}
_SYMBOLS: Final = {
    "add": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
LIBRARY: Final = {
    "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "cbrt": "cbrt",
    "gamma": "tgamma", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
}  # fmt: skip
VECTORISED: Final = ("exp", "log", "pow", "sin", "cos")
DECLARATION: Final = "#pragma omp declare simd notinbranch"


@attrs.frozen
class Expression:
    """A C++ expression and the inline functions, by name, that it calls."""

    text: str
    functions: tuple[tuple[str, str], ...] = ()


def express(op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
    """Return `op` on operands of `dtypes` with a result of `dtype`.

    >>> express("add", "float64", ["a", "b"], ["float64", "float64"]).text
    'a + b'
    """
    result, source = TYPES[dtype][0], dtypes[0]
    if op == "cast":
        return _cast(dtype, source, args[0])
    if op == "select":
        return Expression(f"{args[0]} ? {args[1]} : {args[2]}")
    if op in _SYMBOLS:
        return _narrow(dtype, f"{args[0]} {_SYMBOLS[op]} {args[1]}")
    if op in ("minimum", "maximum"):
        sign = "<" if op == "minimum" else ">"
        first = f"{args[0]} {sign} {args[1]}"
        if _is_float(dtype):
            first = f"({first}) | ({args[0]} != {args[0]})"
        return Expression(f"({first}) ? {args[0]} : {args[1]}")
    if op in LIBRARY:
        return Expression(f"{_builtin(LIBRARY[op], source)}({args[0]})")
    if op == "fma":
        return Expression(f"{_builtin('fma', source)}({', '.join(args)})")
    if op == "div" and _is_float(dtype):
        return Expression(f"{args[0]} / {args[1]}")
    if op == "pow" and _is_float(dtypes[1]) and not _is_float(dtype):
        return _cast(dtype, "float64", f"__builtin_pow(f64({args[0]}), f64({args[1]}))")
    if op in ("div", "floordiv", "mod", "fmod", "pow"):
        name, text = _function(op, dtype, dtypes)
        return Expression(f"{name}({', '.join(args)})", ((name, text),))
    return Expression(_unary(op, source, result, args[0]))


def vectorised(
    op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]
) -> Expression | None:
    """Return `op` by a function of which glibc has a variant for vectors, None if it has none."""
    if op not in VECTORISED or not _is_of_floats(dtype, dtypes):
        return None
    name = op + ("f" if dtype == "float32" else "")
    real = TYPES[dtype][0]
    takes = ", ".join([real] * len(args))
    text = f'{DECLARATION}\nextern "C" {real} {name}({takes}) noexcept;'
    return Expression(f"{name}({', '.join(args)})", ((name, text),))


def written_out(
    op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]
) -> Expression | None:
    """Return `op` by a function of our own, None if there is none.

    >>> written_out("pow", "float64", ["v1", "s32(3)"], ["float64", "int32"]).text
    'v1 * v1 * v1'
    """
    name = f"{op}_{TYPES[dtype][0]}"
    if not is_written(name) or dtypes[0] != dtype:
        return None
    if op == "pow" and (factors := _SMALL_POWERS.get(args[1])):
        return Expression(" * ".join([args[0]] * factors))
    operands = [
        arg if each == dtype else f"{TYPES[dtype][0]}({arg})"
        for arg, each in zip(args, dtypes, strict=True)
    ]
    return Expression(f"{name}({', '.join(operands)})", function(name))


def literal(text: str, dtype: str) -> str:
    """Return a number of the language as a C++ literal of exactly that value.

    >>> literal("0.1", "float64"), literal("-inf", "float32"), literal("3", "int64")
    ('0x1.999999999999ap-4', '(-__builtin_inff())', 's64(3)')
    """
    if dtype == "bool":
        return "true" if text in ("True", "1") else "false"
    if not _is_float(dtype):
        value = int(text)
        if value == -(2**63):
            return "s64(-9223372036854775807 - 1)"
        return f"{TYPES[dtype][0]}({value}{'u' if value >= 2**63 else ''})"
    suffix = "f" if dtype == "float32" else ""
    number = float(np.float32(float(text))) if dtype == "float32" else float(text)
    if math.isnan(number):
        return f'__builtin_nan{suffix}("")'
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    size = f"__builtin_inf{suffix}()" if math.isinf(number) else _hexadecimal(abs(number)) + suffix
    return f"(-{size})" if sign else size


def _hexadecimal(number: float) -> str:
    """Spell a float exactly, without the zeros that mean nothing."""
    mantissa, _, exponent = number.hex().partition("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{exponent}"


def _is_float(dtype: str) -> bool:
    return dtype.startswith("float")


def _is_of_floats(dtype: str, dtypes: Sequence[str]) -> bool:
    return _is_float(dtype) and all(each == dtype for each in dtypes)


def _is_unsigned(dtype: str) -> bool:
    return dtype.startswith("uint")


def _builtin(name: str, dtype: str) -> str:
    return f"__builtin_{name}{'f' if dtype == 'float32' else ''}"


def _narrow(dtype: str, text: str) -> Expression:
    """Wrap what C++ computes in `int` back to the small type."""
    if dtype in ("int8", "uint8", "int16", "uint16", "bool"):
        return Expression(f"{TYPES[dtype][0]}({text})")
    return Expression(text)


def _unary(op: str, source: str, result: str, arg: str) -> str:
    if op == "not":
        return f"!{arg}"
    if op == "neg":
        return f"-{arg}" if _is_float(source) else f"{result}(-{arg})"
    if op == "abs":
        if _is_float(source):
            return f"{_builtin('fabs', source)}({arg})"
        return (
            arg
            if _is_unsigned(source) or source == "bool"
            else f"{result}({arg} < 0 ? -{arg} : {arg})"
        )
    size = f"{_builtin('fabs', source)}({arg})"
    infinity = f"{_builtin('inf', source)}()"
    match op:
        case "isnan":
            return f"{arg} != {arg}"
        case "isinf":
            return f"{size} == {infinity}"
        case "isfinite":
            return f"{size} < {infinity}"
    raise TypeError(f"The C++ writer does not know the operation '{op}'.")


def _cast(dtype: str, source: str, arg: str) -> Expression:
    if dtype == source:
        return Expression(arg)
    if dtype == "bool":
        return Expression(f"{arg} != 0")
    target = TYPES[dtype][0]
    if not _is_float(source) or _is_float(dtype):
        return Expression(f"{target}({arg})")
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
    elif _is_float(dtype):
        body = _float_division(op, dtype)
    else:
        body = _integer_division(op, dtype, result)
    lines = "\n".join(f"  {line}" for line in body)
    return name, f"static inline {result} {name}({left} a, {right} b) {{\n{lines}\n}}"


def _integer_division(op: str, dtype: str, result: str) -> list[str]:
    lines = ["if (b == 0) return 0;"]
    if not _is_unsigned(dtype):
        # MIN / -1 does not fit and would trap
        lines.append(
            f"if (b == -1) return {result}(-a);"
            if op in ("div", "floordiv")
            else "if (b == -1) return 0;"
        )
    if op in ("div", "fmod") or _is_unsigned(dtype):
        return [*lines, f"return {result}(a {'/' if op in ('div', 'floordiv') else '%'} b);"]
    lines.append(f"const {result} r = {result}(a % b);")
    lines.append("const bool down = r != 0 && (r < 0) != (b < 0);")
    value = "a / b - (down ? 1 : 0)" if op == "floordiv" else "down ? r + b : r"
    return [*lines, f"return {result}({value});"]


def _float_division(op: str, dtype: str) -> list[str]:
    fmod, sign, floor = (_builtin(name, dtype) for name in ("fmod", "copysign", "floor"))
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


def _power(base: str, exponent: str, result: str) -> list[str]:
    if _is_float(base):
        return [f"return {_builtin('pow', base)}(a, {result}(b));"]
    lines = []
    if not _is_unsigned(exponent):
        minus = " : a == -1 ? (b % 2 ? -1 : 1)" if not _is_unsigned(base) else ""
        lines.append(f"if (b < 0) return {result}(a == 1 ? 1{minus} : 0);")
    return [
        *lines,
        "u64 product = 1, square = u64(a), rest = u64(b);",
        "for (; rest; rest >>= 1, square *= square)",
        "  if (rest & 1) product *= square;",
        f"return {result}(product);",
    ]


# a product of up to three is as near as a power is
_SMALL_POWERS: Final = {
    literal(f"{power}{rest}", dtype): power
    for power in (1, 2, 3)
    for dtype, rest in (("float32", ".0"), ("float64", ".0"), ("int32", ""), ("int64", ""))
}
