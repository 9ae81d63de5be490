"""Build dataflow from the typed tree of a stencil: one value after another for each variable."""

from __future__ import annotations

from collections.abc import Iterator

from ....runtime.process import classes
from ....runtime.process.errors import OptionError
from ...artifacts import Variant
from ...ir.bounds import Const, Range
from ...ir.dataflow import Dataflow, Leaf
from ...ir.stencil import Stencil
from ..axes import AXES, data_dims, dims_of, size_of
from ..check.extents import Extents, extents_of
from ..parsed import ParsedStencil
from .blocks import run_parallel
from .environment import Environment
from .liveness import live_after
from .sequential import run_sequential
from .storing import Storing


def build(parsed: ParsedStencil, variant: Variant) -> Dataflow:
    """Return the program of a stencil."""
    extents = extents_of(parsed.root.nodes, parsed.root.blocks)
    root = _with_points(parsed.root, extents)
    leaves = tuple(_leaves(parsed, variant))
    environment = Environment.of(root, leaves, dict(variant.static))
    storing = Storing(environment)
    live = live_after(root)
    for place, block in enumerate(root.blocks):
        if block.order == "parallel":
            run_parallel(environment, block, live[place])
        else:
            around = [extents.statements[place, each.statement] for each in block.body]
            run_sequential(environment, block, around, live[place])
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
