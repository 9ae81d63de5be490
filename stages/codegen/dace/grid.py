"""How the maps of an SDFG run on a GPU: a thread for each point, or for each column of a scan."""

from __future__ import annotations

import math
from typing import Final

from ....runtime.process import classes
from ... import BLOCK, MOST_THREADS, Kind, ThreadBlock, option, whole

# Threads of a block along x, y and z by the number of loops.
_OF_POINTS: Final = ((256,), (32, 8), (32, 8, 1))
# A thread of a scan keeps many numbers; small blocks let all multiprocessors share few columns.
_OF_COLUMNS: Final = ((64,), (32, 2), (32, 2, 1))
LAUNCH_BOUNDS: Final = Kind(
    "a number of threads as text, or an empty text",
    lambda value: isinstance(value, str) and (not value or (value.isdecimal() and len(value) < 5)),
    lambda value: value if isinstance(value, bool) or not isinstance(value, int) else str(value),
)


@classes.frozen(kw_only=True, slots=False)  # a stage inherits from two classes with fields
class GridOptions:
    """The threads of maps; empty or 0 leaves the choice to us.

    Attributes:
        block_1d: threads of a block, such as `ThreadBlock(x=128)`, for maps of one dimension,
            against the default.
        block_2d: the same for two dimensions.
        block_3d: the same for three and more.
        column_block: the same for scans.
        launch_bounds: the number of threads that the compiler makes registers for; by default, and
            for '0', that of a block.
        launch_factor: the same as a multiple of the threads of a block.
        most_registers: the most registers of a thread; 0 leaves it to the compiler.

    """

    block_1d: ThreadBlock = option(BLOCK, ThreadBlock())
    block_2d: ThreadBlock = option(BLOCK, ThreadBlock())
    block_3d: ThreadBlock = option(BLOCK, ThreadBlock())
    column_block: ThreadBlock = option(BLOCK, ThreadBlock())
    launch_bounds: str = option(LAUNCH_BOUNDS, "")
    launch_factor: int = option(whole(0, MOST_THREADS), 0)
    most_registers: int = option(whole(0, 512), 0)

    def block(self, loops: int, *, is_scan: bool) -> tuple[int, ...]:
        """Return the threads of a block for a map over so many loops.

        >>> GridOptions(block_2d=ThreadBlock(x=64, y=4)).block(2, is_scan=False)
        (64, 4, 1)
        >>> GridOptions().block(3, is_scan=True)
        (32, 2, 1)
        """
        place = min(loops, 3) - 1
        if is_scan:
            chosen = self.column_block.sizes[: place + 1] or _OF_COLUMNS[place]
        else:
            given = (self.block_1d, self.block_2d, self.block_3d)[place]
            chosen = given.sizes or _OF_POINTS[place]
        return (*chosen, 1, 1)[:3]

    def bounds(self, block: tuple[int, ...]) -> str:
        """Return the number of threads that the compiler makes registers for; '' is its default.

        >>> GridOptions(launch_factor=2).bounds((32, 8, 1))
        '512'
        >>> GridOptions(launch_bounds="0").bounds((32, 8, 1))
        '0'
        """
        return (
            str(self.launch_factor * math.prod(block)) if self.launch_factor else self.launch_bounds
        )
