"""Which kernels a tree is, in their order, and in which calls each of them runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from typing import Final, TypeAlias

from ....runtime.process import classes
from ...ir.loops import (
    Bound,
    Choice,
    Column,
    Const,
    Kernel,
    Load,
    Loop,
    Nest,
    Node,
    Store,
    Sweep,
    arrays_of,
    children,
    multiply,
    nests_of,
    rewrite,
    subtract,
    with_nests,
)
from ...ir.loops.gpu import GpuMarks, KernelGroup, marked, marks_of
from .passes.thread_blocks import MOST_AXES, OF_COLUMNS, OF_POINTS

ALWAYS: Final[Bound] = Const(1)


@classes.frozen
class Boxes(Node):
    """Nests that store the same on boxes of their own: some blocks of a kernel have each.

    Attributes:
        inner: the nest with the longest code, which has the first columns of the grid.
        rims: the others, whose blocks are counted in one row.

    """

    inner: Nest
    rims: tuple[Nest, ...]


Whole: TypeAlias = Nest | Column | KernelGroup | Boxes


@classes.frozen
class KernelPart:
    """What is one kernel: a nest, or a group of nests, and the numbers of these.

    It runs in calls where all of `factors` are 1. A nest `instead` of others comes after them.
    Loops `around` it, each with the number of its first nest, run it for one index after the other.
    Fields with `narrow` offsets come with the field that has their strides.
    """

    node: Whole
    nests: tuple[int, ...]
    factors: tuple[Bound, ...] = ()
    instead: bool = False
    around: tuple[tuple[int, Loop], ...] = ()
    narrow: Mapping[str, str] = classes.field(factory=dict)

    @property
    def when(self) -> Bound:
        """1 in calls that run it, 0 in others."""
        return reduce(multiply, self.factors, ALWAYS)

    @property
    def first(self) -> Nest:
        """The nest that says of which statement it is, and which columns it has."""
        match self.node:
            case Nest():
                return self.node
            case Column():
                return threads_of(self.node)
            case Boxes():
                return self.node.inner
        return self.node.first


def parts(node: Node | Kernel, first: int = 0) -> list[KernelPart]:
    """Return the parts that are one kernel each, in order; nests are counted from `first` on.

    Of a choice, groups come first, then what runs without them, then a nest instead of others. What
    both sides contain runs in either case.
    """
    if isinstance(node, Choice):
        return list(_chosen(node, first))
    if isinstance(node, Loop):
        inside = parts(node.body, first)
        return [classes.evolve(each, around=((first, node), *each.around)) for each in inside]
    if isinstance(node, Nest | Column | KernelGroup):
        count = max(1, len(nests_of(node)))
        return [KernelPart(node, tuple(range(first, first + count)))]
    found: list[KernelPart] = []
    for child in children(node):
        found += parts(child, _stop(found, first))
    return found


def in_one_launch(tree: Kernel, found: Iterable[KernelPart]) -> Iterator[KernelPart]:
    """Yield parts of a tree, as one those in a row that store the same on boxes of their own.

    This is called horizontal fusion: a launch takes longer than a thin rim does. All blocks have
    the registers of the longest code.
    """
    for alike, together in groupby(found, key=lambda part: _alike(tree, part)):
        few = list(together)
        nests = [part.node for part in few if isinstance(part.node, Nest)]
        in_place = any(arrays_of(nest, Load) & arrays_of(nest, Store) for nest in nests)
        if alike is None or len(few) < 2 or in_place:
            yield from few
            continue
        inner = max(nests, key=lambda nest: len(nest.body))
        block = marks_of(inner).block
        rims = tuple(marked(nest, block=block) for nest in nests if nest is not inner)
        numbers = tuple(number for part in few for number in part.nests)
        yield classes.evolve(few[0], node=Boxes(inner, rims), nests=numbers)


def _alike(tree: Kernel, part: KernelPart) -> tuple[object, ...] | None:
    """Return what the parts of one kernel have in common; None for one that is a kernel alone."""
    node = part.node
    if not isinstance(node, Nest) or node.states or part.instead or not node.loops:
        return None
    statement, threads = tree.groups[node.group].statement, len(marks_of(node).block)
    return statement, arrays_of(node, Store), threads, part.factors, part.around


def threads_of(column: Column) -> Nest:
    """Return the loops of a column as those of a nest: a thread has a column, or a point of it."""
    loops = tuple(classes.evolve(loop, kind="thread") for loop in column.loops)
    walks = any(isinstance(act, Sweep) for act in column.acts) or len(loops) > MOST_AXES
    marks = GpuMarks(block=(OF_COLUMNS[1] if walks else OF_POINTS[len(loops)]) if loops else ())
    return Nest(column.group, loops, (), column.reason, marks=marks)


def _chosen(choice: Choice, first: int) -> Iterator[KernelPart]:
    """Yield the parts of a choice: between those that both sides contain, what each has alone.

    A group of `then` stands for the nests that only `otherwise` has.
    """
    otherwise = parts(without_group(choice), first)
    number = stop = _stop(otherwise, first)
    common, gaps = [-1], list[list[KernelPart]]([[]])  # places in `otherwise`; what only `then` has
    for part in parts(choice.then, stop):
        later = range(common[-1] + 1, len(otherwise))
        place = next((n for n in later if _is_same(part, otherwise[n])), None)
        if place is not None:
            common.append(place)
            gaps.append([])
        else:
            gaps[-1].append(part)
    alone = [part for place, part in enumerate(otherwise) if place not in common]
    members = tuple(number for part in alone if not part.instead for number in part.nests)
    without = subtract(ALWAYS, choice.when)
    for before, place, own in zip(common, [*common[1:], len(otherwise)], gaps, strict=True):
        groups, nests = list[KernelPart](), list[KernelPart]()
        for part in own:
            is_nest = isinstance(part.node, Nest | Column)
            numbers, factors = (number,) if is_nest else members, (choice.when, *part.factors)
            made = classes.evolve(part, nests=numbers, factors=factors, instead=is_nest)
            (nests if is_nest else groups).append(made)
            number += is_nest
        yield from groups
        for part in otherwise[before + 1 : place]:
            yield classes.evolve(part, factors=(without, *part.factors))
        yield from (*nests, *otherwise[place : place + 1])


def _is_same(part: KernelPart, other: KernelPart) -> bool:
    ours, theirs = ([loop for _, loop in each.around] for each in (part, other))
    return (part.node, part.factors, ours) == (other.node, other.factors, theirs)


def _stop(found: Sequence[KernelPart], first: int) -> int:
    return max((part.nests[-1] + 1 for part in found), default=first)


# --- versions -----------------------------------------------------------------------------------


def without_group(choice: Choice) -> Node:
    """Return what runs without a group; scans load less ahead: addresses need registers too."""
    if isinstance(choice.then, KernelGroup) and not isinstance(choice.otherwise, KernelGroup):
        choice = with_nests(choice, lambda nest: marked(nest, ahead=marks_of(nest).ahead // 2))
    return choice.otherwise


def clamping_version(tree: Kernel) -> Kernel:
    """Return the version that clamps indices: a point for each thread, and not all groups."""
    return rewrite(tree, _clamping)


def _clamping(node: Node) -> Node:
    match node:
        case Nest():
            return marked(node, points=(), blocks=1)
        case Choice(then=KernelGroup(is_clamped=False)):
            return without_group(node)
    return node
