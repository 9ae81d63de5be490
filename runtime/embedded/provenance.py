"""Record how each value of a checked program was made: operation, operands, place in the source.

`invalid_values` follows these records back from a number that is not finite.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final, TypeAlias

from ..fields import tables
from ..process import Span, classes
from .piecewise_field import AnyValue
from .rewriting import APPLY, CALLEE

Place: TypeAlias = tuple[str, Span | None]  # an operator, and a stretch of its source


@classes.frozen(eq=False)
class Made:
    """One result: its operation, its operands, and the frame's place in the source."""

    value: AnyValue
    op: str
    operands: tuple[Any, ...]
    operator: str
    span: Span | None
    tables: Mapping[str, Any]


@classes.frozen(eq=False)
class Checking:
    """The arguments of one call by name, and all results by their identity, kept alive."""

    arguments: Mapping[str, Any]
    made: dict[int, Made] = classes.field(factory=dict)


_CHECKING: Final[ContextVar[Checking | None]] = ContextVar("fieldforge_checking", default=None)


@contextmanager
def checked(arguments: Mapping[str, Any]) -> Iterator[None]:
    """Record what the block computes; `arguments` maps names to fields and numbers of the call."""
    token = _CHECKING.set(Checking(arguments))
    try:
        yield
    finally:
        _CHECKING.reset(token)


def current_checking() -> Checking | None:
    """Return the records of the checked program that is running, None if none is."""
    return _CHECKING.get()


def is_checking() -> bool:
    """Say whether a checked program is running."""
    return _CHECKING.get() is not None


def noted(value: Any, op: str, operands: tuple[Any, ...]) -> Any:
    """Record how a value was made if a checked program is running; return the value."""
    checking = _CHECKING.get()
    if checking is None or not isinstance(value, AnyValue) or id(value) in checking.made:
        return value
    if all(value is not operand for operand in operands):  # 'where' may return an operand
        checking.made[id(value)] = Made(value, op, operands, *place_of_call(), tables())
    return value


def place_of_call() -> Place:
    """Return the running operator and the current place in its source."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if APPLY in code.co_freevars or CALLEE in code.co_freevars:
            positions = list(code.co_positions())[frame.f_lasti // 2]
            line, end_line, column, end_column = (each or 0 for each in positions)
            return code.co_name, Span(code.co_filename, line, column + 1, end_line, end_column + 1)
        frame = frame.f_back
    return "", None
