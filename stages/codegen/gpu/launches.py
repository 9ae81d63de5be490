"""The launches of a program as data: what the native core does in place of host code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeVar

import attrs

from ....runtime.calls.plan import Launch
from ...artifacts import Interface
from ...ir.bounds import (
    Bound,
    Const,
    PatchBound,
    Ranges,
    add,
    difference,
    least,
    maximum,
    minimum,
    multiply,
    subtract,
)
from ...ir.loops.gpu import Columns, Patches, Rows, marked, marks_of
from ...ir.loops.kernel import Kernel, Loop
from ...ir.loops.nest import Nest
from ...ir.strides import Stride
from ..errors import CodegenError
from .text.grid import blocks_of
from .text.kernel import Written

T = TypeVar("T")
NOTHING: Final[Bound] = Const(0)
# Vendors allow so many blocks along y and z.
MOST_BLOCKS = 65535


@attrs.frozen
class Order:
    """One launch in symbols: blocks along x, y and z, and the offsets of slots in the arena."""

    written: Written
    blocks: tuple[Bound, Bound, Bound]
    threads: tuple[int, int, int]
    shared: Bound
    most_shared: int
    slots: Mapping[int, Bound] = attrs.field(factory=dict)
    step: int = 1
    indices: tuple[Bound, ...] = ()  # of loops around it

    @property
    def bounds(self) -> Iterator[Bound]:
        """Everything that the call computes for it."""
        yield from self.blocks
        yield from self.slots.values()
        yield from self.indices
        yield self.shared


def orders_of(tree: Kernel, kernels: Sequence[Written], steps: Sequence[int]) -> tuple[Order, ...]:
    """Return one launch for each kernel, in order.

    `steps` are the numbers of the statements that the groups of stores belong to.
    """
    ends = [NOTHING]
    for size in tree.slots:
        ends.append(add(ends[-1], size))
    return tuple(
        attrs.evolve(
            _order(tree, written),
            slots={place: ends[place] for kind, place in written.arguments if kind == "slot"},
            step=steps[written.part.first.group],
            indices=indices,
        )
        for written, indices in _in_turn(kernels)
    )


def _in_turn(
    kernels: Iterable[Written], indices: tuple[Bound, ...] = ()
) -> Iterator[tuple[Written, tuple[Bound, ...]]]:
    """Yield kernels in the order of a call, those in loops for one index after the other."""
    depth = len(indices)
    alike = groupby(kernels, key=lambda each: (each.version, each.part.around[depth:][:1]))
    for (_, around), several in alike:
        own = list(several)
        if not around:
            yield from ((written, indices) for written in own)
        for _, loop in around:
            for index in _turns(loop):
                yield from _in_turn(own, (*indices, index))


def _turns(loop: Loop) -> list[Bound]:
    """Return the indices of a loop in its order.

    Raises:
        CodegenError: if only a call knows how many there are.

    """
    start, stop = loop.range.start, loop.range.stop
    count = difference(stop, start)
    if count is None:
        raise CodegenError(
            f"A GPU launches each plane of dimension '{loop.range.dim.value}' by itself, "
            f"but only a call knows how many there are in {start} .. {stop}."
        )
    indices = [add(start, place) for place in range(count)]
    return indices[::-1] if loop.backward else indices


def _order(tree: Kernel, written: Written) -> Order:
    """Return the launch of a kernel."""
    node, nest, shared, most = written.part.node, written.part.first, NOTHING, 0
    threads = (node.threads,) if isinstance(node, Columns | Patches) else marks_of(nest).block
    if isinstance(node, Patches):  # a block for some levels of a patch
        blocks = [multiply(node.patches, node.parts(nest.box[-1]))]
        shared, most = PatchBound("shared", node.order), node.order.most
    else:
        if isinstance(node, Columns):
            columns = node.load.columns if isinstance(node.load, Rows) else node.threads
            nest, shared, most = marked(nest, block=(columns,)), node.needed, node.most
        blocks = _blocks(nest, tree.groups[nest.group].box)
    blocks[0] = multiply(blocks[0], written.part.when)
    return Order(written, _triple(blocks, Const(1)), _triple(threads, 1), shared, most)


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
                    _argument(kind, place, order, places) for kind, place in order.written.arguments
                ),
            )
            for order in orders
        ),
    )


def _argument(
    kind: str, place: int, order: Order, places: Mapping[Bound | Stride, int]
) -> tuple[str, int]:
    if kind == "index":
        return "int", places[order.indices[place]]
    return kind, places[order.slots[place]] if kind == "slot" else place


def _blocks(nest: Nest, box: Ranges) -> list[Bound]:
    """Return how many blocks there are along x, y and z; none along x if the box is empty."""
    first, *others = blocks_of(nest) or [Const(1)]
    guards = [subtract(each.stop, each.start) for each in box if each not in nest.box]
    if guards:
        runs = maximum(least([Const(1), *guards]), Const(0))
        first = multiply(maximum(first, Const(0)), runs)
    return [first, *(minimum(count, Const(MOST_BLOCKS)) for count in others)]


def _triple(given: Sequence[T], rest: T) -> tuple[T, T, T]:
    first, second, third = (*given, rest, rest, rest)[:3]
    return first, second, third
