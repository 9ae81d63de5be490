"""Compose the error for a call that the native core refused."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from .._core import FieldView
from ..embedded.arguments import describe, wrong_structure, wrong_types
from ..fields.bare_array import device_of, with_fields
from ..fields.device import DeviceType
from ..fields.neighbour_table import beyond
from ..language import binding
from ..language.dimension import Dimension
from ..language.ranges import UnitRange
from ..language.structure import elements
from ..language.types import FieldType, ScalarType
from ..process.errors import (
    ArgumentError,
    DeviceError,
    DomainError,
    FieldforgeError,
    MissingOffsetError,
    OverlapError,
    ReadOnlyError,
    nearest,
)
from .plan import Argument, Plan


class Reason(enum.IntEnum):
    """The reason of a refusal; the numbers are those of `native/refusal.h`."""

    TOO_MANY = 1
    UNKNOWN_NAME = 2
    REPEATED = 3
    MISSING = 4
    STRUCTURE = 10
    TYPE = 11
    SCALAR_RANGE = 12
    DEVICE = 13
    READ_ONLY = 14
    LAYOUT = 15
    DOMAIN = 16
    OUTPUTS_OVERLAP = 17
    INPUTS_OVERLAP = 18
    MEMORY = 19
    STATUS = 20
    NO_TABLE = 21
    TABLE = 22
    WORKSPACE = 23
    WORKSPACE_SHARED = 24
    WORKSPACE_DEVICE = 25
    DEVICES = 26


class ProgramFailedError(FieldforgeError, RuntimeError):
    """A compiled program could not finish its work."""


class NotFiniteError(ProgramFailedError):
    """A program with its checks compiled in wrote a number that is not finite.

    Attributes:
        program: the program.
        output: the argument that it was written to.

    """

    def __init__(self, program: str, output: str) -> None:
        super().__init__(f"'{program}' wrote a number to '{output}' that is not finite.")
        self.program = program
        self.output = output


class ReadBeyondError(ProgramFailedError):
    """A program with its checks compiled in would read a field beyond its ends, below `where`.

    It has written nothing: embedded execution tells whether a mask takes such a value.
    """

    def __init__(self, program: str, name: str) -> None:
        super().__init__(f"'{program}' reads a field beyond its ends, maybe '{name}'.")


def reject(
    plan: Plan | None, arguments: Sequence[Any], reason: int, detail: Sequence[Any]
) -> NoReturn:
    """Raise the error for a refused call; this is the `on_reject` of programs.

    Where the arguments do not fit the parameters there is no plan, and `detail` is the
    name of the program, its parameters, and what is wrong. Where the plan has tables, the
    offset provider stands behind the arguments.
    """
    if plan is None:
        raise _BINDING[Reason(reason)](*detail)
    raise _REFUSED[Reason(reason)](plan, arguments, *detail)


def too_small(
    name: str,
    dim: Dimension,
    done: str,
    needed: tuple[int, int],
    covered: tuple[int, int],
    kind: str = "Field",
) -> DomainError:
    """Return the error for a field or table that does not cover what a program reads or writes."""
    return DomainError(
        f"{kind} '{name}' is too small: along '{dim.value}' the program {done} "
        f"{needed[0]}:{needed[1]}, but '{name}' covers {covered[0]}:{covered[1]}.",
        hint=f"Make '{name}' larger, or write a smaller domain.",
    )


# --- arguments that do not fit the parameters, in the words of Python --------------------------


_BINDING: Final[Mapping[Reason, Callable[..., FieldforgeError]]] = {
    Reason.TOO_MANY: binding.too_many,
    Reason.UNKNOWN_NAME: binding.unknown_keyword,
    Reason.REPEATED: binding.repeated,
    Reason.MISSING: binding.missing,
}


# --- arguments that the plan does not take -----------------------------------------------------


def _structure(plan: Plan, arguments: Sequence[Any], index: int, depth: int) -> ArgumentError:
    above = plan.arguments[index].path[: depth + 1]
    count = parts_below(above, [each.path for each in plan.arguments])
    name, value = plan.parameters[above[0]], _at(arguments, above)
    return wrong_structure(plan.program, name, above[1:], count, value, _shown)


def parts_below(above: Sequence[int], paths: Sequence[Sequence[int]]) -> int:
    """Return the number of parts of the tuple at path `above`, from the paths of all leaves."""
    own = [path for path in paths if tuple(path[: len(above)]) == tuple(above)]
    return 1 + max(path[len(above)] for path in own)


def _types(plan: Plan, arguments: Sequence[Any], *indices: int) -> ArgumentError:
    found = [plan.arguments[index] for index in indices]
    leaves = [(each.name, _type_of(each), _at(arguments, each.path)) for each in found]
    return wrong_types(plan.program, leaves, _shown)


def _scalar_range(plan: Plan, arguments: Sequence[Any], index: int) -> ArgumentError:
    argument = plan.arguments[index]
    return ArgumentError(
        f"Invalid argument types in call to '{plan.program}'.\n"
        f"Expected argument '{argument.name}' to be of type '{argument.dtype}', "
        f"got {_at(arguments, argument.path)}, which does not fit."
    )


def _device(plan: Plan, arguments: Sequence[Any], index: int) -> DeviceError:
    kind, number = device_of(value_of(plan, arguments, index))
    place = _device_name(kind, number)
    hint = "Allocate the field with the allocator of the backend."
    if kind == DeviceType.NULL and plan.device != kind:
        hint = (
            "Simulated devices (FIELDFORGE_GPU=null) run what backend 'gpu-host' builds with the "
            "option on_device=True."
        )
    return DeviceError(
        f"Argument '{plan.arguments[index].name}' lies on device {place}, but "
        f"'{plan.program}' was compiled for {_kind_name(plan.device)} (backend '{plan.backend}').",
        hint=hint,
    )


def _kind_name(device_type: int) -> str:
    return "the CPU" if device_type == DeviceType.CPU else f"{DeviceType(device_type).name} devices"


def _device_name(device_type: int, number: int) -> str:
    known = device_type in list(DeviceType)
    return f"{DeviceType(device_type).name if known else f'kind {device_type}'}:{number}"


def _read_only(plan: Plan, _: Sequence[Any], index: int) -> ReadOnlyError:
    name = plan.arguments[index].name
    return ReadOnlyError(
        f"Argument '{name}' is written, but its memory is read-only.",
        hint=f"Pass a copy of '{name}', or set 'flags.writeable' before making the field.",
    )


def _layout(plan: Plan, arguments: Sequence[Any], index: int) -> ArgumentError:
    argument = plan.arguments[index]
    strides = value_of(plan, arguments, index).strides
    return ArgumentError(
        f"Argument '{argument.name}' has elements of type '{argument.dtype}' that are not "
        f"aligned: its strides are {strides} bytes.",
        hint=f"Pass a copy of '{argument.name}'.",
    )


def _domain(plan: Plan, arguments: Sequence[Any], *detail: int) -> DomainError:
    index, axis, start, stop, written = detail
    argument = plan.arguments[index]
    field = value_of(plan, arguments, index)
    done = "writes" if written else "reads"
    covered = (field.starts[axis], field.stops[axis])
    kind, dim = "Table" if argument.kind == "table" else "Field", argument.dims[axis]
    error = too_small(argument.name, dim, done, (start, stop), covered, kind)
    given = arguments[len(plan.parameters) :]
    tables = given[0] if given and isinstance(given[0], Mapping) else {}
    error.hints = (*beyond(tables, dim, UnitRange(*covered)), *error.hints)
    return error


def _outputs_overlap(plan: Plan, _: Sequence[Any], *indices: int) -> OverlapError:
    names = [plan.arguments[index].name for index in sorted(indices)]
    if len(names) == 1:
        return OverlapError(
            f"Argument '{names[0]}' is written, and its own elements share memory.",
            hint=f"Pass a copy of '{names[0]}'.",
        )
    if names[0] == names[1]:
        return OverlapError(f"One statement writes parts of '{names[0]}' that overlap.")
    return OverlapError(
        f"Arguments '{names[0]}' and '{names[1]}' are written by one statement and share memory."
    )


def _inputs_overlap(plan: Plan, _: Sequence[Any], written: int, read: int) -> OverlapError:
    output, source = plan.arguments[written].name, plan.arguments[read].name
    return OverlapError(
        f"Arguments '{output}' and '{source}' share memory, and '{source}' is still read after "
        "a part of it is written.",
        hint=f"Pass a copy of '{source}'.",
    )


def _memory(plan: Plan, _: Sequence[Any], workspace: int, copies: int) -> ProgramFailedError:
    owner = "the system" if plan.device == DeviceType.CPU else "the GPU"
    return ProgramFailedError(
        f"Program '{plan.program}' needs {workspace} bytes of workspace and {copies} bytes for "
        f"copies of arguments that overlap, and {owner} has no such memory."
    )


def _workspace(plan: Plan, _: Sequence[Any], needed: int, given: int) -> ArgumentError:
    return ArgumentError(
        f"Program '{plan.program}' needs {needed} bytes of workspace for these arguments, but the "
        f"buffer given has {given} from its first address on that is a multiple of 64.",
        hint="Ask 'workspace_size' of the program, and add 64 for a buffer that is misaligned.",
    )


def _workspace_device(plan: Plan, _: Sequence[Any], kind: int, number: int) -> DeviceError:
    place = "on the host" if kind == DeviceType.CPU else f"on device {_device_name(kind, number)}"
    on = "on the host" if plan.device == DeviceType.CPU else "on the device of its fields"
    return DeviceError(
        f"The workspace lies {place}, but '{plan.program}' needs one {on}.",
        hint="Make it where the fields are; a field's 'ndarray', or 'gpu.Array.empty', will do.",
    )


def _devices(plan: Plan, arguments: Sequence[Any], one: int, other: int) -> DeviceError:
    names = [plan.arguments[index].name for index in (one, other)]
    places = [_device_name(*device_of(value_of(plan, arguments, index))) for index in (one, other)]
    return DeviceError(
        f"Argument '{names[0]}' of '{plan.program}' lies on device {places[0]}, but "
        f"'{names[1]}' on device {places[1]}.",
        hint="All fields and tables of a call lie on one device.",
    )


def _workspace_shared(plan: Plan, _: Sequence[Any], index: int) -> OverlapError:
    name = plan.arguments[index].name
    return OverlapError(
        f"Argument '{name}' of '{plan.program}' lies in the memory of the workspace.",
        hint="Give the workspace a buffer of its own.",
    )


def _status(plan: Plan, _: Sequence[Any], code: int) -> ProgramFailedError:
    for status in plan.statuses:
        if status.code == code:
            name = plan.arguments[status.argument].name
            kind = ReadBeyondError if status.kind == "beyond" else NotFiniteError
            return kind(plan.program, name)
    return ProgramFailedError(f"Program '{plan.program}' stopped with code {code}.")


def _no_table(plan: Plan, arguments: Sequence[Any], index: int) -> MissingOffsetError:
    name, provider = plan.arguments[index].name, arguments[-1]
    given = sorted(str(key) for key in provider) if isinstance(provider, Mapping) else []
    close = nearest(name, given)
    how = f"Pass 'offset_provider={{\"{name}\": ...}}' with a table made by 'as_connectivity'."
    return MissingOffsetError(
        f"Offset '{name}' not found in offset provider.",
        hint=f"Did you mean '{close}'?" if close else how,
    )


def _table(plan: Plan, arguments: Sequence[Any], index: int) -> ArgumentError:
    argument, value = plan.arguments[index], value_of(plan, arguments, index)
    return wrong_table(argument.name, argument.dims, argument.codomain, value)


def wrong_table(
    name: str, dims: Sequence[Dimension], codomain: Dimension | None, value: Any
) -> ArgumentError:
    """Return the error for a table of other dimensions, or for a value that is no table."""
    wanted = f"({_listed(dims)})"
    got = f"'{_shown(value)}'"
    if getattr(value, "__fieldforge_table__", False):
        got = f"one over ({_listed(value.dims)})"
        if codomain is not None and value.dims == tuple(dims):
            wanted = f"{wanted} of indices along '{codomain.value}'"
            got = f"one of indices along '{value.codomain.value}'"
    return ArgumentError(
        f"Expected offset '{name}' in the offset provider to be a neighbour table over {wanted}, "
        f"got {got}.",
        hint="Make it with 'as_connectivity'.",
    )


def _listed(dims: Sequence[Dimension]) -> str:
    return ", ".join(dim.value for dim in dims)


_REFUSED: Final[Mapping[Reason, Callable[..., FieldforgeError]]] = {
    Reason.STRUCTURE: _structure,
    Reason.TYPE: _types,
    Reason.SCALAR_RANGE: _scalar_range,
    Reason.DEVICE: _device,
    Reason.READ_ONLY: _read_only,
    Reason.LAYOUT: _layout,
    Reason.DOMAIN: _domain,
    Reason.OUTPUTS_OVERLAP: _outputs_overlap,
    Reason.INPUTS_OVERLAP: _inputs_overlap,
    Reason.MEMORY: _memory,
    Reason.STATUS: _status,
    Reason.WORKSPACE: _workspace,
    Reason.WORKSPACE_SHARED: _workspace_shared,
    Reason.WORKSPACE_DEVICE: _workspace_device,
    Reason.DEVICES: _devices,
    Reason.NO_TABLE: _no_table,
    Reason.TABLE: _table,
}


def value_of(plan: Plan, arguments: Sequence[Any], index: int) -> Any:
    """Return the field or table of an argument; the provider stands behind the arguments."""
    argument = plan.arguments[index]
    if argument.kind == "table":
        return arguments[len(plan.parameters)][argument.name]
    return with_fields(_type_of(argument), _at(arguments, argument.path))


def _at(arguments: Sequence[Any], path: Sequence[int]) -> Any:
    value = arguments[path[0]]
    for step in path[1:]:
        value = (elements(value) or ())[step]
    return value


def _type_of(argument: Argument) -> FieldType | ScalarType:
    dtype = ScalarType(argument.dtype)
    return FieldType(argument.dims, dtype) if argument.kind == "field" else dtype


def _shown(value: Any) -> str:
    is_table = getattr(value, "__fieldforge_table__", False)
    if isinstance(value, FieldView) and value.dtype_name != "none" and not is_table:
        return str(FieldType(value.dims, ScalarType(value.dtype_name)))
    return describe(value)
