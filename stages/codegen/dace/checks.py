"""Checked programs: tasklets note the first store of a number that is not finite.

They write it to the argument `status` of the SDFG, and the entry point returns the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ...ir.loops.kernel import Kernel
from ...ir.loops.nest import Constant, Nest
from ...ir.loops.traverse import nodes_of
from ..rows.checks import NOTE
from ..rows.expressions import is_nothing
from .names import type_name

_BITS: Final = {"float32": ("u32", "0x7f800000u"), "float64": ("u64", "0x7ff0000000000000u")}


def check_functions(
    kernel: Kernel, tests: Mapping[tuple[int, str], int], checked: bool
) -> Iterator[str]:
    """Write the functions that tasklets of a checked program call, and the NaN of missing values.

    They compare bits, so that no compiler flag removes the test.
    """
    yield from finite_functions(kernel, tests)
    if tests:
        yield NOTE
    for dtype in missing_values(kernel) if checked else ():
        real = type_name(dtype)
        suffix = "f" if dtype == "float32" else ""
        yield f'static const {real} nothing_{real} = __builtin_nan{suffix}("");'


def missing_values(kernel: Kernel) -> list[str]:
    """Return the dtypes of the constants that stand for a missing neighbour."""
    rows = (row for nest in nodes_of(kernel, Nest) for row in nest.body)
    return sorted(
        {r.dtype for r in rows if isinstance(r, Constant) and is_nothing(r.text, r.dtype)}
    )


def finite_functions(kernel: Kernel, tests: Mapping[tuple[int, str], int]) -> Iterator[str]:
    """Write the functions that tell whether a number is finite, for the types of tested stores."""
    dtypes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
    for dtype in sorted({dtypes[name] for _, name in tests}):
        (bits, exponent), real = _BITS[dtype], type_name(dtype)
        yield from (
            f"static inline bool finite_{real}({real} a) {{",
            f"  {bits} b;",
            "  __builtin_memcpy(&b, &a, sizeof b);",
            f"  return (b & {exponent}) != {exponent};",
            "}",
        )
