"""The instructions that compute an operation of the language, with the values of compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ...runtime.language.operations import BY_NAME
from ...runtime.process import CodegenError
from ..ir.loops import ITEMSIZES

Emit = Callable[[str, Sequence[str], str], str]  # from a name, operands and a dtype to a place

BY_SIZE: Final = ("select", "copy")
_SHORT: Final = {"float32": "f32", "float64": "f64"}
_VECTORISED: Final = ("sin", "cos")  # by the C library where `numerics` is not strict


def compute(
    emit: Emit,
    op: str,
    dtype: str,
    args: Sequence[str],
    dtypes: Sequence[str],
    own: bool,
    exponent: str = "",
) -> str:
    """Emit the instructions of an operation and return the place of its result.

    `own` takes our transcendental functions; `exponent` is the text of a constant second operand.
    """
    match op:
        case "cast":
            return args[0] if dtype == dtypes[0] else emit(f"cast.{dtype}.{dtypes[0]}", args, dtype)
        case "select":
            return emit(f"select.{ITEMSIZES[dtype]}", args, dtype)
        case "pow":
            return _power(emit, dtype, args, dtypes, own, exponent)
    if own and _is_our_function(op, dtype):
        return emit(f"own_{op}.{dtype}", args, dtype)
    if own and op in _VECTORISED:
        raise CodegenError(f"No instruction has the values of a vectorised '{op}'.")
    if op == "abs" and (dtypes[0] == "bool" or dtypes[0].startswith("uint")):
        return args[0]
    return emit(f"{op}.{dtypes[0]}", args, dtype)


def _is_our_function(op: str, dtype: str) -> bool:
    if op not in BY_NAME or BY_NAME[op].ulps == 0:
        return False
    from ..codegen.mathematics import NAMES  # with their texts

    return f"{op}_{_SHORT.get(dtype)}" in NAMES


def _power(
    emit: Emit, dtype: str, args: Sequence[str], dtypes: Sequence[str], own: bool, exponent: str
) -> str:
    base, power = args
    kind, of_power = np.dtype(dtype).kind, np.dtype(dtypes[1]).kind

    def cast(to: str, place: str, of: str) -> str:
        return place if to == of else emit(f"cast.{to}.{of}", [place], to)

    if kind != "f":
        if of_power == "f":
            wide = [cast("float64", place, of) for place, of in zip(args, dtypes, strict=True)]
            made = emit("library_pow.float64", wide, "float64")
            return emit(f"cast.{dtype}.float64", [made], dtype)
        wide_power = "uint64" if of_power == "u" else "int64"
        return emit(f"pow.{dtype}.{wide_power}", [base, cast(wide_power, power, dtypes[1])], dtype)
    if own:
        factors = _small(exponent, dtypes[1])
        if factors:
            made = base
            for _ in range(factors - 1):
                made = emit(f"mul.{dtype}", [made, base], dtype)
            return made
        return emit(f"own_pow.{dtype}", [base, cast(dtype, power, dtypes[1])], dtype)
    name = "pow" if of_power == "f" else "library_pow"
    return emit(f"{name}.{dtype}", [base, cast(dtype, power, dtypes[1])], dtype)


def _small(exponent: str, dtype: str) -> int:
    """Return an exponent of which compiled code makes products, else 0."""
    if not exponent or dtype not in ("float32", "float64", "int32", "int64"):
        return 0
    number = float(exponent)
    return int(number) if number in (1.0, 2.0, 3.0) else 0
