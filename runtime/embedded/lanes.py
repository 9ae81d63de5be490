"""Lanes: the numbers of many columns at once, with which the body of a scan computes.

A lane is a column of the grid. To the body a `Lanes` is a number; where a condition
differs from lane to lane, `Diverged` makes the walk run each half by itself.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from ..fields import Operators
from ..language import DType, operations
from ..language.active_numbers import plain_dtype
from .origins import VALID


class Diverged(Exception):  # noqa: N818 - it steers the walk and is no error
    """Raised when lanes disagree on a condition; `mask` is its value in each lane."""

    def __init__(self, mask: Any) -> None:
        super().__init__()
        self.mask = mask


class Undecided(Exception):  # noqa: N818 - likewise
    """Raised when a condition is invalid in all lanes; `lack` says what makes it so."""

    def __init__(self, lack: Any) -> None:
        super().__init__()
        self.lack = lack


_decisions: Final[ContextVar[Iterator[bool]]] = ContextVar("decisions")


@contextlib.contextmanager
def decided(taken: Sequence[bool]) -> Iterator[None]:
    """Let the first invalid conditions be what `taken` says, in the order of their use."""
    token = _decisions.set(iter(taken))
    try:
        yield
    finally:
        _decisions.reset(token)


class Lanes(Operators):
    """A number that may differ from lane to lane: an array with one axis.

    `lack` says for each lane what makes the number invalid, as in a `PartialField`; None if
    nothing does. An invalid condition makes the walk try both ways, see `Undecided`.
    """

    __slots__ = ("array", "lack")

    def __init__(self, array: Any, lack: Any = None) -> None:
        self.array, self.lack = array, lack

    @property
    def dtype(self) -> DType:
        """The type of the number."""
        return DType(plain_dtype(self.array.dtype).type)

    def combined(self, op: str, operands: Sequence[Any], dtype: str | None) -> Any:
        """Apply an operation lane by lane."""
        array = operations.apply(op, *map(unwrapped, operands), dtype=dtype)
        lacks = [lack_of_lanes(operand) for operand in operands]
        if all(lack is VALID for lack in lacks):
            return Lanes(array)
        if op == "select":
            known, *sides = lacks
            lacks = [known, np.where(unwrapped(operands[0]), *sides)]
        return Lanes(array, functools.reduce(np.maximum, lacks))

    def __bool__(self) -> bool:
        if np.any(invalid := lack_of_lanes(self) != VALID):
            if not np.all(invalid):
                raise Diverged(invalid)
            decision = next(_decisions.get(), None)
            if decision is None:
                raise Undecided(self.lack)
            return decision
        if self.array.all():
            return True
        if self.array.any():
            raise Diverged(self.array.astype(np.bool_))
        return False

    def __repr__(self) -> str:
        return f"Lanes({self.array})"


def lack_of_lanes(number: Any) -> Any:
    """Return what lanes lack; a number that lacks nothing gives 0."""
    return number.lack if isinstance(number, Lanes) and number.lack is not None else VALID


def unwrapped(number: Any) -> Any:
    """Return the array behind lanes, or the number itself."""
    return number.array if isinstance(number, Lanes) else operations.literal(number)
