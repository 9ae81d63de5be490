"""Let nests hand arrays on in shared memory of a GPU, within patches of a mesh.

A nest that fills an array on vertices and one that reads it on edges become one kernel whose blocks
have some edges each, and the vertices that those need. Values at the rim of a patch are computed by
each patch that needs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import attrs

from ....runtime.language.dimension import DimensionKind
from ...gpu_target import WIDEST
from ...ir.bounds import (
    Bound,
    Const,
    PatchMember,
    PatchOrder,
    Range,
    add,
    maximum,
    multiply,
    subtract,
)
from ...ir.loops import Buffer, Kernel, Load, Nest, Patches, Store
from ..schedule.costs import ITEMSIZES
from ..schedule.placement import Rules
from .table_ways import codomains, owner_of, ways

SMALL: Final = 16  # loads of a point in all nests: small ones
WORD: Final = 4
# By whether nests are small, and have words only: elements of the last nest in a patch, bytes of an
# element's levels in a block, accesses of 16 bytes a thread, threads, blocks on a multiprocessor.
SIZES: Final = {
    (False, False): (96, 128, 2, 256, 3),
    (False, True): (96, 128, 1, 256, 4),
    (True, False): (192, 128, 2, 256, 4),
    (True, True): (96, 320, 2, 320, 4),
}
MOST: Final = 8  # nests
# Of the elements that nests fill, those that several patches fill counted each time, in percent.
AGAIN: Final = 250

Buffers: TypeAlias = Mapping[str, Buffer]


def patch(kernel: Kernel, rules: Rules) -> Kernel:
    """Make nests on a mesh that follow each other one kernel if they save arrays in memory."""
    if rules.checked or rules.gpu.patches[:1] == (-1,):
        return kernel
    made = tuple(
        found
        for first, stop in _runs(kernel)
        if (found := _made(kernel, first, stop, rules)) is not None
    )
    gone = {name: each for each in made for name in each.arrays}
    buffers = tuple(
        _where_needed(buffer, each) if (each := gone.get(buffer.name)) else buffer
        for buffer in kernel.buffers
    )
    return attrs.evolve(kernel, patches=made, buffers=buffers)


def _runs(kernel: Kernel) -> Iterator[tuple[int, int]]:
    """Yield the longest runs of nests over elements of a mesh and the same levels."""
    first = 0
    for stop in range(1, len(kernel.nests) + 1):
        if stop == len(kernel.nests) or not _go_on(kernel, first, stop):
            if stop - first > 1 and _is_on_mesh(kernel.nests[first]):
                yield first, stop
            first = stop


def _go_on(kernel: Kernel, first: int, number: int) -> bool:
    one, other = kernel.nests[first], kernel.nests[number]
    return (
        _is_on_mesh(one)
        and _is_on_mesh(other)
        and kernel.statement_of(one) == kernel.statement_of(other)
        and one.loops[-1].range == other.loops[-1].range
    )


def _is_on_mesh(nest: Nest) -> bool:
    return (
        not nest.states
        and not nest.parts
        and [loop.kind for loop in nest.loops] == ["thread", "thread"]
        and nest.loops[0].range.dim.kind is DimensionKind.HORIZONTAL
        and nest.loops[1].range.dim.kind is DimensionKind.VERTICAL
    )


def _made(kernel: Kernel, first: int, stop: int, rules: Rules) -> Patches | None:
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    numbers, fillers = _chosen(kernel, first, stop, buffers)
    nests = [kernel.nests[number] for number in numbers]
    if len(nests) > MOST or not fillers or not _is_laid_out(nests, buffers):
        return None
    run = kernel.nests[first:stop]
    touched = [{row.buffer for row in _accesses(nest, Load)} for nest in run]
    stored = [{row.buffer for row in _accesses(nest, Store)} for nest in run]
    if any(loads & names - set(fillers) for loads in touched for names in stored):
        return None
    widest = max(ITEMSIZES[buffers[name].dtype] for names in touched for name in names)
    sizes = _sizes(nests, widest, rules)
    members = _members(nests, fillers, buffers, sizes[1])
    if members is None:
        return None
    size, levels, points, threads, blocks = sizes
    names = ", ".join(fillers)
    return Patches(
        numbers[0], numbers[-1] + 1, numbers, tuple(fillers),
        PatchOrder(size, rules.gpu.most_shared, AGAIN, members),
        levels, points, threads, blocks, _extent(nests[-1].loops[0].range),
        f"{names} need not go to memory and back{_why(blocks)}",
    )  # fmt: skip


def _why(blocks: int) -> str:
    return f"; room for {blocks} blocks, faster than fewer even if threads spill a little"


def _chosen(
    kernel: Kernel, first: int, stop: int, buffers: Buffers
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Return the nests of a run that hand arrays on, and which of them fills each array."""
    joint = {each.nest for each in kernel.instead}
    numbers = [number for number in range(first, stop) if number not in joint]
    fillers = _fillers(kernel, numbers, (first, stop), buffers)
    chosen = tuple(
        number
        for number in numbers
        if any(
            isinstance(row, Load | Store) and row.buffer in fillers
            for row in kernel.nests[number].body
        )
    )
    for number in chosen:
        own = {row.buffer for row in _accesses(kernel.nests[number], Store)}
        if own & set(fillers) and own - set(fillers):
            return (), {}
    for each in kernel.instead:
        if first <= each.nest < stop:
            members = set(range(each.first, each.nest))
            if members & set(chosen) and members - set(chosen):
                return (), {}
    return chosen, {name: chosen.index(numbers[place]) for name, place in fillers.items()}


