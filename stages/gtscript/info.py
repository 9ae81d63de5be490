"""`StencilInfo`: what a call of a stencil needs to know: parameters, accesses, boundaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, Self, TypeAlias

from ...runtime.language import Dimension
from ...runtime.process import classes
from ..ir import codec
from .axes import data_dims, dims_of
from .definition import Number

Boundary: TypeAlias = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]

NONE: Final = 0
READ: Final = 1
WRITE: Final = 2
READ_WRITE: Final = 3
CENTRE: Final[Boundary] = ((0, 0), (0, 0), (0, 0))


@classes.frozen
class FieldInfo:
    """How a stencil uses a field.

    `boundary` gives for I, J and K how far before the first point of the domain and beyond the last
    one it is read; a number is negative if not even the point itself is. Of a field with axes and
    data axes, `elements` are the used ones by number, the last data axis fastest.
    """

    access: int
    boundary: Boundary
    axes: tuple[str, ...]
    data_dims: tuple[int, ...]
    dtype: str
    elements: tuple[int, ...] = ()


@classes.frozen
class ParameterInfo:
    """How a stencil uses a scalar."""

    access: int
    dtype: str


@classes.frozen
class DomainInfo:
    """The axes of a stencil, and the least number of levels that it can run on."""

    min_sequential_axis_size: int
    parallel_axes: tuple[str, ...] = ("I", "J")
    sequential_axis: str = "K"
    ndim: int = 3


@classes.frozen
class Level:
    """A bound of an interval: a scalar of the call, or an offset from an end of the domain."""

    scalar: str
    of_end: bool = False
    offset: int = 0


@classes.frozen
class InOrder:
    """Intervals of one computation that a call must give levels in order, if both have some.

    `bounds` are the first level, and one past the last, of the lower one, then of the upper one;
    `texts` say both in the order of the text, which begins at a `line`.
    """

    bounds: tuple[Level, ...]
    texts: tuple[str, str]
    line: int


@classes.frozen
class StencilInfo:
    """The facts about a stencil, beside its program."""

    name: str
    arguments: tuple[str, ...]
    fields: tuple[tuple[str, FieldInfo], ...]
    parameters: tuple[tuple[str, ParameterInfo], ...]
    domain: DomainInfo
    constants: tuple[tuple[str, Number], ...] = ()
    warnings: tuple[str, ...] = ()
    docstring: str = ""
    in_order: tuple[InOrder, ...] = ()

    @property
    def text(self) -> str:
        """One argument a line."""
        rows = [f"stencil {self.name}", f"levels {self.domain.min_sequential_axis_size} or more"]
        rows += [
            f"field {name} [{', '.join(each.axes)}] {each.dtype} access {each.access} "
            f"boundary {each.boundary}"
            for name, each in self.fields
        ]
        rows += [
            f"scalar {name} {each.dtype} access {each.access}" for name, each in self.parameters
        ]
        rows += [f"constant {name} = {each.text}" for name, each in self.constants]
        return "\n".join([*rows, *self.warnings])

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        fields = tuple((name, *classes.astuple(each)) for name, each in self.fields)
        parameters = tuple((name, *classes.astuple(each)) for name, each in self.parameters)
        constants = tuple((name, *classes.astuple(each)) for name, each in self.constants)
        in_order = tuple(
            (tuple(classes.astuple(level) for level in each.bounds), each.texts, each.line)
            for each in self.in_order
        )
        rest = (self.warnings, self.docstring, in_order)
        levels = self.domain.min_sequential_axis_size
        table = (self.name, self.arguments, fields, parameters, levels, constants, *rest)
        return {"info.json": codec.encode(table)}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        name, arguments, fields, parameters, levels, constants, *rest = codec.decode(
            files["info.json"]
        )
        warnings, docstring, in_order = rest
        return cls(
            name,
            arguments,
            tuple((each, FieldInfo(*row)) for each, *row in fields),
            tuple((each, ParameterInfo(*row)) for each, *row in parameters),
            DomainInfo(levels),
            tuple((each, Number(*row)) for each, *row in constants),
            warnings,
            docstring,
            tuple(
                InOrder(tuple(Level(*row) for row in bounds), texts, line)
                for bounds, texts, line in in_order
            ),
        )


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
