"""Plan the arena: arrays whose lives do not overlap share a slot."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from ...ir.bounds import Apply, Bound, Const, Range, add, difference, maximum, multiply
from ...ir.flat_kernel import Buffer, Kernel
from ...ir.nests import Load, Nest, Store
from ..on_lists import on_lists
from ..schedule.costs import ITEMSIZES
from ..schedule.rules import Rules

ALIGNMENT = 64


@on_lists
def plan_arena(kernel: Kernel, _: Rules) -> Kernel:
    """Give every array of the kernel a slot."""
    return plan_slots(kernel)


def plan_slots(kernel: Kernel) -> Kernel:
    """Return lists whose arrays have slots; the workspace is the sum of the slots.

    Each thread has its own copy of the slots of tile arrays. These slots come last, and those of
    one thread lie together: hardware prefetch beyond the end of a row then fetches no line that
    another thread writes.
    """
    lives = lives_of(kernel.nests)
    slots: list[_Slot] = []
    buffers: list[Buffer] = []
    for buffer in kernel.buffers:
        if buffer.memory in ("arena", "tile"):
            first, last = _while_in_turn(kernel, buffer, lives[buffer.name])
            place = _find_slot(slots, buffer, first, last)
            buffers.append(attrs.evolve(buffer, slot=place))
        else:
            buffers.append(buffer)
    order = sorted(range(len(slots)), key=lambda place: slots[place].of_tiles)
    buffers = [
        attrs.evolve(each, slot=order.index(each.slot)) if each.slot >= 0 else each
        for each in buffers
    ]
    copies = {True: kernel.threads, False: 1}
    sizes = tuple(multiply(slots[at].size, copies[slots[at].of_tiles]) for at in order)
    portions = [attrs.evolve(each, slot=len(sizes) + n) for n, each in enumerate(kernel.portions)]
    sizes += tuple(
        multiply(each.node.room, multiply(each.node.fits, each.node.threads)) for each in portions
    )
    workspace: Bound = Const(0)
    for size in sizes:
        workspace = add(workspace, size)
    return attrs.evolve(
        kernel,
        buffers=tuple(buffers),
        portions=tuple(portions),
        slots=sizes,
        workspace=workspace,
    )


def extent(range_: Range) -> Bound:
    """Return the number of indices of a range; it may be negative for an empty range."""
    return add(range_.stop, negative(range_.start))


def negative(bound: Bound) -> Bound:
    """Return the bound with the other sign, a sum term by term."""
    if isinstance(bound, Const):
        return Const(-bound.value)
    if isinstance(bound, Apply) and bound.op == "add":
        result: Bound = Const(0)
        for term in bound.args:
            result = add(result, negative(term))
        return result
    if isinstance(bound, Apply) and bound.op == "mul" and bound.args[0] == Const(-1):
        return bound.args[1]
    return Apply("mul", (Const(-1), bound))


@attrs.define
class _Slot:
    itemsize: int
    extents: list[Bound]
    free_from: int
    of_tiles: bool

    @property
    def size(self) -> Bound:
        """The bytes of the slot, rounded up to the alignment."""
        known = self.itemsize
        factors: list[Bound] = []
        for count in self.extents:
            clamped = maximum(Const(0), count)
            if isinstance(clamped, Const):
                known *= clamped.value
            else:
                factors.append(clamped)
        if not factors:
            return Const(-(-known // ALIGNMENT) * ALIGNMENT)
        total = add(Apply("mul", (Const(known), *factors)), ALIGNMENT - 1)
        blocks = Apply("floordiv", (total, Const(ALIGNMENT)))
        return Apply("mul", (Const(ALIGNMENT), blocks))


def lives_of(nests: Sequence[Nest]) -> dict[str, tuple[int, int]]:
    """Return for each buffer the first and the last nest that touch it."""
    lives: dict[str, tuple[int, int]] = {}
    for index, nest in enumerate(nests):
        for access in nest.body:
            if isinstance(access, Load | Store):
                first, _ = lives.get(access.buffer, (index, index))
                lives[access.buffer] = (first, index)
    return lives


def _while_in_turn(kernel: Kernel, buffer: Buffer, life: tuple[int, int]) -> tuple[int, int]:
    """Return the first and the last nest during which an array is in use.

    Where the nests of a tiling take turns row by row, the first still writes rows when the last
    reads.
    """
    for tiling in kernel.tilings if buffer.memory == "tile" else ():
        if tiling.rolled is not None and tiling.first <= life[0] < tiling.stop:
            return tiling.first, tiling.stop - 1
    return life


def _find_slot(slots: list[_Slot], buffer: Buffer, first: int, last: int) -> int:
    """Return a free slot whose extents differ from those of the array by known numbers only."""
    itemsize = ITEMSIZES[buffer.dtype]
    extents = [extent(range_) for range_ in buffer.box]
    for place, slot in enumerate(slots):
        fits = slot.itemsize == itemsize and len(slot.extents) == len(extents)
        fits = fits and slot.of_tiles == (buffer.memory == "tile")
        if fits and slot.free_from <= first:
            pairs = list(zip(slot.extents, extents, strict=True))
            if all(difference(old, new) is not None for old, new in pairs):
                slot.extents = [maximum(old, new) for old, new in pairs]
                slot.free_from = last + 1
                return place
    slots.append(_Slot(itemsize, extents, last + 1, buffer.memory == "tile"))
    return len(slots) - 1
