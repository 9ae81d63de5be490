"""Settled bounds: long bounds that become symbols, so that other bounds do not contain their text.

A settled bound is a quotient by 1, which the functions of `bounds` treat as opaque. The boxes of a
long chain of regions stay short.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from .bounds import Apply, Bound, Const, TableBound, arguments, is_long


def settled(bound: Bound) -> Bound:
    """Return a long bound as one symbol."""
    inner = bound.args[0] if isinstance(bound, Apply) and bound.op == "add" else bound
    if not is_long(bound) or is_settled(inner):
        return bound
    return Apply("floordiv", (bound, Const(1)))


def is_settled(bound: Bound) -> TypeGuard[Apply]:
    """Tell whether a bound is settled; its value is that of its first argument."""
    return isinstance(bound, Apply) and bound.op == "floordiv" and bound.args[1] == Const(1)


def shared(bounds: Iterable[Bound]) -> list[Bound]:
    """Return the long parts and the bounds of tables, each once, before those that contain them."""
    done: dict[Bound, None] = {}
    pending = [(bound, False) for bound in bounds][::-1]
    while pending:
        part, ready = pending.pop()
        if ready:
            done[part] = None
        elif part not in done and isinstance(part, Apply | TableBound):
            pending.append((part, True))
            pending += [(inner, False) for inner in reversed(arguments(part))]
    return [part for part in done if isinstance(part, TableBound) or is_long(part)]
