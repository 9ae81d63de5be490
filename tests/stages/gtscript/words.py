"""The names of GTScript that the texts of tests mention; what they do is up to the reader."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from fieldforge.stages.gtscript.capture import capture_function


@attrs.frozen
class Axis:
    """An axis."""

    name: str

    def __getitem__(self, index: int) -> Any:
        return AxisIndex(self.name, index)


@attrs.frozen
class AxisIndex:
    """An index along an axis."""

    axis: str
    index: int
    offset: int = 0

    def __add__(self, more: int) -> AxisIndex:
        return attrs.evolve(self, offset=self.offset + more)

    def __sub__(self, less: int) -> AxisIndex:
        return self + -less


@attrs.frozen
class Descriptor:
    """The type of a field."""

    axes: tuple[Any, ...]
    dtype: Any
    data_dims: tuple[int, ...] = ()


class _Field:
    def __getitem__(self, given: Any) -> Descriptor:
        axes: Any = IJK
        if isinstance(given, tuple) and isinstance(given[0], list | Axis):
            axes, given = given
        axes = (axes,) if isinstance(axes, Axis) else tuple(axes)
        if isinstance(given, tuple):
            return Descriptor(axes, given[0], tuple(given[1]))
        return Descriptor(axes, given)


class _GlobalTable:
    def __getitem__(self, given: Any) -> Descriptor:
        return Descriptor((), given[0], tuple(given[1]))


I, J, K = Axis("I"), Axis("J"), Axis("K")
IJK, IJ, IK, JK = [I, J, K], [I, J], [I, K], [J, K]
Field, GlobalTable = _Field(), _GlobalTable()


def function(definition: Any) -> Any:
    """Mark a function of GTScript."""
    definition.__gtscript_function__ = capture_function(definition)
    return definition


def enum(given: Any) -> Any:
    """Mark an enumeration."""
    return given


NAMES = {
    "I": I, "J": J, "K": K, "IJK": IJK, "IJ": IJ, "IK": IK, "JK": JK, "Field": Field,
    "GlobalTable": GlobalTable,
    "function": function, "enum": enum, "np": np,
    **{name: getattr(np, name) for name in ("int32", "int64", "float32", "float64")},
}  # fmt: skip
