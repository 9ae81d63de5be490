"""Name the field that is too small for an embedded call, in the words of compiled calls.

Embedded execution finds that a result does not cover an output, not which input it lacks. The
reference backend knows the range that each field needs; it is asked only after a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from ...runtime.language.argument_binding import bind_arguments
from ...runtime.process import DomainError, FieldforgeError, IndexOutOfBounds
from ..backends.recipes import reference
from ..builds.building import build
from ..engine.engine import engine
from ..variants.call_shape import CallShape, Provider

Call: TypeAlias = tuple[CallShape, tuple[Any, ...], Mapping[str, Any]]


@contextmanager
def explained_ranges(name: str, call: Callable[[], Call], provider: Provider) -> Iterator[None]:
    """Replace `IndexOutOfBounds` in the block by one that names the field that is too small.

    `call` returns the shape of the call, and its arguments by position and keyword.
    """
    try:
        yield
    except IndexOutOfBounds as error:
        found = _too_small(name, *call(), provider)
        if found is None:
            raise
        hints = dict.fromkeys((*error.hints, *found.hints))  # the first knows the table at fault
        raise IndexOutOfBounds(found.message, hints=tuple(hints)) from error


def _too_small(
    name: str,
    shape: CallShape,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    provider: Provider,
) -> DomainError | None:
    """Return the error of a compiled call; None if its checks pass or it cannot be compiled."""
    try:
        named = bind_arguments(name, shape.parameters, args, kwargs)
        values = shape.with_fields(named)
        variant = shape.variant(values, provider)
        entry = build(shape.source(), reference(), variant, engine())
        entry.check(*values.values(), offset_provider=provider)
    except DomainError as error:
        return error
    except FieldforgeError:
        return None
    return None
