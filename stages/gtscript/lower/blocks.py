"""Lower PARALLEL blocks: statement by statement, each on all points of the interval."""

from __future__ import annotations

from ...ir.dataflow import Ref
from ...ir.stencil import Block, Read
from .environment import Environment


def run_parallel(environment: Environment, block: Block) -> None:
    """Update the environment by the assignments of a block."""

    def read(node: Read) -> Ref:
        ref = environment.current(node.variable)
        return environment.placed(ref, node, lambda row: environment.value(row, read))

    for assign in block.body:
        number = assign.variable
        new, old = environment.value(assign.value, read), environment.current(number)
        mask = None if assign.mask is None else environment.value(assign.mask, read)
        if environment.variable(number).kind != "mask":
            new = environment.chosen(mask, assign.region, new, old)
        environment.values[number] = environment.on_levels(number, block, new, old)
