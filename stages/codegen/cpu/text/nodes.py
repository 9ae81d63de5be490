"""Write the nodes of a kernel in order: each stands in a block, under its conditions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import attrs

from ....ir.loops.column import Column
from ....ir.loops.cpu import Portions, Tiles
from ....ir.loops.kernel import Choice, Kernel, Loop, Node, Seq
from ....ir.loops.nest import Nest
from ....ir.loops.traverse import arrays_of, walk
from ...rows.options import Steps
from ...rows.scope import Scope
from .column import write_column
from .nest import write_nest
from .portions import write_portions
from .tiles import write_tiles
from .units import Line, Part, part_of


@attrs.frozen
class Writing:
    """What stands around a node.

    Attributes:
        steps: how a call selects one statement.
        prefix: of the names of functions that nodes may become.
        when: the conditions of choices.
        first: the number of its first nest.

    """

    steps: Steps | None
    prefix: str = ""
    when: str = ""
    first: int = 0


def write_steps(scope: Scope, kernel: Kernel, writing: Writing) -> Iterator[Line]:
    """Write all nodes of a kernel."""
    return _in_order(scope, tuple(step.body for step in kernel.steps), writing)


def _in_order(scope: Scope, nodes: tuple[Node, ...], writing: Writing) -> Iterator[Line]:
    first = writing.first
    for node in nodes:
        yield from write_node(scope, node, attrs.evolve(writing, first=first))
        first += count(node)


def write_node(scope: Scope, node: Node, writing: Writing) -> Iterator[Line]:
    """Write a node; nests, columns and tiles may become functions."""
    first, prefix = writing.first, writing.prefix
    match node:
        case Seq(steps=steps):
            yield from _in_order(scope, steps, writing)
        case Choice():
            yield from _choice(scope, node, writing)
        case Loop():
            yield from _loop(scope, node, writing)
        case Tiles(members=members):
            last = first + len(members) - 1
            yield f"{_head(scope, node, writing)}{{  // nests {first} .. {last}"
            write = partial(write_tiles, tiles=node, first=first, prefix=prefix)
            yield part_of(scope, f"{prefix}nests{first}", write)
        case Nest() | Column():
            yield f"{_head(scope, node, writing)}{{  // nest {first}"
            yield _alone(scope, node, f"{prefix}nest{first}")
        case _:
            raise TypeError(f"The C++ writer does not know '{type(node).__name__}' here.")


def _alone(scope: Scope, node: Nest | Column, name: str) -> Part:
    def write(own: Scope) -> Iterator[str]:
        return write_nest(own, node) if isinstance(node, Nest) else write_column(own, node)

    return part_of(scope, name, write, arguments=tuple(scope.around.values()))


def _head(scope: Scope, node: Node, writing: Writing) -> str:
    """Return the conditions under which a call runs a node."""
    selected = ""
    if writing.steps is not None:
        group = next(each.group for each in walk(node) if isinstance(each, Nest | Column))
        number = writing.steps.numbers[group]
        selected = f"if (!{scope.ask('only')} || only == {number}) "
    return f"  {selected}{writing.when}"


def _choice(scope: Scope, choice: Choice, writing: Writing) -> Iterator[Line]:
    """Write both sides, each under its condition; nodes at the end of both need none."""
    then, otherwise = _steps(choice.then), _steps(choice.otherwise)
    own = [step for step in then if step not in otherwise]
    if then[: len(own)] != tuple(own):  # something runs before what differs
        own = list(then)
    when = scope.bound(choice.when)
    if isinstance(portions := own[0], Portions) and len(own) == 1:
        yield from _portions(scope, portions, choice, writing)
    else:
        after = writing.first + count(choice.otherwise)
        inside = attrs.evolve(writing, when=f"{writing.when}if ({when}) ", first=after)
        yield from _in_order(scope, tuple(own), inside)
    first = writing.first
    for step in otherwise:
        is_common = step in then and step not in own
        test = writing.when if is_common else f"{writing.when}if (!{when}) "
        yield from write_node(scope, step, attrs.evolve(writing, when=test, first=first))
        first += count(step)


def _portions(scope: Scope, portions: Portions, choice: Choice, writing: Writing) -> Iterator[Line]:
    """Write portions of patches, whose nests have the numbers of those in their place."""
    nests = enumerate(_nests(choice.otherwise), writing.first)
    touching = set(portions.arrays)
    numbers = [number for number, nest in nests if not touching.isdisjoint(arrays_of(nest))]
    test = f"if ({scope.bound(choice.when)}) "
    said = f"nests {', '.join(map(str, numbers))} in portions"
    yield f"{_head(scope, portions, writing)}{test}{{  // {said}"
    write = partial(write_portions, portions=portions, numbers=numbers)
    yield part_of(scope, f"{writing.prefix}portions{numbers[0]}", write)


def _loop(scope: Scope, loop: Loop, writing: Writing) -> Iterator[Line]:
    """Write a loop around nodes, which run for one index after the other."""
    index = f"o{len(scope.around)}"
    start, stop = scope.ends(loop.range)
    head = f"for (s64 {index} = {start}; {index} < {stop}; ++{index}) {{"
    if loop.backward:
        head = f"for (s64 {index} = {stop} - 1; {index} >= {start}; --{index}) {{"
    yield f"  {writing.when}{head}  // planes"
    inner = attrs.evolve(scope, around={**scope.around, loop.range.dim: index})
    yield from write_node(inner, loop.body, attrs.evolve(writing, when=""))
    yield "  }"


def _steps(node: Node) -> tuple[Node, ...]:
    return node.steps if isinstance(node, Seq) else (node,)


def count(node: Node) -> int:
    """Return how many nests of a node have numbers of their own."""
    return len(_nests(node))


def _nests(node: Node) -> list[Nest | Column]:
    """Return the nests of a node in the order of their numbers.

    Those of a choice are those of `otherwise`, and then what only `then` has.
    """
    match node:
        case Nest() | Column():
            return [node]
        case Tiles(members=members):
            return [member.nest for member in members]
        case Seq(steps=steps):
            return [nest for step in steps for nest in _nests(step)]
        case Loop(body=body):
            return _nests(body)
        case Choice(then=then, otherwise=otherwise):
            others = _steps(otherwise)
            own = [step for step in _steps(then) if step not in others]
            return [nest for step in (*others, *own) for nest in _nests(step)]
    return []  # portions: their nests have the numbers of those in their place
