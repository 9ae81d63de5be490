"""The variables of an imperative column: which are registers, and which levels the others have."""

from __future__ import annotations

from collections.abc import Collection

from ....runtime.process import classes
from ...ir.dataflow import Bound, Const, Side, add, greatest, least
from ...ir.stencil import Block
from .. import K, least_levels, reads_below
from .environment import Environment, levels_of, size, stays_inside


@classes.frozen
class Slot:
    """A variable of the column: its number, and the first level that it has and one past the last.

    A plane has no levels.
    """

    number: int
    levels: tuple[Bound, Bound] | None

    @property
    def side(self) -> Side:
        """The levels of a variable that is no plane."""
        assert self.levels is not None  # the caller looks
        return Side(K, *self.levels)


def is_local(environment: Environment, block: Block, variable: int, live: Collection[int]) -> bool:
    """Tell whether a temporary lives on one level: it is assigned there before it is read."""
    kind = environment.variable(variable).kind
    if kind == "mask":
        return True
    if kind != "temporary" or variable in live or "K" not in environment.variable(variable).axes:
        return False
    nodes, is_set = environment.root.nodes, variable not in environment.values
    for each in block.body:
        for read in reads_below(nodes, each.roots):
            is_own = read.level is None and read.offset[2] == 0
            if read.variable == variable and not (is_set and is_own):
                return False
        if each.variable == variable:
            if each.moves:
                return False
            is_set |= each.mask is None and each.region is None
    return True


def levels_in_column(environment: Environment, block: Block, variable: int) -> tuple[Bound, Bound]:
    """Return the levels of a variable with which a column works: those of the domain at least.

    Of an argument they are also what the block reads and writes around the domain, which is any
    level where a value gives the levels.
    """
    ends: list[tuple[Bound, Bound]] = [(Const(0), size(K))]
    if environment.variable(variable).kind != "field":
        return ends[0]
    moves = [(each.offset, each.level) for each in block.body if each.variable == variable]
    roots = [root for each in block.body for root in each.roots]
    reads = reads_below(environment.root.nodes, roots)
    moves += [(read.offset[2], read.level) for read in reads if read.variable == variable]
    fewest, (start, stop) = least_levels(environment.root.blocks), levels_of(block)
    for k, level in moves:
        if level is not None:
            ends.append(environment.ends(variable))
        elif not stays_inside(block, k, fewest):
            ends.append((add(start, k), add(stop, k)))
    return least(low for low, _ in ends), greatest(high for _, high in ends)
