"""The context of embedded operators: neighbour tables, and the levels that scans walk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from ..language import Dimension, UnitRange, is_table
from ..process import ArgumentError, MissingOffsetError, classes
from .neighbour_table import Connectivity


@classes.frozen
class Context:
    """The offset provider of a call, and the vertical ranges that its statement writes.

    `levels` is None where nothing is written. `walked` collects the axes of the scans that have
    asked for their levels.
    """

    offset_provider: Mapping[str, Any]
    levels: Mapping[Dimension, UnitRange] | None
    walked: set[Dimension] = classes.field(factory=set)


_CONTEXT: Final[ContextVar[Context | None]] = ContextVar("fieldforge_embedded", default=None)


def active() -> bool:
    """Say whether the caller runs inside an embedded operator or program."""
    return _CONTEXT.get() is not None


def levels_along(axis: Dimension) -> UnitRange | None:
    """Return the levels that the running statement writes, None where there is no statement."""
    around = _CONTEXT.get()
    if around is None or around.levels is None:
        return None
    around.walked.add(axis)
    return around.levels.get(axis, UnitRange(0, 0))


def tables() -> Mapping[str, Any]:
    """Return the offset provider of the operator that is running."""
    around = _CONTEXT.get()
    return around.offset_provider if around else {}


def table(name: str) -> Connectivity:
    """Return the neighbour table that the offset provider has under a name."""
    around = _CONTEXT.get()
    provider = around.offset_provider if around else {}
    if not isinstance(provider, Mapping) or name not in provider:
        raise MissingOffsetError.of(name, provider)
    found = provider[name]
    if not is_table(found):
        raise ArgumentError(
            f"Expected a neighbour table for offset '{name}' in the offset provider, "
            f"got an object of type '{type(found).__name__}'.",
            hints=["Make one with 'as_connectivity'."],
        )
    return found  # type: ignore[no-any-return]  # a table: checked above


def table_along(local: Dimension) -> Connectivity:
    """Return the table whose local dimension is `local`; the two mostly have one name."""
    around = _CONTEXT.get()
    provider = around.offset_provider if around else {}
    if local.value not in provider:
        for name in sorted(provider):
            if is_table(provider[name]) and local in provider[name].dims:
                return table(name)
    return table(local.value)


@contextmanager
def running(
    offset_provider: Mapping[str, Any] | None, levels: Mapping[Dimension, UnitRange] | None = None
) -> Iterator[Context]:
    """Run operators with these tables; None keeps the tables of the surrounding operator."""
    around = _CONTEXT.get()
    inherited = around.offset_provider if around else {}
    context = Context(offset_provider or inherited, levels)
    token = _CONTEXT.set(context)
    try:
        yield context
    finally:
        _CONTEXT.reset(token)
