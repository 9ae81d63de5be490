"""Settled bounds: long bounds that become symbols, so that other bounds do not contain their text.

A settled bound is a quotient by 1, which the functions of `bounds` treat as opaque. The boxes of a
long chain of regions stay short.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from .bounds import Apply, Bound, Const, TableBound, is_long, parts


def settled(bound: Bound) -> Bound:
    """Return a long bound as one symbol."""
    inner = bound.args[0] if isinstance(bound, Apply) and bound.op == "add" else bound
    is_open = is_long(bound) and not is_settled(inner)
    return Apply("floordiv", (bound, Const(1))) if is_open else bound


def is_settled(bound: Bound) -> TypeGuard[Apply]:
    """Tell whether a bound is settled; its value is that of its first argument."""
    return isinstance(bound, Apply) and bound.op == "floordiv" and bound.args[1] == Const(1)


def opened(bound: Bound) -> Bound:
    """Return a settled bound as it was before, any other one as it is.

    >>> from fieldforge.stages.ir.bounds import ScalarSymbol, least
    >>> long = least(ScalarSymbol(f"a_long_name_of_number_{number}") for number in range(10))
    >>> settled(long) == long, opened(settled(long)) == long, opened(long) == long
    (False, True, True)
    """
    return bound.args[0] if is_settled(bound) else bound


def shared(bounds: Iterable[Bound]) -> list[Bound]:
    """Return the long parts and the bounds of tables, each once, before those that contain them."""
    found = dict.fromkeys(parts(*bounds))
    return [part for part in found if isinstance(part, TableBound) or is_long(part)]
