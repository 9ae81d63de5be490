"""What lanes do well: which rows compilers vectorise, and which acts are worth a test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ....ir.loops import Compute, If, Instruction, Store, While
from ...acts.act_trees import below, rows_of
from ...rows import VECTORISED, Body, WriterOptions, is_float
from ...schedule.costs import TRANSCENDENTAL, operations, row_cost

HEAVY: Final = 40  # additions: from here on a condition is worth a test that a lane needs it
_WIDE: Final = 64  # bytes of registers whose instructions convert 64-bit integers
_ELEMENTWISE: Final = frozenset({"floor", "ceil", "trunc", "sqrt", "fma"})


def is_heavy(choice: If) -> bool:
    """Tell whether acts are worth a test that a lane needs them."""
    has_loop = any(isinstance(each, While) for each in below([choice]))
    return has_loop or sum(map(row_cost, rows_of([choice]))) >= HEAVY


def is_serial(row: Instruction, body: Body) -> bool:
    """Tell whether compilers do not vectorise a row: scattered stores, functions, conversions."""
    if isinstance(row, Store):
        return row.is_told or row.when is not None
    if not isinstance(row, Compute):
        return False
    options, sources = body.scope.options, {body.rows[each].dtype for each in row.args}
    if row.op == "cast":
        return _is_hard(row.dtype, sources, options)
    if row.op in _ELEMENTWISE:
        return not is_float(row.dtype)
    if row.op in ("div", "floordiv", "mod", "fmod", "pow") and not is_float(row.dtype):
        return True
    if row.op in ("floordiv", "mod", "fmod"):
        return True
    has_vectors = options.own_math or (options.vector_math and row.op in VECTORISED)
    return operations(row.op) >= TRANSCENDENTAL and not has_vectors


def _is_hard(dtype: str, sources: Iterable[str], options: WriterOptions) -> bool:
    """Tell whether a conversion is between floats and integers of 64 bits, or saturates."""
    if is_float(dtype):
        return options.vector_bytes < _WIDE and any(each in ("int64", "uint64") for each in sources)
    return dtype != "bool" and any(map(is_float, sources))
