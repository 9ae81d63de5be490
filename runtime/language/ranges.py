"""Half-open ranges of indices, which may be open to infinity on either side."""

from __future__ import annotations

import enum
import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, overload

from ..process import DomainError, classes
from .exact_integers import exact


class Infinity(enum.Enum):
    """The bound of a range that has no end on that side; smaller or larger than every int."""

    NEGATIVE = "-inf"
    POSITIVE = "inf"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"Infinity.{self.name}"

    def __add__(self, _: int) -> Infinity:
        return self

    __radd__ = __sub__ = __add__

    def __neg__(self) -> Infinity:
        return Infinity.NEGATIVE if self is Infinity.POSITIVE else Infinity.POSITIVE

    def __lt__(self, other: Bound) -> bool:
        return self is not other and self is Infinity.NEGATIVE

    def __le__(self, other: Bound) -> bool:
        return self is other or self is Infinity.NEGATIVE

    def __gt__(self, other: Bound) -> bool:
        return self is not other and self is Infinity.POSITIVE

    def __ge__(self, other: Bound) -> bool:
        return self is other or self is Infinity.POSITIVE


Bound: TypeAlias = int | Infinity


def as_bound(value: Any) -> Bound:
    """Return an integer or 'Infinity' as a bound, which does not wrap where 1 is added."""
    if type(value) is int or isinstance(value, Infinity):
        return value
    try:
        return exact(value)
    except TypeError:
        raise DomainError(
            f"Expected an integer or 'Infinity' as the bound of a range, got '{value!r}'."
        ) from None


@classes.frozen(init=False, repr=False)
class UnitRange(Sequence[int]):
    """The indices `start <= i < stop`; every empty range is `UnitRange(0, 0)`.

    >>> r = UnitRange(2, 7)
    >>> str(r), str(r + 1), str(r & UnitRange(4, Infinity.POSITIVE)), r[-1]
    ('(2:7)', '(3:8)', '(4:7)', 6)
    """

    start: Bound
    stop: Bound

    def __init__(self, start: Bound, stop: Bound) -> None:
        start, stop = as_bound(start), as_bound(stop)
        if not start < stop:
            start = stop = 0
        self.__attrs_init__(start, stop)

    @classmethod
    def infinite(cls) -> UnitRange:
        """Return the range of all integers."""
        return cls(Infinity.NEGATIVE, Infinity.POSITIVE)

    def is_left_finite(self) -> bool:
        """Say whether the range has a first index."""
        return not isinstance(self.start, Infinity)

    def is_right_finite(self) -> bool:
        """Say whether the range has a last index."""
        return not isinstance(self.stop, Infinity)

    def is_finite(self) -> bool:
        """Say whether the range has both a first and a last index."""
        return not isinstance(self.start, Infinity) and not isinstance(self.stop, Infinity)

    def is_empty(self) -> bool:
        """Say whether no index is in the range."""
        return self.start == self.stop

    def __len__(self) -> int:
        if isinstance(self.start, Infinity) or isinstance(self.stop, Infinity):
            raise DomainError(f"The infinite range '{self}' has no length.")
        return self.stop - self.start

    def __bool__(self) -> bool:
        return self.start != self.stop

    def __iter__(self) -> Iterator[int]:
        return iter(self._finite())

    def __contains__(self, value: object) -> bool:
        return hasattr(value, "__index__") and self.start <= operator.index(value) < self.stop

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> UnitRange: ...
    def __getitem__(self, index: int | slice) -> int | UnitRange:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise DomainError(f"A slice of a range must have step 1, got '{index.step}'.")
            part = self._finite()[index]
            return UnitRange(part.start, part.stop)
        base = self.start if index >= 0 else self.stop
        if isinstance(base, Infinity):
            raise DomainError(f"The range '{self}' is infinite on the side of index {index}.")
        if base + index not in self:
            raise DomainError(f"Index {index} is outside the range '{self}'.")
        return base + index

    def __and__(self, other: UnitRange) -> UnitRange:
        if not isinstance(other, UnitRange):
            return NotImplemented
        start = self.start if self.start > other.start else other.start
        return UnitRange(start, self.stop if self.stop < other.stop else other.stop)

    def __add__(self, offset: int) -> UnitRange:
        if not hasattr(offset, "__index__"):
            return NotImplemented
        offset = operator.index(offset)
        return (
            self if self.start == self.stop else UnitRange(self.start + offset, self.stop + offset)
        )

    def __sub__(self, offset: int) -> UnitRange:
        return self + -offset if hasattr(offset, "__index__") else NotImplemented

    def __le__(self, other: UnitRange) -> bool:
        if not isinstance(other, UnitRange):
            return NotImplemented
        return self.is_empty() or (self.start >= other.start and self.stop <= other.stop)

    def __lt__(self, other: UnitRange) -> bool:
        if not isinstance(other, UnitRange):
            return NotImplemented
        return self <= other and self != other

    def __ge__(self, other: UnitRange) -> bool:
        return other <= self if isinstance(other, UnitRange) else NotImplemented

    def __gt__(self, other: UnitRange) -> bool:
        return other < self if isinstance(other, UnitRange) else NotImplemented

    def __str__(self) -> str:
        return f"({self.start}:{self.stop})"

    def __repr__(self) -> str:
        return f"UnitRange({self.start!r}, {self.stop!r})"

    def _finite(self) -> range:
        if isinstance(self.start, Infinity) or isinstance(self.stop, Infinity):
            raise DomainError(f"Expected a finite range, got '{self}'.")
        return range(self.start, self.stop)


RangeLike: TypeAlias = UnitRange | range | tuple[Bound | None, Bound | None] | int | None


def unit_range(given: RangeLike) -> UnitRange:
    """Make a range of a pair (None: no bound), a `range`, a length, or None for all indices.

    >>> [str(unit_range(x)) for x in ((1, 4), range(2), 3, (0, None), None)]
    ['(1:4)', '(0:2)', '(0:3)', '(0:inf)', '(-inf:inf)']
    """
    match given:
        case UnitRange():
            return given
        case None:
            return UnitRange.infinite()
        case range() if given.step == 1:
            return UnitRange(given.start, given.stop)
        case (start, stop) if not isinstance(given, range):
            return UnitRange(
                Infinity.NEGATIVE if start is None else start,
                Infinity.POSITIVE if stop is None else stop,
            )
        case _ if hasattr(given, "__index__"):
            return UnitRange(0, operator.index(given))
    raise DomainError(
        f"Expected a range, a pair of bounds or a length, got {given!r}.",
        hints=["A 'range' must have step 1."] if isinstance(given, range) else (),
    )
