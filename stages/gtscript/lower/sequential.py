"""Lower FORWARD and BACKWARD blocks: scans where levels depend on each other, else values."""

from __future__ import annotations

from collections.abc import Sequence, Set

from ....runtime.process import classes
from ...ir.bounds import add
from ...ir.dataflow import Ref, Side
from ...ir.stencil import Block, Read
from ..axes import K
from ..check.extents import Extent
from ..sweeps import Sweep, Use, is_cycle, is_imperative, walks
from .bounds import levels_of
from .columns import run_column
from .environment import Environment
from .scans import Column, at_level


@classes.define
class Levels:
    """A block while it is lowered: the value of each assignment on the levels of the block."""

    environment: Environment
    sweep: Sweep
    made: dict[int, Ref] = classes.field(factory=dict)
    longer: dict[int, Block] = classes.field(factory=dict)  # where a value holds on more levels

    def levels(self, index: int) -> Block:
        """Return the block with all levels on which the value of an assignment holds."""
        return self.longer.get(index, self.sweep.block)

    def read(self, index: int, node: Read) -> Ref:
        """Return the value of a read of assignment `index`."""
        use, environment = self.sweep.use(index, node), self.environment
        if node.level is None and not node.places:
            return self.used(node.variable, use, node.offset)

        def inner(each: Read) -> Ref:
            return self.read(index, each)

        ref = environment.current(node.variable)
        return environment.placed(ref, node, lambda row: environment.value(row, inner))

    def used(self, number: int, use: Use, offset: tuple[int, int, int] = (0, 0, 0)) -> Ref:
        """Return the value that a use means."""
        environment = self.environment
        if use.of is None:
            return environment.at(environment.current(number), offset)
        i, j, k = offset
        if use.back == 0:
            return environment.at(self.made[use.of], (i, j, 0))
        if k == 0:  # a variable without levels, as it was on the level before
            k = -1 if self.sweep.block.order == "forward" else 1
        old = environment.current(number)
        box = ((Side(K, *levels_of(self.levels(use.of))),),)
        both = environment.graph.region(box, self.made[use.of], old)
        return environment.at(both, (i, j, k))

    def assigned(self, index: int) -> Ref:
        """Return the value of an assignment that depends on no other level of itself."""
        assign = self.sweep.block.body[index]
        environment = self.environment

        def read(node: Read) -> Ref:
            return self.read(index, node)

        new = environment.value(assign.value, read)
        if environment.variable(assign.variable).kind == "mask":
            return new
        if assign.mask is None and assign.region is None:
            return new
        mask = None if assign.mask is None else environment.value(assign.mask, read)
        old = self.used(assign.variable, self.sweep.kept(index))
        return environment.chosen(mask, assign.region, new, old)


def run_sequential(
    environment: Environment, block: Block, around: Sequence[Extent], live: Set[int]
) -> None:
    """Update the environment by the assignments of a block.

    `around` are their extents, `live` the variables that later blocks may read.
    """
    root = environment.root
    if is_imperative(root.nodes, root.variables, block) is not None:
        run_column(environment, block, live)
        return
    sweep = Sweep.of(root.nodes, root.variables, block)
    levels = Levels(environment, sweep)
    for component in walks(sweep, around):
        if is_cycle(sweep, component):
            column = Column(environment, sweep, component, levels.used, levels.read, live)
            levels.made |= column.scanned()
            levels.longer |= column.led
        else:
            (index,) = component
            levels.made[index] = levels.assigned(index)
    last = {number: sweep.last(number) for number in sweep.own}
    after = {
        number: _after(environment, number, levels.levels(index), levels.made[index])
        for number, index in last.items()
        if index in levels.made
    }
    environment.values.update(after)


def _after(environment: Environment, number: int, block: Block, new: Ref) -> Ref:
    if "K" in environment.variable(number).axes:
        return environment.on_levels(number, block, new, environment.current(number))
    start, stop = levels_of(block)
    level = (stop, -1) if block.order == "forward" else (start, 0)
    return environment.graph.level(at_level(environment.graph, new, add(*level)), K, add(*level))
