"""The page of builtins, from the table of operations and the other builtins' docstrings."""

from __future__ import annotations

import fieldforge as ff
from fieldforge import experimental
from fieldforge.runtime.language.operation_table import TABLE, Operation
from fieldforge.runtime.language.types import FLOATS, INTEGERS, SCALARS

from .text import documentation, fenced, table

DTYPES = {
    FLOATS: "floats",
    INTEGERS: "integers",
    (*INTEGERS, *FLOATS): "integers, floats",
    SCALARS: "bool, integers, floats",
    ("bool",): "bool",
}
SYMBOLS = {
    "add": "x + y", "sub": "x - y", "mul": "x * y", "div": "x / y", "floordiv": "x // y",
    "mod": "x % y", "pow": "x ** y", "eq": "x == y", "ne": "x != y", "lt": "x < y",
    "le": "x <= y", "gt": "x > y", "ge": "x >= y", "and": "x & y", "or": "x | y",
    "xor": "x ^ y", "not": "~x, not x", "neg": "-x",
}  # fmt: skip
FUNCTIONS = (
    ("where", "where(mask, a, b)", ff.where),
    ("broadcast", "broadcast(x, dims)", ff.broadcast),
    ("astype", "astype(x, dtype)", ff.astype),
    ("neighbor_sum", "neighbor_sum(field, axis=dim)", ff.neighbor_sum),
    ("max_over", "max_over(field, axis=dim)", ff.max_over),
    ("min_over", "min_over(field, axis=dim)", ff.min_over),
    ("concat_where", "concat_where(condition, a, b)", experimental.concat_where),
    ("as_offset", "as_offset(offset, by)", experimental.as_offset),
)
INTRO = """# Builtins

Functions and operators inside field operators, scan operators and, on fields and numbers, in plain Python.
All operands of a pointwise builtin have the same dtype; the language never converts silently.
*Error* is the largest error of a float result in units in the last place (ulp); *exact* results agree bit for bit
in every execution. *Same* means that the result has the dtype of the operands. [Loops](../loops.md#transcendental-functions) lists the measured errors of compiled code.

*Integers* are `int8` to `int64` and `uint8` to `uint64`; *floats* are `float32` and `float64`.
"""


def page() -> str:
    """Return the page."""
    operators = [row for row in TABLE if row.name in SYMBOLS]
    functions = sorted((row for row in TABLE if row.builtin), key=lambda row: row.builtin)
    parts = [INTRO, "## Operators\n", table(HEADS, map(_operator, operators)), ""]
    parts += ["## Pointwise functions\n", table(HEADS, map(_function, functions)), ""]
    parts.append("## Other functions\n")
    for name, call, function in FUNCTIONS:
        parts += [f"### {name}\n", f"`{call}`\n", fenced(documentation(function, name)), ""]
    return "\n".join(parts)


HEADS = ("builtin", "meaning", "domain", "dtypes", "result", "error", "example")


def _operator(row: Operation) -> tuple[str, ...]:
    return (f"`{SYMBOLS[row.name]}`", *_rest(row))


def _function(row: Operation) -> tuple[str, ...]:
    operands = ", ".join("xyz"[: row.arity])
    return (f'<a id="{row.builtin}"></a>`{row.builtin}({operands})`', *_rest(row))


def _rest(row: Operation) -> tuple[str, ...]:
    """Return the cells of a row after the first."""
    return (
        row.meaning,
        row.domain or "all",
        DTYPES[row.takes],
        "bool" if row.gives == "bool" else "same",
        f"{row.ulps} ulp" if row.ulps else "exact",
        f"`{row.example}`",
    )
