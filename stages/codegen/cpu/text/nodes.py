"""Write the nodes of a kernel in order: each stands in a block, under its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from .....runtime.process import classes
from ....ir.loops import Choice, Column, Kernel, Loop, Nest, Node, Seq, Store, arrays_of, walk
from ....ir.loops.cpu import Portions, Tiles
from ...rows.acts import loop_over
from ...rows.options import Steps
from ...rows.scope import Scope
from .lanes import acts_in_lanes, write_lanes
from .nest import write_column, write_nest
from .portions import functions_of, write_all, write_portions
from .tiles import write_tiles
from .units import Known, Line, part_of


@classes.frozen
class Writing:
    """What stands around a node.

    Attributes:
        steps: how a call selects one statement.
        when: the conditions of choices.
        nests: those written so far; the number of a nest is its place.
        functions: those of nests in portions, which run for all elements too.
        first: the number of the first nest on the other side of a choice.

    """

    steps: Steps | None
    when: str = ""
    nests: list[Node] = classes.field(factory=list)
    functions: dict[Nest, Known] = classes.field(factory=dict)
    first: int = 0


def write_steps(scope: Scope, kernel: Kernel, writing: Writing) -> Iterator[Line]:
    """Write all nodes of a kernel."""
    for step in kernel.steps:
        yield from write_node(scope, step.body, writing)


def write_node(scope: Scope, node: Node, writing: Writing) -> Iterator[Line]:
    """Write a node; nests, columns and groups of nests may become functions."""
    nests = writing.nests
    number = len(nests)
    around = tuple(scope.around.values())
    match node:
        case Seq(steps=steps):
            for step in steps:
                yield from write_node(scope, step, writing)
        case Choice():
            yield from _choice(scope, node, writing)
        case Loop(range=range_, body=body, backward=backward):
            index = f"o{len(around)}"
            head = loop_over(index, scope.ends(range_), backward=backward)
            yield f"  {writing.when}{head}  // planes"
            inside = classes.evolve(scope, around={**scope.around, range_.dim: index})
            yield from write_node(inside, body, classes.evolve(writing, when=""))
            yield "  }"
        case Nest() | Column():
            nests.append(node)
            yield f"{_head(scope, node, writing)}{{  // nest {number}"
            alone = partial(_alone, node=node, functions=writing.functions)
            yield part_of(scope, f"nest{number}", alone, (), around)
        case Tiles(members=members):
            nests += [member.nest for member in members]
            yield f"{_head(scope, node, writing)}{{  // nests {number} .. {len(nests) - 1}"
            tiled = partial(write_tiles, tiles=node, first=number)
            yield part_of(scope, f"nests{number}", tiled, (), around)
        case Portions(loops=loops):
            stored = [arrays_of(nest, Store) for nest in nests]
            numbers = [stored.index(arrays_of(each.nest, Store), writing.first) for each in loops]
            said = f"nests {', '.join(map(str, numbers))} in portions"
            yield f"{_head(scope, node, writing)}{{  // {said}"
            names = [writing.functions[each.nest].name for each in loops]
            portioned = partial(write_portions, portions=node, functions=names, numbers=numbers)
            yield part_of(scope, f"portions{numbers[0]}", portioned, (), around)
        case _:
            raise TypeError(f"The C++ writer does not know '{type(node).__name__}'.")


def _alone(scope: Scope, node: Nest | Column, functions: Mapping[Nest, Known]) -> Iterator[str]:
    if isinstance(node, Column):
        in_lanes = acts_in_lanes(scope, node)
        return write_lanes(scope, node) if in_lanes else write_column(scope, node)
    if node in functions:
        return write_all(scope, node, functions[node].name)
    return write_nest(scope, node)


def _choice(scope: Scope, choice: Choice, writing: Writing) -> Iterator[Line]:
    """Write both sides, each under its condition; nodes that end both need none.

    The nests of `otherwise` have the lower numbers, though they stand below.
    """
    then, otherwise = (
        side.steps if isinstance(side, Seq) else (side,) for side in (choice.then, choice.otherwise)
    )
    own = tuple(step for step in then if step not in otherwise)
    own = own if then[: len(own)] == own else then
    common, when, first = then[len(own) :], scope.bound(choice.when), len(writing.nests)
    for portions in (step for step in own if isinstance(step, Portions)):
        writing.functions.update(functions_of(scope, portions, len(writing.functions)))
    apart = classes.evolve(writing, when=f"{writing.when}if (!{when}) ")
    below = [
        line
        for step in otherwise
        for line in write_node(scope, step, writing if step in common else apart)
    ]
    inside = classes.evolve(writing, when=f"{writing.when}if ({when}) ", first=first)
    for step in own:
        yield from write_node(scope, step, inside)
    yield from below


def _head(scope: Scope, node: Node, writing: Writing) -> str:
    """Return the conditions under which a call runs a node."""
    selected = ""
    if writing.steps is not None:
        group = next(each.group for each in walk(node) if isinstance(each, Nest | Column))
        number = writing.steps.numbers[group]
        selected = f"if (!{scope.ask('only')} || only == {number}) "
    return f"  {selected}{writing.when}"
