"""Lower PARALLEL blocks: statement by statement, each on all points of the interval."""

from __future__ import annotations

from collections.abc import Set
from itertools import groupby

from ....runtime.process import classes
from ...ir.dataflow import Ref
from ...ir.stencil import Assign, Block, Read
from .columns import run_column
from .environment import Environment
from .liveness import live_before


def run_parallel(environment: Environment, block: Block, live: Set[int]) -> None:
    """Update the environment by the assignments of a block; a `while` is a column of its own.

    `live` are the variables that later blocks may read.
    """
    groups = groupby(block.body, lambda each: each.statement)
    statements = [tuple(assigns) for _, assigns in groups]
    for place, assigns in enumerate(statements):
        if any(each.loops for each in assigns):
            rest = tuple(each for more in statements[place + 1 :] for each in more)
            read = live_before(environment.root.nodes, classes.evolve(block, body=rest), live)
            run_column(environment, classes.evolve(block, body=assigns), read)
        else:
            for assign in assigns:
                _assign(environment, block, assign)


def _assign(environment: Environment, block: Block, assign: Assign) -> None:
    def read(node: Read) -> Ref:
        ref = environment.current(node.variable)
        return environment.placed(ref, node, lambda row: environment.value(row, read))

    number = assign.variable
    new, old = environment.value(assign.value, read), environment.current(number)
    mask = None if assign.mask is None else environment.value(assign.mask, read)
    if environment.variable(number).kind != "mask":
        new = environment.chosen(mask, assign.region, new, old)
    environment.values[number] = environment.on_levels(number, block, new, old)
