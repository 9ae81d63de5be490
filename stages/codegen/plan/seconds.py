"""The seconds of a tree on a class of machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ...ir.loops import Kernel
from .cpu_seconds import CpuFacts, CpuModel
from .gpu_seconds import GpuFacts, GpuModel
from .machine import CpuClass, GpuClass
from .sizes import Sizes

Facts: TypeAlias = Sequence[CpuFacts] | Sequence[GpuFacts]
MachineClass: TypeAlias = CpuClass | GpuClass


def facts_of(kernel: Kernel, sizes: Sizes, machine: MachineClass) -> Facts:
    """Return what each part of a tree does; a machine with other costs has the same facts."""
    if isinstance(machine, CpuClass):
        return CpuModel(sizes, machine).facts(kernel)
    return GpuModel(sizes, machine).facts(kernel)


def seconds_of(facts: Facts, machine: MachineClass) -> float:
    """Return the seconds of a call."""
    call = machine.call if isinstance(machine, CpuClass) else 0.0
    return sum((each.seconds(machine) for each in facts), call)  # type: ignore[arg-type]  # a machine of its kind
