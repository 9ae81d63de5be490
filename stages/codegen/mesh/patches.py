"""The option `patches`: the sizes of patches of a mesh, in which nests hand arrays on."""

from __future__ import annotations

from ....runtime.process import classes
from ...numbers import Numbers
from ...option_kinds import BYTES, COUNT, MOST_THREADS, option, optional, whole

MOST_LEVELS = 1 << 12


@classes.frozen(repr=False)
class Patches(Numbers):
    """The sizes of patches of a mesh; those that are left out are chosen by the cost model.

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
    >>> Patches(elements=0)
    Traceback (most recent call last):
        ...
    fieldforge.runtime.process.errors.OptionError: Option 'elements' of 'Patches' takes a whole number from 1 to 2147483647, or None, got 0.
    """  # noqa: E501  # the text of an error

    elements: int | None = option(optional(whole(1, COUNT)), None)
    portion: int | None = option(optional(whole(1, COUNT)), None)
    least_bytes: int | None = option(optional(whole(1, BYTES)), None)
    levels: int | None = option(optional(whole(1, MOST_LEVELS)), None)
    points: int | None = option(optional(whole(1, MOST_LEVELS)), None)
    threads: int | None = option(optional(whole(1, MOST_THREADS)), None)
    blocks: int | None = option(optional(whole(1, MOST_THREADS)), None)
