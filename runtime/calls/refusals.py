"""Raise the error for a call that the native core refused, by the reason that it gives.

The errors about arguments stand in `refused_arguments`, those about memory here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from ..fields.bare_array import device_of
from ..language import argument_binding
from ..process import ArgumentError, DeviceError, DeviceType, FieldforgeError, OverlapError
from . import refused_arguments
from .plan import Plan
from .program_errors import NotFiniteError, ProgramFailedError, ReadBeyondError
from .refused_arguments import value_of


def wrong_device(plan: Plan, arguments: Sequence[Any], index: int) -> DeviceError:
    """Return the error for a field on a device that the program was not compiled for."""
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


def several_devices(plan: Plan, arguments: Sequence[Any], one: int, other: int) -> DeviceError:
    """Return the error for two arguments that lie on different devices."""
    names = [plan.arguments[index].name for index in (one, other)]
    places = [_device_name(*device_of(value_of(plan, arguments, index))) for index in (one, other)]
    return DeviceError(
        f"Argument '{names[0]}' of '{plan.program}' lies on device {places[0]}, but "
        f"'{names[1]}' on device {places[1]}.",
        hint="All fields and tables of a call lie on one device.",
    )


def _kind_name(device_type: int) -> str:
    return "the CPU" if device_type == DeviceType.CPU else f"{DeviceType(device_type).name} devices"


def _device_name(device_type: int, number: int) -> str:
    known = device_type in list(DeviceType)
    return f"{DeviceType(device_type).name if known else f'kind {device_type}'}:{number}"


def no_memory(plan: Plan, _: Sequence[Any], workspace: int, copies: int) -> ProgramFailedError:
    """Return the error for a lack of memory; `workspace` and `copies` are sizes in bytes."""
    owner = "the system" if plan.device == DeviceType.CPU else "the GPU"
    return ProgramFailedError(
        f"Program '{plan.program}' needs {workspace} bytes of workspace and {copies} bytes for "
        f"copies of arguments that overlap, and {owner} has no such memory."
    )


def small_workspace(plan: Plan, _: Sequence[Any], needed: int, given: int) -> ArgumentError:
    """Return the error for a workspace with `given` bytes where `needed` are needed."""
    return ArgumentError(
        f"Program '{plan.program}' needs {needed} bytes of workspace for these arguments, but the "
        f"buffer given has {given} from its first address on that is a multiple of 64.",
        hint="Ask 'workspace_size' of the program, and add 64 for a buffer that is misaligned.",
    )


def workspace_elsewhere(plan: Plan, _: Sequence[Any], kind: int, number: int) -> DeviceError:
    """Return the error for a workspace on another device than the fields."""
    place = "on the host" if kind == DeviceType.CPU else f"on device {_device_name(kind, number)}"
    on = "on the host" if plan.device == DeviceType.CPU else "on the device of its fields"
    return DeviceError(
        f"The workspace lies {place}, but '{plan.program}' needs one {on}.",
        hint="Make it where the fields are; a field's 'ndarray', or 'gpu.Array.empty', will do.",
    )


def shared_workspace(plan: Plan, _: Sequence[Any], index: int) -> OverlapError:
    """Return the error for an argument that lies in the memory of the workspace."""
    name = plan.arguments[index].name
    return OverlapError(
        f"Argument '{name}' of '{plan.program}' lies in the memory of the workspace.",
        hint="Give the workspace a buffer of its own.",
    )


def failed(plan: Plan, _: Sequence[Any], code: int) -> ProgramFailedError:
    """Return the error for a program that returned the status `code`."""
    for status in plan.statuses:
        if status.code == code:
            name = plan.arguments[status.argument].name
            kind = ReadBeyondError if status.kind == "beyond" else NotFiniteError
            return kind(plan.program, name)
    return ProgramFailedError(f"Program '{plan.program}' stopped with code {code}.")


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


# Arguments that do not fit the parameters, in the words of Python.
_BINDING: Final[Mapping[Reason, Callable[..., FieldforgeError]]] = {
    Reason.TOO_MANY: argument_binding.too_many,
    Reason.UNKNOWN_NAME: argument_binding.unknown_keyword,
    Reason.REPEATED: argument_binding.repeated,
    Reason.MISSING: argument_binding.missing,
}
# Arguments that the plan does not take, and calls that failed.
_REFUSED: Final[Mapping[Reason, Callable[..., FieldforgeError]]] = {
    Reason.STRUCTURE: refused_arguments.wrong_parts,
    Reason.TYPE: refused_arguments.wrong_type,
    Reason.SCALAR_RANGE: refused_arguments.scalar_out_of_range,
    Reason.DEVICE: wrong_device,
    Reason.READ_ONLY: refused_arguments.read_only,
    Reason.LAYOUT: refused_arguments.misaligned,
    Reason.DOMAIN: refused_arguments.outside_domain,
    Reason.OUTPUTS_OVERLAP: refused_arguments.overlapping_outputs,
    Reason.INPUTS_OVERLAP: refused_arguments.overlapping_input,
    Reason.MEMORY: no_memory,
    Reason.STATUS: failed,
    Reason.WORKSPACE: small_workspace,
    Reason.WORKSPACE_SHARED: shared_workspace,
    Reason.WORKSPACE_DEVICE: workspace_elsewhere,
    Reason.DEVICES: several_devices,
    Reason.NO_TABLE: refused_arguments.missing_table,
    Reason.TABLE: refused_arguments.other_table,
}


def reject(
    plan: Plan | None, arguments: Sequence[Any], reason: int, detail: Sequence[Any]
) -> NoReturn:
    """Raise the error for a refused call; `on_reject` of programs leads here.

    Where the arguments do not fit the parameters there is no plan, and `detail` is the
    name of the program, its parameters, and what is wrong. Where the plan has tables, the
    offset provider stands behind the arguments.
    """
    if plan is None:
        raise _BINDING[Reason(reason)](*detail)
    raise _REFUSED[Reason(reason)](plan, arguments, *detail)
