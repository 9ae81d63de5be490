"""The three axes of GTScript as dimensions of the dataflow IR."""

from __future__ import annotations

from typing import Final

from ...runtime.language import Dimension, DimensionKind

I: Final = Dimension("I")  # noqa: E741 - the name of the axis
J: Final = Dimension("J")
K: Final = Dimension("K", DimensionKind.VERTICAL)
AXES: Final = {"I": I, "J": J, "K": K}


def size_of(axis: str) -> str:
    """Return the name of the scalar parameter that holds a size of the compute domain.

    >>> size_of("K")
    'domain.K'
    """
    return f"domain.{axis}"


def data_dims(count: int) -> tuple[Dimension, ...]:
    """Return the dimensions of the axes of a table.

    >>> [dim.value for dim in data_dims(2)]
    ['Data0', 'Data1']
    """
    return tuple(Dimension(f"Data{number}") for number in range(count))


def dims_of(axes: str) -> tuple[Dimension, ...]:
    """Return the dimensions of a field by the letters of its axes.

    >>> [dim.value for dim in dims_of("IK")]
    ['I', 'K']
    """
    return tuple(AXES[axis] for axis in axes)
