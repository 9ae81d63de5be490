"""Plan the arena: arrays whose lives do not overlap share a slot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from ...runtime.process import classes
from ..ir.loops import (
    ITEMSIZES,
    Apply,
    Bound,
    Buffer,
    Choice,
    Const,
    Kernel,
    NestGroup,
    Node,
    Range,
    add,
    arrays_of,
    code_of,
    difference,
    empty_where,
    groups_of,
    maximum,
    multiply,
    nests_of,
    nodes_of,
    rewrite,
    steps_of,
)
from .pass_list import Rules

Life: TypeAlias = tuple[int, int]  # from the first node to the last
ALIGNMENT = 64
# Tile arrays lie whole pages and so many bytes apart: processors take a load for one of a store at
# the same place of another page, and wait. Of 13 arrays no two are within 192 bytes. Hardware
# prefetch beyond the end of a row then also fetches no line that another thread writes.
PAGE, APART = 4096, 1600


def plan_arena(kernel: Kernel, _: Rules) -> Kernel:
    """Give every array of the kernel a slot, and each thread the rows of its portions.

    Each thread has its own copy of the slots of tile arrays.
    """
    groups, nests = tuple(groups_of(kernel)), code_of(kernel)
    lives = lives_of(nests)
    for each in groups:
        if each.alternates:
            ends = [nests.index(each.members[at].nest) for at in (0, -1)]
            lives |= dict.fromkeys(each.arrays, (ends[0], ends[1]))
    threads = max((each.copies for each in groups), default=1)
    buffers, sizes = placed(_where_needed(kernel), lives, threads)
    own = {each: each.workspace for each in groups if each.workspace is not None}
    slots = {each: len(sizes) + n for n, each in enumerate(own)}
    sizes += tuple(own.values())

    def with_place(node: Node) -> Node:
        if isinstance(node, NestGroup) and node in slots:
            return classes.evolve(node, slot=slots[node])
        return node

    return classes.evolve(rewrite(kernel, with_place), buffers=buffers, slots=sizes)


def _where_needed(kernel: Kernel) -> tuple[Buffer, ...]:
    """Return buffers whose arrays are empty in calls where a group keeps them to itself.

    Code that clamps indices needs the arrays of groups that it does without.
    """
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    for choice in nodes_of(kernel, Choice):
        group = steps_of(choice.then)[0]
        if not isinstance(group, NestGroup) or not group.is_clamped:
            continue
        axis = nests_of(group)[0].loops[-1].range.dim
        outside = choice.otherwise.outside if isinstance(choice.otherwise, NestGroup) else None
        inside = {} if outside is None else {axis: outside}
        for array in (buffers[name] for name in group.arrays if buffers[name].memory == "arena"):
            box = tuple(inside.get(range_.dim, range_) for range_ in array.box)
            buffers[array.name] = empty_where(classes.evolve(array, box=box), axis, choice.when)
    return tuple(buffers.values())


def placed(
    buffers: Sequence[Buffer], lives: Mapping[str, Life], threads: int = 1
) -> tuple[tuple[Buffer, ...], tuple[Bound, ...]]:
    """Return buffers whose arrays have slots, and the bytes of the slots.

    The slots of tile arrays come last, and those of one thread lie together.
    """
    slots: list[_Slot] = []
    places: dict[str, int] = {}
    for each in buffers:
        if each.memory in ("arena", "tile"):
            places[each.name] = _find_slot(slots, each, *lives[each.name], places.get(each.over))
    order = sorted(range(len(slots)), key=lambda place: slots[place].of_tiles)
    made = tuple(
        classes.evolve(each, slot=order.index(places[each.name])) if each.name in places else each
        for each in buffers
    )
    sizes = [slots[at].size for at in order]
    copies = (threads if slots[at].of_tiles else 1 for at in order)
    return made, tuple(multiply(*each) for each in zip(sizes, copies, strict=True))


def extent(range_: Range) -> Bound:
    """Return the number of indices of a range; it may be negative for an empty range."""
    return add(range_.stop, negative(range_.start))


def negative(bound: Bound) -> Bound:
    """Return the bound with the other sign, a sum term by term."""
    match bound:
        case Const():
            return Const(-bound.value)
        case Apply(op="add"):
            result: Bound = Const(0)
            for term in bound.args:
                result = add(result, negative(term))
            return result
        case Apply(op="mul", args=(Const(value=-1), other)):
            return other
    return Apply("mul", (Const(-1), bound))


@classes.define
class _Slot:
    itemsize: int
    extents: list[Bound]
    free_from: int
    of_tiles: bool

    @property
    def size(self) -> Bound:
        """The bytes of the slot, rounded up to the alignment, or for tiles beyond whole pages."""
        known = self.itemsize
        factors: list[Bound] = []
        for count in self.extents:
            clamped = maximum(Const(0), count)
            if isinstance(clamped, Const):
                known *= clamped.value
            else:
                factors.append(clamped)
        unit, more = (PAGE, APART) if self.of_tiles else (ALIGNMENT, 0)
        if not factors:
            return Const(-(-known // unit) * unit + more)
        total = add(Apply("mul", (Const(known), *factors)), unit - 1)
        return add(Apply("mul", (Const(unit), Apply("floordiv", (total, Const(unit))))), more)


def lives_of(nodes: Iterable[Node]) -> dict[str, Life]:
    """Return for each buffer the first and the last node that touch it."""
    lives: dict[str, Life] = {}
    for index, node in enumerate(nodes):
        for name in arrays_of(node):
            lives[name] = (lives.get(name, (index, index))[0], index)
    return lives


def _find_slot(slots: list[_Slot], buffer: Buffer, first: int, last: int, over: int | None) -> int:
    """Return a free slot whose extents differ from those of the array by known numbers only.

    Those of tiles, which are small, may differ by what only the call knows. An array that lies
    `over` another one takes its slot.
    """
    if over is not None:
        slots[over].free_from = last + 1
        return over
    itemsize, is_tile = ITEMSIZES[buffer.dtype], buffer.memory == "tile"
    extents = [extent(range_) for range_ in buffer.box]
    for place, slot in enumerate(slots):
        own = slot.itemsize, slot.of_tiles, len(slot.extents)
        if own == (itemsize, is_tile, len(extents)) and slot.free_from <= first:
            pairs = list(zip(slot.extents, extents, strict=True))
            if is_tile or all(difference(old, new) is not None for old, new in pairs):
                slot.extents = [maximum(old, new) for old, new in pairs]
                slot.free_from = last + 1
                return place
    slots.append(_Slot(itemsize, extents, last + 1, is_tile))
    return len(slots) - 1
