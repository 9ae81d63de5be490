"""Axes of GTScript, and what their indices and offsets mean: `I`, `I[0] + 1`, `K - 1`."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, Final

from ..process import classes


@classes.frozen
class AxisIndex:
    """A point of an axis: an index from the start, or if negative from the end, and an offset.

    >>> str(I[-1] + 2)
    'I[-1] + 2'
    """

    axis: str
    index: int
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.axis}[{self.index}] + {self.offset}"

    def __add__(self, offset: int) -> AxisIndex:
        if not isinstance(offset, Integral):
            raise TypeError(f"An offset is an integer, got '{offset!r}'.")
        return AxisIndex(self.axis, self.index, self.offset + int(offset))

    __radd__ = __add__

    def __sub__(self, offset: int) -> AxisIndex:
        return self + -offset


@classes.frozen
class AxisInterval:
    """A range of an axis, as in `I[0:2]`.

    >>> str(J[0:2]), len(J[0:2])
    ('J[0:2]', 2)
    """

    axis: str
    start: int
    end: int

    def __attrs_post_init__(self) -> None:
        if not self.start < self.end:
            raise ValueError(f"The range {self} is empty.")

    def __str__(self) -> str:
        return f"{self.axis}[{self.start}:{self.end}]"

    def __len__(self) -> int:
        return self.end - self.start


@classes.frozen
class ShiftedAxis:
    """An offset along an axis, as in `a[I + 1]`.

    >>> str(I - 1 + 3)
    'I+2'
    """

    name: str
    shift: int

    def __str__(self) -> str:
        return f"{self.name}+{self.shift}"

    def __add__(self, shift: int) -> ShiftedAxis:
        return ShiftedAxis(self.name, self.shift + _checked(shift))

    def __sub__(self, shift: int) -> ShiftedAxis:
        return ShiftedAxis(self.name, self.shift - _checked(shift))


@classes.frozen
class Axis:
    """A spatial axis of GTScript.

    >>> K[2], K + 1
    (AxisIndex(axis='K', index=2, offset=0), ShiftedAxis(name='K', shift=1))
    """

    name: str

    @property
    def __gt_axis_name__(self) -> str:
        """The name, as allocators read it."""
        return self.name

    def __str__(self) -> str:
        return self.name

    def __getitem__(self, index: Any) -> AxisIndex | AxisInterval:
        if isinstance(index, slice):
            return AxisInterval(self.name, index.start, index.stop)
        if isinstance(index, Integral):
            return AxisIndex(self.name, int(index))
        raise TypeError(f"An index of axis '{self}' is an integer or a range, got '{index!r}'.")

    def __add__(self, shift: int) -> ShiftedAxis:
        return ShiftedAxis(self.name, _checked(shift))

    def __sub__(self, shift: int) -> ShiftedAxis:
        return ShiftedAxis(self.name, -_checked(shift))


I: Final = Axis("I")  # noqa: E741  (the name of the axis in GTScript)
J: Final = Axis("J")
K: Final = Axis("K")
IJ: Final = (I, J)
IK: Final = (I, K)
JK: Final = (J, K)
IJK: Final = (I, J, K)


def mask_from_axes(axes: Axis | Iterable[Axis]) -> list[bool]:
    """Tell which of I, J and K are among some axes.

    >>> mask_from_axes(IK)
    [True, False, True]
    """
    names = {each.name for each in ((axes,) if isinstance(axes, Axis) else axes)}
    return [axis.name in names for axis in IJK]


def _checked(shift: Any) -> int:
    if not isinstance(shift, int):
        raise TypeError(f"An offset along an axis is an integer, got '{type(shift).__name__}'.")
    return shift
