"""Functions of GTScript that are made of several operations of the dataflow IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...ir.stencil import Ref
from ...parse.source import Located
from .error_function import erf, erfc
from .scope import Scope
from .typing import FLOATS, choice, logic, operation

LOG10_OF_E: Final = "0.4342944819032518"


def _log10(scope: Scope, arg: Ref, node: Located) -> Ref:
    log = operation(scope, "log", (arg,), node)
    factor = scope.number(scope.dtype(log), LOG10_OF_E, node)
    return operation(scope, "mul", (log, factor), node)


def _round(scope: Scope, arg: Ref, node: Located) -> Ref:
    """Round halves to even."""
    if scope.dtype(arg) not in FLOATS:
        return arg
    dtype = scope.dtype(arg)
    half, two = (scope.number(dtype, text, node) for text in ("0.5", "2.0"))
    near, part = _parts(scope, arg, node)
    is_odd = operation(
        scope,
        "ne",
        (operation(scope, "mod", (near, two), node), scope.number(dtype, "0.0", node)),
        node,
    )
    tie = logic(scope, "and", (operation(scope, "eq", (part, half), node), is_odd), node)
    away = logic(scope, "or", (operation(scope, "gt", (part, half), node), tie), node)
    return choice(scope, away, _further(scope, arg, near, node), near, node)


def _round_away(scope: Scope, arg: Ref, node: Located) -> Ref:
    """Round halves away from zero."""
    if scope.dtype(arg) not in FLOATS:
        return arg
    near, part = _parts(scope, arg, node)
    half = scope.number(scope.dtype(arg), "0.5", node)
    away = operation(scope, "ge", (part, half), node)
    return choice(scope, away, _further(scope, arg, near, node), near, node)


def _parts(scope: Scope, arg: Ref, node: Located) -> tuple[Ref, Ref]:
    """Return the whole part, and the size of the rest, which is exact."""
    near = operation(scope, "trunc", (arg,), node)
    rest = operation(scope, "sub", (arg, near), node)
    return near, operation(scope, "abs", (rest,), node)


def _further(scope: Scope, arg: Ref, near: Ref, node: Located) -> Ref:
    """Return the next whole number away from zero."""
    dtype = scope.dtype(arg)
    zero, one = (scope.number(dtype, text, node) for text in ("0.0", "1.0"))
    below = operation(scope, "lt", (arg, zero), node)
    down, up = (operation(scope, op, (near, one), node) for op in ("sub", "add"))
    return choice(scope, below, down, up, node)


FUNCTIONS: Final[dict[str, Callable[[Scope, Ref, Located], Ref]]] = {
    "log10": _log10,
    "round": _round,
    "round_away_from_zero": _round_away,
    "erf": erf,
    "erfc": erfc,
}
