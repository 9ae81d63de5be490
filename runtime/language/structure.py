"""Tuples and named collections as trees: their elements, their leaves, maps over leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from ..process import ArgumentError
from .collection import is_collection, keys_of

Kinds: TypeAlias = type | tuple[type, ...]


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
    """Return `parts` as a tuple or as a collection of the same class as `like`."""
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


def on_leaves(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as one that takes trees of tuples and collections.

    >>> on_leaves(lambda x, y: x * y)((1, (2, 3)), (4, (5, 6)))
    (4, (10, 18))
    """
    return lambda first, *others: map_leaves(function, first, *others)


def tree_map(
    function: Callable[..., Any] | None = None,
    *,
    collection_type: Kinds = tuple,
    result_collection_constructor: Callable[[Any, list[Any]], Any] | None = None,
    unpack: bool = False,
    with_path_arg: bool = False,
) -> Any:
    """Return `function` as one that takes nested containers; without it, return a decorator.

    Args:
        function: is called with corresponding leaves of its arguments.
        collection_type: classes of what is looked into; several need a constructor.
        result_collection_constructor: makes a container of (the original, its new elements).
        unpack: whether `function` returns tuples, of which a tuple of trees is made.
        with_path_arg: whether `function` takes the place of the leaf as keyword `path`.

    >>> tree_map(lambda x: x + 1)(((1, 2), 3))
    ((2, 3), 4)
    >>> tree_map(unpack=True)(lambda x: (x, -x))((1, (2,)))
    ((1, (2,)), (-1, (-2,)))

    """
    make = result_collection_constructor
    if make is None:
        if isinstance(collection_type, tuple):
            raise ArgumentError(
                "'tree_map' of several container classes needs 'result_collection_constructor'."
            )
        make = lambda _, parts: collection_type(parts)  # noqa: E731  (a function of two lines)

    def decorate(leaf: Callable[..., Any]) -> Callable[..., Any]:
        def mapped(trees: Sequence[Any], path: tuple[int, ...]) -> Any:
            if not isinstance(trees[0], collection_type):
                return leaf(*trees, path=path) if with_path_arg else leaf(*trees)
            lengths = {len(t) if isinstance(t, collection_type) else None for t in trees}  # type: ignore[arg-type]  # containers have a length
            if len(lengths) != 1:
                raise ArgumentError("'tree_map' expected arguments of the same structure.")
            rows = enumerate(zip(*trees, strict=True))
            parts = [mapped(row, (*path, index)) for index, row in rows]
            if unpack:
                return tuple(make(trees[0], list(column)) for column in zip(*parts, strict=True))
            return make(trees[0], parts)

        return lambda *trees: mapped(trees, ())

    return decorate if function is None else decorate(function)


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
