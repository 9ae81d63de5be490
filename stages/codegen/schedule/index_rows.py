"""Write the rows of indices: shifted, gathered or clamped, and the conditions on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....runtime.language import Dimension
from ...ir import bounds
from ...ir.loops import Constant, Index, NestLoop, Number, Row
from .discovery import Home
from .guards import (
    Case,
    Guard,
    InPart,
    LoopPart,
    Test,
)
from .order import level_of
from .places import OWN, Along, Coord, Entry, Level, Point
from .points import Points
from .rows import Rows

INT: Final = "int64"


class IndexRows(Rows):
    """The rows of one nest, with those of its indices and of conditions on them.

    Attributes:
        places: the row of each point that is written, by part of the innermost loop.
        parts: the parts of the innermost loop; none if it is not cut.

    """

    def __init__(self, points: Points, loops: Sequence[NestLoop]) -> None:
        super().__init__(loops)
        self.points = points
        self.places: dict[tuple[int, Point], Row] = {}
        self.parts: tuple[LoopPart, ...] = ()

    def condition(self, guard: Guard, part: int) -> Row:
        """Return the row that says whether any case of a guard holds."""
        return self.folded("or", "bool", [self._all(case, part) for case in guard], part)

    def clamped(self, dim: Dimension, coord: Coord, home: Home, part: int) -> Row:
        """Return the row of an index, clamped to the buffer."""
        start, stop = home.ends(dim)
        row = self.shifted(dim, coord, part)
        last = self.add(Number(dtype=INT, bound=bounds.add(stop, -1)))
        first = self.add(Number(dtype=INT, bound=start))
        row = self.compute("minimum", INT, [row, last], part)
        return self.compute("maximum", INT, [row, first], part)

    def shifted(self, dim: Dimension, coord: Coord, part: int) -> Row:
        """Return the row of an index as 64 bits: its base plus its offset."""
        base, offset = coord
        row = self._own(dim, part) if base == OWN else self._wide(self.base(base, part), part)
        if offset:
            step = self.add(Constant(dtype=INT, text=str(offset)))
            row = self.compute("add", INT, [row, step], part)
        return row

    def base(self, base: int, part: int) -> Row:
        """Return the row of an index value."""
        index = self.points.indices[base]
        if isinstance(index, Entry) and index.known is not None:
            return self.shifted(*index.known, part)
        if isinstance(index, Entry):
            return self.places[part, index.point]
        if isinstance(index, Along):
            return self._own(index.dim, part)
        if isinstance(index, Level):
            return self.add(Number(dtype=INT, bound=index.at))
        by = self._wide(self.places[part, index.by], part)
        return self.compute("add", INT, [self.shifted(index.dim, index.at, part), by], part)

    def _all(self, case: Case, part: int) -> Row:
        return self.folded("and", "bool", [self._test(*each, part) for each in case], part)

    def _test(self, test: Test, wanted: bool, part: int) -> Row:
        if isinstance(test, InPart):
            range_ = self.parts[test.part].range
            ends = [self.add(Number(dtype=INT, bound=end)) for end in (range_.start, range_.stop)]
            return self.compute("lt", "bool", ends, part)
        index = self.shifted(test.dim, (test.base, 0), part)
        bound = self.add(Number(dtype=INT, bound=test.bound))
        return self.compute("ge" if wanted else "lt", "bool", [index, bound], part)

    def _own(self, dim: Dimension, part: int) -> Row:
        return self.add(Index(dtype=INT, level=level_of((dim,), self.loops), dim=dim), part)

    def _wide(self, row: Row, part: int) -> Row:
        return row if self.rows[row].dtype == INT else self.compute("cast", INT, [row], part)
