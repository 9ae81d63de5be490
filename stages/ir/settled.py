"""Settled bounds: long ones that become an integer of their own, so that others do not hold them.

Such a bound is written as a quotient by 1, which no function of `bounds` takes apart: the boxes of
a long chain of regions stay short.
"""

from __future__ import annotations

from typing import TypeGuard

from .bounds import Apply, Bound, Const, is_long


def settled(bound: Bound) -> Bound:
    """Return a bound that is long as one symbol."""
    inner = bound.args[0] if isinstance(bound, Apply) and bound.op == "add" else bound
    if not is_long(bound) or is_settled(inner):
        return bound
    return Apply("floordiv", (bound, Const(1)))


def is_settled(bound: Bound) -> TypeGuard[Apply]:
    """Tell whether a bound stands for an integer of its own: that of its first argument."""
    return isinstance(bound, Apply) and bound.op == "floordiv" and bound.args[1] == Const(1)