def _sizes(nests: Sequence[Nest], widest: int, rules: Rules) -> tuple[int, int, int, int, int]:
    """Return elements of a patch, levels, points of a thread, threads, and blocks."""
    loads = sum(row.level == len(nest.loops) for nest in nests for row in _accesses(nest, Load))
    own, line, packs, many, together = SIZES[loads <= SMALL, widest <= WORD]
    ours = (own, line // widest, packs * WIDEST // widest, many, together)
    given = (*rules.gpu.patches, 0, 0, 0, 0, 0)[:5]
    size, levels, points, threads, blocks = (
        theirs or model for theirs, model in zip(given, ours, strict=True)
    )
    lanes = -(-levels // points)
    return size, lanes * points, points, max(threads // lanes, 1) * lanes, blocks


def _accesses(nest: Nest, kind: type[Load | Store]) -> list[Load | Store]:
    return [row for row in nest.body if isinstance(row, kind)]


def _fillers(
    kernel: Kernel, numbers: Sequence[int], run: tuple[int, int], buffers: Buffers
) -> dict[str, int]:
    """Return the place of the nest that fills each array which only these nests touch."""
    elsewhere = {
        row.buffer
        for number, nest in enumerate(kernel.nests)
        if not run[0] <= number < run[1]
        for row in nest.body
        if isinstance(row, Load | Store)
    }
    found: dict[str, list[int]] = {}
    for place, number in enumerate(numbers):
        for row in _accesses(kernel.nests[number], Store):
            if buffers[row.buffer].memory == "arena":
                found.setdefault(row.buffer, []).append(place)
    return {
        name: places[0]
        for name, places in found.items()
        if len(places) == 1 and name not in elsewhere
    }


def _is_laid_out(nests: Sequence[Nest], buffers: Buffers) -> bool:
    """Tell whether levels have unit stride in what the nests store."""
    axis = nests[0].loops[-1].range.dim
    stores = [row for nest in nests for row in _accesses(nest, Store)]
    return all(
        buffers[row.buffer].unit is axis
        and len(buffers[row.buffer].dims) == 2
        and not any(row.offsets)
        for row in stores
    )


def _members(
    nests: Sequence[Nest], fillers: Mapping[str, int], buffers: Buffers, levels: int
) -> tuple[PatchMember, ...] | None:
    """Return what the inspector must know of the nests; None if it cannot make lists for them."""
    last = nests[-1].loops[0].range.dim
    leads_to = codomains(nests, buffers)
    made = []
    for place, nest in enumerate(nests):
        readings = [(fillers[name], way) for name, way in ways(nest, fillers)]
        if any(way is None for _, way in readings) or any(n >= place for n, _ in readings):
            return None
        own = [name for name, filler in fillers.items() if filler == place]
        bytes_ = sum(levels * ITEMSIZES[buffers[name].dtype] for name in own)
        owner, back = "", False
        if not own and place < len(nests) - 1:
            owner, back = owner_of(nest.loops[0].range.dim, last, leads_to)
            if not owner:
                return None
        if bytes_ % WIDEST:
            return None
        made.append(PatchMember(bool(own), bytes_, owner, back, tuple(readings)))  # type: ignore[arg-type]
    if made[-1].fills or not any(way for _, way in made[-1].readings):
        return None
    return tuple(made)


def _extent(range_: Range) -> Bound:
    return subtract(range_.stop, range_.start)


def _where_needed(buffer: Buffer, patches: Patches) -> Buffer:
    """Return an array that has no elements in calls where it is in shared memory."""
    cut = next(dim for dim in buffer.order if dim is not buffer.unit)
    box = []
    for range_ in buffer.box:
        if range_.dim is cut:
            rest = subtract(Const(1), patches.fits)
            extent = multiply(maximum(_extent(range_), Const(0)), rest)
            range_ = Range(cut, range_.start, add(range_.start, extent))  # noqa: PLW2901
        box.append(range_)
    return attrs.evolve(buffer, box=tuple(box))
