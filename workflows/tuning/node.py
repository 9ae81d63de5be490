"""The machine that predictions are for: its class, with the costs that were measured here."""

from __future__ import annotations

from typing import Final

from ...runtime.calls.machine import machine_file, processor, read_machine
from ...stages.codegen.plan.machine import CLASSES, CpuClass, class_of
from ...stages.codegen.plan.seconds import MachineClass
from .refit import costs_of, with_costs

COSTS: Final = "costs"  # in the file of the node
GPUS: Final = "h200"  # the class that stands for all GPUs


def node(name: str | None = None) -> MachineClass:
    """Return the class of this node, or a named one, with the costs that were measured here."""
    machine = class_of(processor()) if name is None else CLASSES[name]
    known = read_machine(machine_file()).get(COSTS, {})
    own = {each: cost for each, cost in known.items() if each in costs_of(machine)}
    return with_costs(machine, own) if isinstance(machine, CpuClass) and name is None else machine
