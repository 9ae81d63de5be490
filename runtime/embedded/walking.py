"""Lazy results of scans: walked on first use, on the levels that the use needs.

As a branch of `concat_where` the result of a scan is walked on the levels of that branch only:
`concat_where(K > 0, sums(a), 0.0)` begins at level 1, and reads `a` from there on. Everywhere else
it is walked on all levels that the statement writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..language import Dimension, DType, UnitRange
from ..language.regions import Region
from ..process import classes
from .piecewise_field import AnyValue, Piece, PiecewiseField, nothing, pieces_of

WalkOn: TypeAlias = Callable[[UnitRange], Sequence[AnyValue]]  # each leaf on these levels


@classes.define(eq=False)
class Walks:
    """One call of a scan and the walks done so far, by range of levels."""

    walk: WalkOn
    axis: Dimension
    levels: UnitRange
    _done: dict[UnitRange, Sequence[AnyValue]] = classes.field(factory=dict)

    def on(self, levels: UnitRange) -> Sequence[AnyValue]:
        """Return every leaf on these levels."""
        if levels not in self._done:
            self._done[levels] = self.walk(levels)
        return self._done[levels]


def _unchanged(value: AnyValue) -> AnyValue:
    return value


class ScanResult(PiecewiseField):
    """One leaf of a scan; `then` is applied to the walked values, such as repeating them."""

    __slots__ = ("_dtype", "_place", "_then", "_walks")

    def __init__(
        self,
        walks: Walks,
        place: int,
        dims: tuple[Dimension, ...],
        dtype: np.dtype[Any],
        then: Callable[[AnyValue], AnyValue] = _unchanged,
    ) -> None:
        self.dims = dims
        self._walks, self._place, self._dtype, self._then = walks, place, dtype, then

    @property
    def pieces(self) -> tuple[Piece, ...]:  # type: ignore[override]  # walked on first use
        """The values on all levels of the statement."""
        return pieces_of(walked(self))

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return DType(self._dtype.type)

    def on(self, levels: UnitRange) -> AnyValue:
        """Return the values on some levels of the statement."""
        kept = levels & self._walks.levels
        if kept.is_empty():
            return nothing(self.dims, self._dtype)
        return self._then(self._walks.on(kept)[self._place])

    def then(self, dims: tuple[Dimension, ...], change: Callable[[AnyValue], Any]) -> ScanResult:
        """Return the result of `change`, applied when the scan is walked."""
        before = self._then
        return ScanResult(
            self._walks, self._place, dims, self._dtype, lambda value: change(before(value))
        )

    def in_region(self, region: Region) -> AnyValue:
        """Return the values for a branch of `concat_where`."""
        return self.on(region.along(self._walks.axis))


def walked(value: Any) -> Any:
    """Return a value as a field, on all levels of the statement if it is the result of a scan."""
    return value.on(UnitRange.infinite()) if isinstance(value, ScanResult) else value
