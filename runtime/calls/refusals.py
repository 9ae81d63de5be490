"""Raise the error for a call that the native core refused, by the reason that it gives."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from ..language import argument_binding
from ..process.errors import FieldforgeError
from . import refused_arguments, refused_memory
from .plan import Plan


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
    Reason.DEVICE: refused_memory.wrong_device,
    Reason.READ_ONLY: refused_arguments.read_only,
    Reason.LAYOUT: refused_arguments.misaligned,
    Reason.DOMAIN: refused_arguments.outside_domain,
    Reason.OUTPUTS_OVERLAP: refused_arguments.overlapping_outputs,
    Reason.INPUTS_OVERLAP: refused_arguments.overlapping_input,
    Reason.MEMORY: refused_memory.no_memory,
    Reason.STATUS: refused_memory.failed,
    Reason.WORKSPACE: refused_memory.small_workspace,
    Reason.WORKSPACE_SHARED: refused_memory.shared_workspace,
    Reason.WORKSPACE_DEVICE: refused_memory.workspace_elsewhere,
    Reason.DEVICES: refused_memory.several_devices,
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
