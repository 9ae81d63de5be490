"""Memory layouts of storages: which axis has the smallest stride.

A layout map has a number for each axis; the axis with the largest number is contiguous. The
spatial axes keep the order of their backend, and data axes always have the largest strides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias, TypedDict

AXES: Final = "IJK"

LayoutMap: TypeAlias = Callable[[tuple[str, ...]], tuple[int, ...]]
LayoutCheck: TypeAlias = Callable[[Any, tuple[str, ...]], bool]


class LayoutInfo(TypedDict):
    """How a backend wants its arrays; `alignment` counts elements."""

    alignment: int
    device: Literal["cpu", "gpu"]
    layout_map: LayoutMap
    is_optimal_layout: LayoutCheck


def layout_maker_factory(base_layout: Sequence[int]) -> LayoutMap:
    """Return a function from the names of axes to their layout map.

    `base_layout` is the layout map of an array with the axes I, J, K.

    >>> first_axis_contiguous = layout_maker_factory((2, 1, 0))
    >>> first_axis_contiguous(("I", "J", "K")), first_axis_contiguous(("I", "K", "0"))
    ((2, 1, 0), (2, 1, 0))
    >>> first_axis_contiguous(("K", "I"))
    (0, 1)
    """
    rank = dict(zip(AXES, base_layout, strict=True))

    def layout_map(dimensions: tuple[str, ...]) -> tuple[int, ...]:
        data = [place for place, name in enumerate(dimensions) if name not in rank]
        spatial = [place for place, name in enumerate(dimensions) if name in rank]
        outwards = [*data, *sorted(spatial, key=lambda place: rank[dimensions[place]])]
        made = [0] * len(dimensions)
        for number, place in enumerate(outwards):
            made[place] = number
        return tuple(made)

    return layout_map


def layout_checker_factory(layout_maker: LayoutMap) -> LayoutCheck:
    """Return a function that tells whether the strides of an array have the order of a layout.

    >>> import numpy as np
    >>> rows_contiguous = layout_checker_factory(layout_maker_factory((0, 1, 2)))
    >>> [rows_contiguous(array, ("I", "J")) for array in (np.zeros((2, 3)), np.zeros((2, 3)).T)]
    [True, False]
    """
    order_of = functools.cache(lambda names: inwards_to_outwards(layout_maker(names)))

    def is_optimal(field: Any, dimensions: tuple[str, ...]) -> bool:
        strides, before = field.strides, 0
        if len(strides) != len(dimensions):
            return False
        for axis in order_of(tuple(dimensions)):
            if strides[axis] < before:
                return False
            before = strides[axis]
        return True

    return is_optimal


def inwards_to_outwards(layout_map: Sequence[int]) -> tuple[int, ...]:
    """Return the axes from the smallest stride to the largest.

    >>> inwards_to_outwards((1, 2, 0))
    (1, 0, 2)
    """
    return tuple(sorted(range(len(layout_map)), key=lambda axis: -layout_map[axis]))
