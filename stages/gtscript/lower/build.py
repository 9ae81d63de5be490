"""Build dataflow from the typed tree of a stencil: one value after another for each variable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import groupby

from ....runtime.process import OptionError, classes
from ...artifacts import Variant
from ...ir.dataflow import Const, Dataflow, Leaf, Range, Ref, Side, add
from ...ir.stencil import Assign, Block, Node, Read, Stencil
from .. import AXES, K, ParsedStencil, data_dims, dims_of, reads_below, size_of
from ..check.extents import Extent, Extents, extents_of
from ..sweeps import Sweep, Use, is_cycle, is_imperative, walks
from .columns import run_column
from .environment import Environment, is_whole, levels_of
from .scans import Column, at_level
from .storing import Storing


def build(parsed: ParsedStencil, variant: Variant) -> Dataflow:
    """Return the program of a stencil."""
    extents = extents_of(parsed.root.nodes, parsed.root.blocks)
    root = _with_points(parsed.root, extents)
    leaves = tuple(_leaves(parsed, variant))
    environment = Environment.of(root, leaves, dict(variant.static))
    storing = Storing(environment)
    live = _live_after(root)
    for place, block in enumerate(root.blocks):
        if block.order == "parallel":
            _run_parallel(environment, block, live[place])
        else:
            around = [extents.statements[place, each.statement] for each in block.body]
            _run_sequential(environment, block, around, live[place])
        environment.forget_dead(live[place])
        storing.after(block, root.blocks[place + 1 :], live[place])
    return Dataflow(
        name=root.name,
        parameters=(*parsed.used, *map(size_of, AXES)),
        leaves=leaves,
        values=tuple(environment.graph.values),
        statements=tuple(storing.statements),
    )


def _with_points(root: Stencil, extents: Extents) -> Stencil:
    """Return a stencil without assignments in regions that lie outside of every domain."""
    blocks = []
    for place, block in enumerate(root.blocks):
        body = tuple(each for each in block.body if extents.meets(place, each))
        blocks.append(block if body == block.body else classes.evolve(block, body=body))
    return classes.evolve(root, blocks=tuple(blocks))


def _leaves(parsed: ParsedStencil, variant: Variant) -> Iterator[Leaf]:
    known = {(name, dim): (Const(start), Const(stop)) for name, dim, start, stop in variant.ranges}
    variables = {each.name: each for each in parsed.root.variables}
    scalars = [size_of(axis) for axis in AXES]
    for place, name in enumerate(parsed.used):
        variable = variables[name]
        if variable.kind == "scalar":
            scalars.append(name)
            yield Leaf(name, (place,), "scalar", variable.dtype)
            continue
        dims = (*data_dims(len(variable.sizes)), *dims_of(variable.axes))
        leaf = Leaf(name, (place,), "field", variable.dtype, dims)
        ends = [(dim, known.get((name, dim.value))) for dim in dims]
        if all(each is not None for _, each in ends):
            ranges = tuple(Range(dim, *each) for dim, each in ends if each is not None)
            leaf = classes.evolve(leaf, ranges=ranges)
        yield leaf
    for place, axis in enumerate(AXES, len(parsed.used)):
        yield Leaf(size_of(axis), (place,), "scalar", "int64")
    _check_static(variant.static, scalars)


def _check_static(static: tuple[tuple[str, str], ...], scalars: list[str]) -> None:
    for name, _ in static:
        if name not in scalars:
            raise OptionError(
                f"Static argument '{name}' is not a scalar parameter.", name=name, known=scalars
            )


def _run_parallel(environment: Environment, block: Block, live: Set[int]) -> None:
    """Update the environment by the assignments of a block; a `while` is a column of its own.

    `live` are the variables that later blocks may read.
    """
    groups = groupby(block.body, lambda each: each.statement)
    statements = [tuple(assigns) for _, assigns in groups]
    for place, assigns in enumerate(statements):
        if any(each.loops for each in assigns):
            rest = tuple(each for more in statements[place + 1 :] for each in more)
            read = _live_before(environment.root.nodes, classes.evolve(block, body=rest), live)
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


def _live_after(root: Stencil) -> list[frozenset[int]]:
    """Return for each block the variables whose values after it later blocks may read."""
    found: list[frozenset[int]] = [frozenset()]
    for block in root.blocks[:0:-1]:
        found.append(_live_before(root.nodes, block, found[-1]))
    return found[::-1]


def _live_before(nodes: Sequence[Node], block: Block, live: Set[int]) -> frozenset[int]:
    """Return the variables that a block may read, and those of `live` that it may leave."""
    needed: set[int] = set()
    assigned: set[int] = set()
    for each in block.body:
        for read in reads_below(nodes, each.roots):
            if read.offset[2] or read.level is not None or read.variable not in assigned:
                needed.add(read.variable)
        if each.mask is None and each.region is None and not each.moves:
            assigned.add(each.variable)
        elif each.variable not in assigned:
            needed.add(each.variable)
    return frozenset(needed | (live - (assigned if is_whole(block) else set())))


@classes.define
class _Levels:
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


def _run_sequential(
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
    levels = _Levels(environment, sweep)
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
