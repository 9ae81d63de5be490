"""Which loop of a nest has the lanes, and where its rows stand: around the lanes or in them."""

from __future__ import annotations

from typing import Final, TypeAlias

from ...runtime.language import Dimension
from ...runtime.process import classes
from ..ir.bound_nodes import set_once
from ..ir.loops import Index, Instruction, Nest, Row

# Where a row is computed: by a number of loops around the lanes, before the loop inside of a strip,
# or in a part of the innermost loop.
Around: TypeAlias = int
FIRST: Final = -1
NO_LANES: Final = -1


@classes.frozen
class Lanes:
    """The loops of a nest as an interpreter runs them.

    The innermost loop has the lanes if its iterations are independent. That of a scan with states
    is sequential: columns side by side are the lanes then, the loop around it. Indices of which
    arrays keep a few at a time (`rings`) come one by one.

    `depth` is the number of loops, `loop` the one whose indices are lanes, or -1 for a single lane,
    and `outer` the number of loops around the lanes.
    """

    nest: Nest
    rings: frozenset[Dimension] = frozenset()
    depth: int = classes.field(init=False)
    loop: int = classes.field(init=False)
    outer: int = classes.field(init=False)

    def __attrs_post_init__(self) -> None:
        loops, depth = self.nest.loops, len(self.nest.loops)
        loop = depth - 1
        if loops and loops[-1].kind == "vector":
            loop = NO_LANES if loops[-1].range.dim in self.rings else loop
        elif loops:
            is_alone = depth == 1 or loops[-2].range.dim in self.rings
            loop = NO_LANES if is_alone else depth - 2
        set_once(self, "depth", depth)
        set_once(self, "loop", loop)
        set_once(self, "outer", loop if loop >= 0 else max(0, depth - 1))

    @property
    def has_inner(self) -> bool:
        """Whether a loop runs for each strip of lanes."""
        return self.depth > 0 and self.loop < self.depth - 1

    def is_around(self, level: int) -> bool:
        """Tell whether rows of a level are single values around the lanes."""
        return level <= self.outer and not (level == self.depth and self.depth > 0)

    def level_of(self, row: Instruction) -> int:
        """Return how many loops stand around a row; indices know their loop only."""
        if isinstance(row, Index):
            dims = [loop.range.dim for loop in self.nest.loops]
            return dims.index(row.dim) + 1
        return row.level

    def section(self, row: Row) -> int:
        """Return where a row in lanes is computed: `FIRST`, or its part."""
        body = self.nest.body[row]
        return FIRST if body.level < self.depth else body.part
