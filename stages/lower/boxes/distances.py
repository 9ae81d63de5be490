"""Find how far a displacement leads where its distance goes on for ever.

A distance without an end is made of numbers, scalar parameters and regions of these. Beyond the
last edge of its regions it is constant; which constant it is, the call decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Final, TypeAlias

from ....runtime.language.dimension import Dimension
from ...ir import bounds
from ...ir.bounds import Bound, Const, ScalarSymbol
from ...ir.dataflow import Displace, Index, Input, Literal, Map, Ref, Region, Scalar, Shift, Value

Distances: TypeAlias = tuple[Bound, ...] | None  # None says that only data know them

MOST: Final = 64
OPERATIONS: Final[dict[str, Callable[..., Bound]]] = {
    "add": bounds.add,
    "sub": bounds.subtract,
    "mul": bounds.multiply,
    "neg": lambda value: bounds.multiply(value, -1),
    "minimum": bounds.minimum,
    "maximum": bounds.maximum,
    "cast": lambda value: value,
}


def distances(values: Sequence[Value], ref: Ref, dim: Dimension) -> Distances:
    """Return what a row of integers may be along `dim` beyond the ends of all fields in it."""
    done: dict[Ref, Distances] = {}
    stack = [ref]
    while stack:
        missing = [each for each in values[stack[-1]].operands if each not in done]
        stack += missing
        if not missing:
            row = stack.pop()
            done[row] = _of(values[row], dim, done)
    return done[ref]


def _of(value: Value, dim: Dimension, done: dict[Ref, Distances]) -> Distances:
    match value:
        case Input() if dim in value.dims:  # ends by itself
            return ()
        case Index():  # whatever it leads to is clamped
            return ()
        case Literal():
            is_whole = value.dtype.startswith(("int", "uint"))
            return (Const(int(value.text)),) if is_whole else None
        case Scalar():
            return (ScalarSymbol(value.name),) if value.dtype.startswith(("int", "uint")) else None
        case Region():
            return _joined([done[value.then], done[value.otherwise]])
        case Map(op="select"):
            return _joined([done[each] for each in value.args[1:]])
        case Map():
            return _combined(OPERATIONS.get(value.op), [done[each] for each in value.args])
        case Shift() | Displace():
            return done[value.arg]
    return None


def _joined(parts: Sequence[Distances]) -> Distances:
    found: dict[Bound, None] = {}
    for part in parts:
        if part is None:
            return None
        found |= dict.fromkeys(part)
    return tuple(found) if len(found) <= MOST else None


def _combined(operation: Callable[..., Bound] | None, parts: Sequence[Distances]) -> Distances:
    if () in parts:
        return ()
    known = [part for part in parts if part is not None]
    if operation is None or len(known) < len(parts):
        return None
    return _joined([tuple(operation(*each) for each in product(*known))])
