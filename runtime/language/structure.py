"""Tuples and named collections as trees: look inside, map over the leaves, build alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..process.errors import ArgumentError
from .collection import is_collection, keys_of


def elements(value: Any) -> tuple[Any, ...] | None:
    """Return the elements of a tuple or named collection in order, None for anything else.

    >>> elements((1, (2, 3))), elements(4)
    ((1, (2, 3)), None)
    """
    if isinstance(value, tuple):
        return tuple(value)
    kind = type(value)
    return tuple(getattr(value, key) for key in keys_of(kind)) if is_collection(kind) else None


def rebuilt(like: Any, parts: tuple[Any, ...]) -> Any:
    """Return `parts` as a tuple or collection of the class of `like`."""
    return type(like)(parts) if type(like) is tuple else type(like)(*parts)


def map_leaves(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """Apply `function` to the corresponding leaves of trees of one structure.

    >>> map_leaves(max, (1, (5, 2)), (3, (4, 0)))
    (3, (5, 2))
    """
    parts = elements(first)
    if parts is None:
        if any(elements(other) is not None for other in others):
            raise ArgumentError("Expected values of the same structure, got a tuple and a leaf.")
        return function(first, *others)
    columns = [parts, *(_same_length(parts, other) for other in others)]
    return rebuilt(first, tuple(map_leaves(function, *row) for row in zip(*columns, strict=True)))


def leaves_of(value: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the leaves depth first, each with its path.

    >>> list(leaves_of(("a", ("b",))))
    [((0,), 'a'), ((1, 0), 'b')]
    """
    parts = elements(value)
    if parts is None:
        yield path, value
        return
    for index, part in enumerate(parts):
        yield from leaves_of(part, (*path, index))


def _same_length(parts: tuple[Any, ...], other: Any) -> tuple[Any, ...]:
    found = elements(other)
    if found is None or len(found) != len(parts):
        got = "a single value" if found is None else f"{len(found)} elements"
        raise ArgumentError(f"Expected a tuple of {len(parts)} elements, got {got}.")
    return found
