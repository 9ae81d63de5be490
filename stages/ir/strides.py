"""The strides of fields: integers that each call passes to generated code."""

from __future__ import annotations

from ...runtime.process import classes


@classes.frozen
class Stride:
    """The stride, in elements, of field leaf `name` along its axis `axis`."""

    name: str
    axis: int

    def __str__(self) -> str:
        return f"stride({self.name}, {self.axis})"
