"""The options that give sizes: patches of a mesh on a CPU and on a GPU, and points of a thread."""

from __future__ import annotations

from typing import Any, Final

from ..option_kinds import BYTES, COUNT, MOST_THREADS, Kind, listed, wholes

NONE: Final = (-1,)
MOST_LEVELS: Final = 1 << 12
_OF_PATCHES: Final = (
    (0, COUNT), (0, MOST_LEVELS), (0, MOST_LEVELS), (0, MOST_THREADS), (0, MOST_THREADS)
)  # fmt: skip


def _are_portions(value: Any) -> bool:
    """Tell whether a thread can have such patches.

    >>> _are_portions((6144, 64)), _are_portions((64, 6144)), _are_portions((-1,))
    (True, False, True)
    """
    if value == NONE:
        return True
    if not wholes(value, ((0, COUNT), (0, COUNT), (0, BYTES))):
        return False
    size, few, _ = (*value, 0, 0, 0)[:3]
    return not size or few <= size


def _are_patches(value: Any) -> bool:
    """Tell whether a block can have such patches.

    >>> _are_patches((96, 16, 2, 256)), _are_patches((96, 16, 3)), _are_patches((-1,))
    (True, False, True)
    """
    if value == NONE:
        return True
    if not wholes(value, _OF_PATCHES):
        return False
    _, levels, points, threads, _ = (*value, 0, 0, 0, 0, 0)[:5]
    lanes = levels // points if points else levels
    return (not points or levels % points == 0) and (not threads or lanes <= threads)


def _are_points(value: Any) -> bool:
    """Tell whether a thread can have so many points: wide accesses need a power of two.

    >>> _are_points((4, 3)), _are_points((3, 1))
    (True, False)
    """
    return wholes(value, ((1, 16), (1, 16))) and all(each & (each - 1) == 0 for each in value[:1])


PORTIONS: Final = Kind(
    "up to three numbers (elements of a patch, elements computed at a time, bytes of the arrays "
    "from which a call has patches), or (-1,) for no patches",
    _are_portions,
    listed,
    hints=("At most a whole patch is computed at a time. 0 leaves a number to the model.",),
)
PATCHES: Final = Kind(
    "up to five numbers (elements, levels, points, threads, blocks), or (-1,) for no patches",
    _are_patches,
    listed,
    hints=(
        "A thread has 'points' levels of an element at a time, 'levels' is a multiple of it, and "
        "a block has threads for all levels of an element. 0 leaves a number to the model.",
    ),
)
POINTS: Final = Kind(
    "up to two numbers from 1 to 16, along the innermost loop, a power of two, and the one around",
    _are_points,
    listed,
)
