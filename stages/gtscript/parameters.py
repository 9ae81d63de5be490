"""The parameters of the program of a stencil: what it uses of its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ...runtime.language import Dimension
from ...runtime.process import classes
from .axes import data_dims, dims_of
from .info import NONE, FieldInfo, StencilInfo


@classes.frozen
class Used:
    """A parameter: an argument, or the element at `place` of the data axes of one."""

    name: str
    argument: str
    place: tuple[int, ...] = ()


def dims_in_program(field: FieldInfo) -> tuple[Dimension, ...]:
    """Return the dimensions of a field in the program; an element has no data axes."""
    return dims_of("".join(field.axes)) if field.axes else data_dims(len(field.data_dims))


def element_name(name: str, place: tuple[int, ...]) -> str:
    """Return the name of an element, which no text can mention.

    >>> element_name("m", (1, 2))
    'm.1.2'
    """
    return ".".join([name, *map(str, place)])


def used_by(info: StencilInfo) -> Iterator[Used]:
    """Yield the parameters in the order of the definition."""
    fields, numbers = dict(info.fields), dict(info.parameters)
    for name in info.arguments:
        own = fields.get(name)
        if own is None:
            if numbers[name].access != NONE:
                yield Used(name, name)
        elif own.elements:
            places = list(product(*map(range, own.data_dims)))
            for number in own.elements:
                yield Used(element_name(name, places[number]), name, places[number])
        elif own.access != NONE:
            yield Used(name, name)
