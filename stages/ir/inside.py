"""Walk values of the IRs, whatever their classes: what a value consists of are its fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, get_args

from ...runtime.language import Dimension
from ...runtime.process import classes
from .bounds import Bound

BOUNDS = get_args(Bound)


def inside(value: Any) -> Sequence[Any]:
    """Return what a value consists of: items of a tuple, fields of a node; nothing of bounds."""
    if isinstance(value, tuple):
        return value
    cls: type = type(value)
    return [getattr(value, name) for name in _fields(cls)]


@cache
def _fields(cls: type) -> tuple[str, ...]:
    is_node = classes.has(cls) and not issubclass(cls, (*BOUNDS, Dimension))
    return tuple(field.name for field in classes.fields(cls)) if is_node else ()


def values_of(value: object, *kinds: type[Any]) -> Iterator[Any]:
    """Yield the values of some classes in a tree, also those in its rows and marks."""
    pending, wanted = [value], frozenset(kinds)
    while pending:
        part = pending.pop()
        if type(part) in wanted:
            yield part
        pending += reversed(inside(part))


def bounds_of(value: object) -> Iterator[Bound]:
    """Yield the bounds in a tree, in the order of its fields."""
    yield from values_of(value, *BOUNDS)
