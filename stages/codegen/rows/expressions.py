"""C++ expressions: the types of generated code, literals, and helpers for spellings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....runtime.process import classes

# Names of the types in generated code, and their definitions without any header.
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


@classes.frozen
class Expression:
    """A C++ expression and the inline functions, by name, that it calls."""

    text: str
    functions: tuple[tuple[str, str], ...] = ()


def literal(text: str, dtype: str) -> str:
    """Return a number of the language as a C++ literal of exactly that value.

    >>> literal("0.1", "float64"), literal("-inf", "float32"), literal("3", "int64")
    ('0x1.999999999999ap-4', '(-__builtin_inff())', 's64(3)')
    """
    if dtype == "bool":
        return "true" if text in ("True", "1") else "false"
    if not is_float(dtype):
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


def is_nothing(text: str, dtype: str) -> bool:
    """Tell whether a constant is NaN, which marks a missing neighbour."""
    return is_float(dtype) and literal(text, dtype).startswith("__builtin_nan")


def _hexadecimal(number: float) -> str:
    """Spell a float exactly, without trailing zeros."""
    mantissa, _, exponent = number.hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}"


def is_float(dtype: str) -> bool:
    """Tell whether a dtype is a floating point type."""
    return dtype.startswith("float")


def is_unsigned(dtype: str) -> bool:
    """Tell whether a dtype is an unsigned integer type."""
    return dtype.startswith("uint")


def builtin(name: str, dtype: str) -> str:
    """Return the compiler builtin for a function of the C library at a dtype."""
    return f"__builtin_{name}{'f' if dtype == 'float32' else ''}"


def narrow(dtype: str, text: str) -> Expression:
    """Convert a result that C++ computes in `int` back to the small type."""
    is_small = dtype in ("int8", "uint8", "int16", "uint16", "bool")
    return Expression(f"{TYPES[dtype][0]}({text})" if is_small else text)


def folded(form: str, texts: Sequence[str]) -> str:
    """Combine some texts, each of them once: two by two in a form."""
    total, *others = dict.fromkeys(texts) or [""]
    for each in others:
        total = form.format(total, each)
    return total
