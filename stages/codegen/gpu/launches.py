"""The launches of a program as data: what the native core does in place of host code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, groupby
from typing import Final, TypeVar

from ....runtime.calls.plan import Launch, Repeat
from ....runtime.process import classes
from ...artifacts import Interface
from ...ir.inside import bounds_of
from ...ir.loops import (
    Bound,
    Const,
    Kernel,
    Loop,
    Nest,
    Stride,
    add,
    floor_divide,
    least,
    maximum,
    minimum,
    multiply,
    subtract,
)
from ...ir.loops.gpu import GroupLaunch, KernelGroup, marks_of
from .kernels import ALWAYS, Boxes
from .text.grid import MOST_BLOCKS, blocks_of
from .text.kernel import Written

T = TypeVar("T")
NOTHING: Final[Bound] = Const(0)


@classes.frozen
class Order:
    """One launch in symbols: blocks along x, y and z, and the offsets of slots in the arena."""

    written: Written
    blocks: tuple[Bound, Bound, Bound]
    threads: tuple[int, int, int]
    shared: Bound
    most_shared: int
    slots: Mapping[int, Bound]
    step: int

    @property
    def bounds(self) -> Iterator[Bound]:
        """Everything that the call computes for it."""
        yield from (*self.blocks, *self.slots.values(), self.shared)


@classes.frozen
class Repeated:
    """Launches in symbols that a call repeats for each index of a loop."""

    loop: Loop
    orders: tuple[Order | Repeated, ...]

    @property
    def bounds(self) -> Iterator[Bound]:
        """Everything that the call computes for them."""
        yield from bounds_of(self.loop.range)
        yield from (bound for order in self.orders for bound in order.bounds)


def orders_of(
    tree: Kernel, kernels: Sequence[Written], steps: Sequence[int]
) -> tuple[Order | Repeated, ...]:
    """Return one launch for each kernel, in order, those in loops together.

    `steps` are the numbers of the statements that the groups of stores belong to.
    """
    offsets: list[Bound] = list(accumulate(tree.slots, add, initial=NOTHING))
    return tuple(_in_loops(_order(tree, written, offsets, steps) for written in kernels))


def _in_loops(orders: Iterable[Order], depth: int = 0) -> Iterator[Order | Repeated]:
    """Yield orders as they come, those that share one more loop than `depth` as one."""

    def place(order: Order) -> tuple[int, tuple[int, Loop] | None]:
        around = order.written.part.around
        return order.written.version, around[depth] if depth < len(around) else None

    for (_, around), together in groupby(orders, key=place):
        if around is None:
            yield from together
        else:
            yield Repeated(around[1], tuple(_in_loops(together, depth + 1)))


def _order(tree: Kernel, written: Written, offsets: Sequence[Bound], steps: Sequence[int]) -> Order:
    """Return the launch of a kernel."""
    node, nest = written.part.node, written.part.first
    own = (
        node.launch
        if isinstance(node, KernelGroup)
        else GroupLaunch(marks_of(nest).block, NOTHING, 0)
    )
    blocks = [own.blocks] if own.blocks else _allowed(_blocks(tree, nest))
    if isinstance(node, Boxes):
        blocks = _with_rims(blocks, [_blocks(tree, each) for each in node.rims])
    blocks[0] = multiply(blocks[0], written.part.when)
    return Order(
        written,
        _triple(blocks, Const(1)),
        _triple(own.threads, 1),
        own.shared,
        own.most,
        {place: offsets[place] for kind, place in written.arguments if kind == "slot"},
        steps[nest.group],
    )


def with_launches(
    interface: Interface, orders: Sequence[Order | Repeated], platform: str
) -> Interface:
    """Return the interface with launches that name its integers."""
    places: dict[Bound | Stride, int] = {each: i for i, each in enumerate(interface.ints)}
    return classes.evolve(
        interface, platform=platform, launches=tuple(_launch(order, places) for order in orders)
    )


def _launch(order: Order | Repeated, places: Mapping[Bound | Stride, int]) -> Launch | Repeat:
    if isinstance(order, Repeated):
        start, stop = (places[end] for end in bounds_of(order.loop.range))
        inside = tuple(_launch(each, places) for each in order.orders)
        return Repeat(start, stop, inside, order.loop.backward)
    return Launch(
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


def _blocks(tree: Kernel, nest: Nest) -> list[Bound]:
    """Return how many blocks a nest needs along x, y and z; none along x if the box is empty."""
    first, *others = blocks_of(nest) or [Const(1)]
    box = tree.groups[nest.group].box
    guards = [subtract(each.stop, each.start) for each in box if each not in nest.box]
    if guards:
        runs = maximum(least([Const(1), *guards]), Const(0))
        first = multiply(maximum(first, Const(0)), runs)
    return [first, *others]


def _allowed(blocks: Sequence[Bound]) -> list[Bound]:
    """Return as many blocks along y and z as a grid may have; threads take several indices."""
    first, *others = blocks
    return [first, *(minimum(count, Const(MOST_BLOCKS)) for count in others)]


def _with_rims(inner: Sequence[Bound], rims: Iterable[Sequence[Bound]]) -> list[Bound]:
    """Return the grid of several boxes: blocks of the rims follow in columns of their own."""
    columns, *others = inner
    others = [maximum(count, ALWAYS) for count in others]
    row = reduce(multiply, others, ALWAYS)
    counts = (reduce(multiply, (maximum(n, NOTHING) for n in each), ALWAYS) for each in rims)
    more = floor_divide(add(reduce(add, counts), subtract(row, ALWAYS)), row)
    return [add(maximum(columns, NOTHING), more), *others]


def _triple(given: Sequence[T], rest: T) -> tuple[T, T, T]:
    first, second, third = (*given, rest, rest, rest)[:3]
    return first, second, third
