"""Integer scalars that know the integer that they would be without a limit of bits.

Arithmetic of the language wraps, bounds of domains and regions do not: with the largest int32 as
`n`, `K < n + 1` holds on every level. So a scalar that has wrapped keeps the exact value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

LARGEST_POWER: Final = 8  # a literal in a bound
FARTHEST: Final = 2**64  # beyond every index; exact values stop here, so that none grows for ever

# Classes of their own, so that a scalar can have an attribute
_WRAPPED: Final[Mapping[type, type]] = {
    each: type(f"wrapped_{each.__name__}", (each,), {})
    for each in (
        np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64
    )
}  # fmt: skip


def _divided(left: int, right: int) -> int:
    """Divide toward zero."""
    quotient = _floored(abs(left), abs(right))
    return quotient if (left < 0) == (right < 0) else -quotient


def _floored(left: int, right: int) -> int:
    return left // right if right else 0


def _rest(left: int, right: int) -> int:
    return left % right if right else 0


# The operations that a bound may consist of
_EXACT: Final[Mapping[str, Callable[..., int]]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
    "div": _divided, "floordiv": _floored, "mod": _rest,
    "abs": abs, "minimum": min, "maximum": max, "cast": int, "pow": pow,
}  # fmt: skip


def exact(value: Any) -> int:
    """Return an integer as a bound: the exact one of a scalar that has wrapped.

    Raises:
        TypeError: the value is no integer.

    """
    return value.exact if hasattr(value, "exact") else operator.index(value)


def with_exact(op: str, operands: Sequence[Any], result: Any) -> Any:
    """Return the result of an operation, with the exact one if it has wrapped.

    >>> largest = np.int32(2**31 - 1)
    >>> wrapped = with_exact("add", (largest, np.int32(1)), np.int32(-(2**31)))
    >>> int(wrapped), exact(wrapped), wrapped.dtype
    (-2147483648, 2147483648, dtype('int32'))
    """
    if op not in _EXACT or not all(isinstance(each, np.integer) for each in (result, *operands)):
        return result
    values = [exact(each) for each in operands]
    if op == "pow" and not 0 <= values[1] <= LARGEST_POWER:
        return result
    meant = _EXACT[op](*values)
    if meant == result.item():
        return result
    wrapped = _WRAPPED[result.dtype.type](result)
    wrapped.exact = max(-FARTHEST, min(meant, FARTHEST))
    return wrapped
