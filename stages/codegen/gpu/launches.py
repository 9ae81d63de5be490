"""The launches of a program as data: what the native core does in place of host code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from ....runtime.calls.plan import Launch
from ...artifacts import Interface
from ...ir.bounds import Bound, Const, add, maximum, minimum, multiply, subtract
from ...ir.flat_kernel import Kernel
from ...ir.nest_groups import Patches, Together
from ...ir.nests import NOTHING, Nest
from ...ir.strides import Stride
from ..integers import numbers_of
from .grid import blocks_of, columns_in_a_row, single
from .kernel import Written
from .patches import room_of

# Vendors allow so many blocks along y and z.
MOST_BLOCKS = 65535


@attrs.frozen
class Order:
    """One launch in symbols: blocks along x, y and z, and the offsets of slots in the arena."""

    written: Written
    blocks: tuple[Bound, Bound, Bound]
    threads: tuple[int, int, int]
    slots: Mapping[int, Bound]
    shared: Bound = NOTHING
    most_shared: int = 0
    step: int = 1

    @property
    def bounds(self) -> Iterator[Bound]:
        """Everything that the call computes for it."""
        yield from self.blocks
        yield from self.slots.values()
        yield self.shared


def orders_of(
    kernel: Kernel, kernels: Sequence[Written], steps: Sequence[int]
) -> tuple[Order, ...]:
    """Return one launch for each kernel, in order.

    `steps` are the numbers of the statements that the groups of stores belong to.
    """
    offsets: dict[int, Bound] = {}
    end: Bound = Const(0)
    for place, size in enumerate(kernel.slots):
        offsets[place] = end
        end = add(end, size)
    alone = {n: scans for scans in kernel.together for n in range(scans.first, scans.stop)}
    return tuple(
        attrs.evolve(
            _order(kernel, written, offsets, alone.get(written.first), _when(kernel, written)),
            step=steps[kernel.nests[written.first].statement],
        )
        for written in kernels
    )


def _when(kernel: Kernel, written: Written) -> Bound:
    """Return 1 in calls where a nest runs, 0 where another runs in its place."""
    when: Bound = Const(1)
    for patches in kernel.patches:
        if written.patches == patches:
            return patches.node.fits
        joint = (each.first for each in kernel.instead if each.nest == written.first)
        if next(joint, written.first) in patches.members:
            when = subtract(Const(1), patches.node.fits)
    for each in kernel.instead:
        if each.first <= written.first < each.nest:
            return multiply(when, subtract(Const(1), each.when))
        if written.first == each.nest:
            return multiply(when, each.when)
    return when


def _order(
    kernel: Kernel,
    written: Written,
    offsets: Mapping[int, Bound],
    scans: Together | None,
    when: Bound,
) -> Order:
    """Return the launch of a kernel; of scans that are one, either that or those run."""
    if written.patches is not None:
        return _of_patches(kernel, written, written.patches, offsets, when)
    nest = kernel.nests[written.first]
    if written.version > 0:
        nest = single(nest)
    if scans is not None and not (written.version > 0 and scans.tiles):
        is_whole = written.scans is not None and written.blocked is None
        when = scans.node.fits if is_whole else subtract(Const(1), scans.node.fits)
    rooms = written.blocked or written.scans
    if written.scans and rooms:
        nest = columns_in_a_row(nest, written.scans.columns or rooms.threads)
    first, second, third = _blocks(nest)
    return Order(
        written,
        (multiply(first, when), second, third),
        _triple((rooms.threads,) if rooms else nest.block, 1),
        {place: offsets[place] for kind, place in written.arguments if kind == "slot"},
        rooms.needed if rooms else NOTHING,
        rooms.most if rooms else 0,
    )


def _of_patches(
    kernel: Kernel,
    written: Written,
    patches: Patches,
    offsets: Mapping[int, Bound],
    when: Bound,
) -> Order:
    """Return the launch of nests that are one kernel for each patch: a block for some levels."""
    _, parts = numbers_of(kernel, patches)
    return Order(
        written,
        (multiply(multiply(patches.node.patches, parts), when), Const(1), Const(1)),
        _triple((patches.threads,), 1),
        {place: offsets[place] for kind, place in written.arguments if kind == "slot"},
        room_of(patches),
        patches.order.most,
    )


def with_launches(interface: Interface, orders: Sequence[Order], platform: str) -> Interface:
    """Return the interface with launches that name its integers."""
    places: dict[Bound | Stride, int] = {each: i for i, each in enumerate(interface.ints)}
    return attrs.evolve(
        interface,
        platform=platform,
        launches=tuple(
            Launch(
                kernel=order.written.name,
                blocks=_triple([places[blocks] for blocks in order.blocks], 0),
                threads=order.threads,
                version=order.written.version,
                shared=order.most_shared,
                needed=places[order.shared] if order.most_shared else -1,
                step=order.step,
                arguments=tuple(
                    (kind, places[order.slots[place]] if kind == "slot" else place)
                    for kind, place in order.written.arguments
                ),
            )
            for order in orders
        ),
    )


def _blocks(nest: Nest) -> tuple[Bound, Bound, Bound]:
    """Return how many blocks there are along x, y and z; none along x if the guard is empty."""
    blocks: list[Bound] = [Const(1)] * 3
    for axis, count in enumerate(blocks_of(nest)):
        blocks[axis] = minimum(count, Const(MOST_BLOCKS)) if axis else count
    guards = [range_ for range_ in nest.guard if range_ not in nest.box]
    if guards:
        extents = [subtract(range_.stop, range_.start) for range_ in guards]
        runs: Bound = Const(1)
        for extent in extents:
            runs = minimum(runs, extent)
        blocks[0] = multiply(maximum(blocks[0], Const(0)), maximum(runs, Const(0)))
    first, second, third = blocks
    return first, second, third


def _triple(given: Sequence[int], rest: int) -> tuple[int, int, int]:
    first, second, third = (*given, rest, rest, rest)[:3]
    return first, second, third
