"""`StencilSource`: a stencil of GTScript where builds take the definition of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...runtime.language import FieldType, OperatorType, ScalarType, Type
from ...runtime.process import classes
from ...runtime.storage.layout import inwards_to_outwards
from ...runtime.storage.presets import from_name
from ...stages.gtscript import (
    AXES,
    WRITE,
    DomainInfo,
    StencilDefinition,
    StencilInfo,
    data_dims,
    dims_in_program,
    size_of,
    used_by,
)
from ...stages.parse.summary import Summary

KIND: Final = "stencil"
_NO_INFO: Final = StencilInfo("", (), (), (), DomainInfo(0))


@classes.frozen
class StencilSource(StencilDefinition):
    """The definition of a stencil, with what its builds and calls need beside the text.

    Attributes:
        function: the Python function that it was read from.
        info: its fields, scalars and domain.
        units: the axis of each used field that is contiguous in the storages of its backend.

    """

    function: Callable[..., Any] = classes.field(default=len, eq=False)
    info: StencilInfo = classes.field(default=_NO_INFO, eq=False)
    units: tuple[tuple[str, str], ...] = classes.field(default=(), eq=False)

    @property
    def kind(self) -> str:
        """What it is, in messages and capsules."""
        return KIND

    @property
    def grid_type(self) -> None:
        """Nothing to choose: all grids are Cartesian."""

    @property
    def origin(self) -> None:
        """Nothing: a stencil is no derivative."""

    @property
    def types(self) -> tuple[tuple[Any, str], ...]:
        """Nothing: a stencil has no type variables."""
        return ()

    @property
    def closure(self) -> tuple[tuple[str, Any], ...]:
        """The constants that its text mentions, by path."""
        return tuple(sorted((*self.names, *self.externals), key=lambda row: row[0]))

    @property
    def written(self) -> tuple[str, ...]:
        """The fields that it writes, as parameters of its program."""
        fields = dict(self.info.fields)
        written = {name for name, each in fields.items() if each.access & WRITE}
        return tuple(each.name for each in used_by(self.info) if each.argument in written)


def stencil_source(
    definition: StencilDefinition, function: Callable[..., Any], info: StencilInfo, preset: str
) -> StencilSource:
    """Return a definition with its function and its facts, for the storages of a preset."""
    own = {each.name: getattr(definition, each.name) for each in classes.fields(StencilDefinition)}
    return StencilSource(**own, function=function, info=info, units=_units(info, preset))


def summary_of(info: StencilInfo) -> Summary:
    """Return the parameters of the program of a stencil: what it uses, then the domain's sizes."""
    found: dict[str, Type] = {}
    fields, numbers = dict(info.fields), dict(info.parameters)
    for each in used_by(info):
        if each.argument in numbers:
            found[each.name] = ScalarType(numbers[each.argument].dtype)
        else:
            own = fields[each.argument]
            found[each.name] = FieldType(dims_in_program(own), ScalarType(own.dtype))
    sizes = {size_of(axis): ScalarType("int64") for axis in AXES}
    return Summary(OperatorType(KIND, tuple({**found, **sizes}.items()), None))


def _units(info: StencilInfo, preset: str) -> tuple[tuple[str, str], ...]:
    layout = from_name(preset) or from_name("cpu")
    assert layout is not None, "'cpu' has a preset"
    fields, found = dict(info.fields), []
    for each in used_by(info):
        own = fields.get(each.argument)
        if own is not None and own.axes:
            inner = inwards_to_outwards(layout["layout_map"](own.axes))[0]
            found.append((each.name, own.axes[inner]))
        elif own is not None:  # a table
            found.append((each.name, data_dims(len(own.data_dims))[-1].value))
    return tuple(found)
