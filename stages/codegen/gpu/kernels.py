"""Which kernels a tree is, in their order, and in which calls each of them runs.

In calls whose fields allow it, threads of columns find elements by offsets of 32 bits. An address
in 64 bits takes several instructions for each axis, and two registers. Such a kernel reads strides
once for all fields with the same dimensions, and a thread has one point of a grid.
"""

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
    DomainSymbol,
    Kernel,
    Load,
    Loop,
    Nest,
    Node,
    Store,
    Stride,
    Sweep,
    add,
    arrays_of,
    children,
    floor_divide,
    greatest,
    maximum,
    minimum,
    multiply,
    nests_of,
    rewrite,
    subtract,
    with_nests,
)
from ...ir.loops.gpu import GpuMarks, KernelGroup, marked, marks_of
from .passes.thread_blocks import MOST_AXES, OF_COLUMNS, OF_POINTS
from .text.grid import MOST_BLOCKS, blocks_of

ALWAYS: Final[Bound] = Const(1)
NEVER: Final[Bound] = Const(0)
MOST_ELEMENTS: Final = Const(2**31)


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
        return [
            classes.evolve(each, around=((first, node), *each.around))
            for each in parts(node.body, first)
        ]
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
        rims = tuple(
            marked(nest, block=marks_of(inner).block) for nest in nests if nest is not inner
        )
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


def with_narrow_offsets(tree: Kernel, parts: Iterable[KernelPart]) -> Iterator[KernelPart]:
    """Yield parts, columns twice: with narrow offsets, and for calls that need wide ones."""
    for part in parts:
        narrow = _alike_fields(tree, part.node) if isinstance(part.node, Column) else {}
        if narrow:
            wide = minimum(ALWAYS, greatest(_excesses(tree, part, narrow)))
            factors = subtract(ALWAYS, wide), *part.factors
            yield classes.evolve(part, factors=factors, narrow=narrow)
        yield classes.evolve(part, factors=(wide, *part.factors)) if narrow else part


def _alike_fields(tree: Kernel, column: Column) -> dict[str, str]:
    """Return the fields of a column, each with the first one that has the same dimensions."""
    touched, first = arrays_of(column), dict[object, str]()
    return {
        each.name: first.setdefault((each.dims, each.unit), each.name)
        for each in tree.buffers
        if each.memory == "field" and each.name in touched
    }


def _excesses(tree: Kernel, part: KernelPart, narrow: Mapping[str, str]) -> Iterator[Bound]:
    """Yield numbers that are positive in calls that need wide offsets, and else 0."""
    for blocks in blocks_of(part.first)[1:]:
        yield floor_divide(blocks, Const(MOST_BLOCKS + 1))
    for own in (each for each in tree.buffers if each.name in narrow):
        total = NEVER  # of elements that may lie between index 0 and another one
        for axis, dim in enumerate(own.dims):
            start, stop = (DomainSymbol(end, own.name, dim) for end in ("start", "stop"))
            stride, first = (
                ALWAYS if dim is own.unit else Stride(name, axis)
                for name in (own.name, narrow[own.name])
            )
            reach = maximum(stop, multiply(start, -1))
            total = add(total, multiply(reach, _size(stride)))
            yield _size(subtract(stride, first))
        yield floor_divide(total, MOST_ELEMENTS)


def _size(bound: Bound) -> Bound:
    return maximum(bound, multiply(bound, -1))
