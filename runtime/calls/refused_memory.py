"""Compose the errors about devices, workspaces and memory of a refused call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..fields.bare_array import device_of
from ..fields.device import DeviceType
from ..process.errors import ArgumentError, DeviceError, OverlapError
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
