"""`StencilParts`: what one stencil object is made of, and how it runs its program."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, Literal

from ...runtime.process import classes
from ...runtime.storage.layout import inwards_to_outwards
from ...stages.gtscript import StencilDefinition, StencilInfo, dims_in_program, used_by
from ...stages.ir.literal import number
from .arguments import GivenCall, Origins, field_of, given_field
from .backends import RECOMMENDING, Backend
from .definitions import (
    SPATIAL,
    BuildOptions,
    DomainInfo,
    FieldInfo,
    ParameterInfo,
    constants,
    domain_info,
    field_infos,
    get_integer_type,
    parameter_infos,
)
from .program import StencilProgram

ENDLESS: Final = 2**62  # levels
OPTIONS: Final = ("domain", "origin", "validate_args", "exec_info")


@classes.frozen(eq=False, slots=False)
class StencilParts:
    """The definition of a stencil, the facts about it, its backend and its program.

    `restore` makes the stencil of a pickle, see `pickling.py`.
    """

    definition: StencilDefinition
    info: StencilInfo
    backend: type[Backend]
    options: BuildOptions
    program: StencilProgram
    restore: Callable[[Any], Any]
    accepted: set[str] = classes.field(factory=set, init=False)  # fields in another layout

    @cached_property
    def fields(self) -> dict[str, FieldInfo]:
        """The fields by name, in the order of the parameters."""
        return field_infos(self.info)

    @cached_property
    def numbers(self) -> dict[str, ParameterInfo]:
        """The scalar parameters by name, in their order."""
        return parameter_infos(self.info)

    @cached_property
    def domain(self) -> DomainInfo:
        """The axes, and the fewest levels."""
        return domain_info(self.info)

    @cached_property
    def constants(self) -> Mapping[str, Any]:
        """The externals that are numbers."""
        return constants(self.info)

    @property
    def device(self) -> Literal["cpu", "gpu"]:
        """Where arrays lie."""
        return self.backend.storage_info["device"]

    @property
    def recommends_layouts(self) -> bool:
        """Whether calls warn of arrays in another layout than that of the backend."""
        return self.backend.name in RECOMMENDING

    @property
    def waits(self) -> bool:
        """Whether a call waits for the GPU."""
        return self.device == "gpu" and bool(self.options.backend_opts.get("device_sync", True))

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The values of arguments that a call may leave out."""
        dtypes = {name: each.dtype.name for name, each in self.numbers.items()}
        found: dict[str, Any] = {}
        for each in self.definition.arguments:
            if each.default is not None:
                found[each.name] = _plain(each.default.text, dtypes[each.name])
            elif each.name in self._optional:
                found[each.name] = None
        return found

    @cached_property
    def _optional(self) -> frozenset[str]:
        """The parameters whose default is None in the Python function."""
        function = self.program.definition
        own = inspect.signature(function).parameters.values()
        return frozenset(each.name for each in own if each.default is None)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of a call."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        known = [
            inspect.Parameter(
                each.name,
                kinds[each.keyword_only],
                default=self.defaults.get(each.name, inspect.Parameter.empty),
            )
            for each in self.definition.arguments
        ]
        given = {"validate_args": True}
        more = [inspect.Parameter(name, kinds[1], default=given.get(name)) for name in OPTIONS]
        return inspect.Signature([*known, *more])

    def bound(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name; a `TypeError` says which do not fit."""
        try:
            found = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}.__call__(): {error}") from None
        found.apply_defaults()
        return {each: found.arguments[each] for each in self.info.arguments}

    def given(self, values: Mapping[str, Any]) -> GivenCall:
        """Return the arrays and numbers of a call; members of enumerations are integers."""
        fields = {
            name: given_field(values[name], self.device) if info.access else None
            for name, info in self.fields.items()
        }
        return GivenCall(fields, {name: self._as_number(values[name]) for name in self.numbers})

    def _as_number(self, value: Any) -> Any:
        if not isinstance(value, enum.Enum):
            return value
        integer: Any = get_integer_type(self.options.literal_int_precision)
        return integer(value.value)

    def run(self, call: GivenCall, origins: Origins, domain: tuple[int, ...]) -> None:
        """Run the program on arrays whose origins and domain are decided."""
        if self.program.__definition__.written:
            self.program(*self.program_arguments(call, origins, domain))

    def program_arguments(
        self, call: GivenCall, origins: Origins, domain: tuple[int, ...]
    ) -> list[Any]:
        """Return the arguments of the program: fields and numbers that it uses, then the sizes."""
        found: list[Any] = []
        for each in used_by(self.info):
            name = each.argument
            if name in self.numbers:
                found.append(call.numbers[name])
            else:
                given = call.fields[name]
                assert given is not None, f"Invalid value for '{name}' field."
                found.append(field_of(given.element(each.place), self._dims[name], origins[name]))
        return [*found, *domain]

    @cached_property
    def _dims(self) -> dict[str, tuple[Any, ...]]:
        """The dimensions of each field."""
        return {name: dims_in_program(info) for name, info in self.info.fields}

    def native(self) -> dict[str, Any]:
        """Return what the native core needs to make the calls."""
        arguments = self.definition.arguments
        stays_in_python = self.has_data_axes or bool(self.info.in_order)  # no domain has so many
        return {
            "program": self.program,
            "arguments": tuple(each.name for each in arguments),
            "positional": sum(not each.keyword_only for each in arguments),
            "slots": tuple(self._slot(each.name) for each in arguments),
            "defaults": dict(self.defaults),
            "least_levels": (ENDLESS if stays_in_python else self.domain.min_sequential_axis_size),
            "waits": self.waits,
        }

    @property
    def has_data_axes(self) -> bool:
        """Whether a field has data axes: no domain is large enough to call natively then."""
        return any(info.data_dims for info in self.fields.values())

    def _slot(self, name: str) -> tuple[Any, ...]:
        """Return what the native core compares an argument with, see `_core.Stencil`."""
        used = self.program.parameters
        if name in self.numbers:
            place = used.index(name) if name in used else -1
            return place, self.numbers[name].dtype.name
        info = self.fields[name]
        if name not in used or info.data_dims:
            return -1, info.dtype.name
        axes = tuple(map(SPATIAL.index, info.axes))
        layout = self.backend.storage_info["layout_map"](info.axes)
        return (
            used.index(name),
            info.dtype.name,
            self._dims[name],
            axes,
            tuple(lower for lower, _ in info.bounds),
            tuple(upper for _, upper in info.bounds),
            inwards_to_outwards(layout) if self.recommends_layouts else (),
        )


def _plain(text: str, dtype: str) -> Any:
    """Return a default as a call would give it."""
    found = number(text, dtype)
    return found.item() if dtype in ("bool", "int64", "float64") else found
