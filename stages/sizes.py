"""Sizes that options give: patches of a mesh, blocks of GPU threads, and points of a thread."""

from __future__ import annotations

import math
from typing import Final

from ..runtime.process import classes
from .base import Numbers
from .option_kinds import BYTES, COUNT, MOST_THREADS, numbers, option, whole

MOST_LEVELS: Final = 1 << 12
MOST_ALONG_Z: Final = 64


@classes.frozen(repr=False)
class Patches(Numbers):
    """The sizes of patches of a mesh; the cost model chooses those that are left out or 0.

    Attributes:
        elements: the elements of a patch.
        portion: on a CPU, the elements that a thread computes at a time.
        least_bytes: on a CPU, the bytes of the arrays from which a call has patches.
        levels: on a GPU, the levels of a block.
        points: on a GPU, the levels of an element that a thread computes at a time.
        threads: on a GPU, the threads of a block.
        blocks: on a GPU, the blocks on a multiprocessor.

    >>> Patches(elements=192, levels=16).given
    {'elements': 192, 'levels': 16}
    >>> Patches(elements=-1)
    Traceback (most recent call last):
        ...
    fieldforge.runtime.process.errors.OptionError: Option 'elements' of 'Patches' takes a whole number from 0 to 2147483647, got -1.
    """  # noqa: E501  # the text of an error

    elements: int = option(whole(0, COUNT), 0)
    portion: int = option(whole(0, COUNT), 0)
    least_bytes: int = option(whole(0, BYTES), 0)
    levels: int = option(whole(0, MOST_LEVELS), 0)
    points: int = option(whole(0, MOST_LEVELS), 0)
    threads: int = option(whole(0, MOST_THREADS), 0)
    blocks: int = option(whole(0, MOST_THREADS), 0)


@classes.frozen(repr=False)
class ThreadBlock(Numbers):
    """The threads of a block of a GPU along each axis; without `x` the cost model chooses.

    Attributes:
        x: the threads along the innermost loop.
        y: the threads along the loop around it; without it, the points of all loops are counted in
            one row along x.
        z: the threads along the third loop.

    >>> ThreadBlock(x=32, y=4).sizes, ThreadBlock(x=128).sizes, ThreadBlock().sizes
    ((32, 4, 1), (128,), ())
    """

    x: int = option(whole(0, MOST_THREADS), 0)
    y: int = option(whole(0, MOST_THREADS), 0)
    z: int = option(whole(1, MOST_ALONG_Z), 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The threads along x, y and z; one number for a row, none for the model's choice."""
        return (self.x, self.y, self.z)[: 3 if self.y else 1 if self.x else 0]


@classes.frozen(repr=False)
class ThreadPoints(Numbers):
    """The points of one thread of a GPU along each axis; without `x` the cost model chooses.

    Attributes:
        x: the points along the innermost loop, a power of two: wide accesses need one.
        y: the points along the loop around it.

    >>> ThreadPoints(x=4) == ThreadPoints(x=4, y=1)
    True
    """

    x: int = option(whole(0, 16), 0)
    y: int = option(whole(1, 16), 1)


def _is_block(block: ThreadBlock) -> bool:
    """Tell whether a GPU can run such a block.

    >>> _is_block(ThreadBlock(64, 16)), _is_block(ThreadBlock(64, 32)), _is_block(ThreadBlock(y=4))
    (True, False, False)
    """
    is_inside_out = (block.x or not block.y) and (block.y or block.z == 1)
    return bool(is_inside_out) and math.prod(block.sizes) <= MOST_THREADS


def _are_points(points: ThreadPoints) -> bool:
    """Tell whether a thread can have so many points.

    >>> [_are_points(each) for each in (ThreadPoints(4, 3), ThreadPoints(3), ThreadPoints(y=2))]
    [True, False, False]
    """
    return points.x & (points.x - 1) == 0 if points.x else points.y == 1


BLOCK: Final = numbers(
    ThreadBlock,
    fits=_is_block,
    hints=(f"A block has at most {MOST_THREADS} threads; 'y' needs 'x', and 'z' needs 'y'.",),
)
POINTS: Final = numbers(
    ThreadPoints, fits=_are_points, hints=("'x' is a power of two, and 'y' needs 'x'.",)
)
