"""Find nests of a mesh that hand arrays on, and describe them for the inspector of patches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import attrs

from ....runtime.language.dimension import DimensionKind
from ...ir.bounds import Bound, Const, PatchMember, Range, add, maximum, multiply, subtract
from ...ir.flat_kernel import Buffer, Kernel
from ...ir.nest_groups import Patches, Portions
from ...ir.nests import Load, Nest, Store
from ..schedule.costs import ITEMSIZES
from .table_ways import codomains, owner_of, ways

Kinds: TypeAlias = list[str]  # of the loops of a nest
Buffers: TypeAlias = Mapping[str, Buffer]
MOST: Final = 8  # nests of a chain


@attrs.frozen
class Chain:
    """Nests that hand arrays on; `fillers` has by array the place in `nests` that fills it."""

    numbers: tuple[int, ...]
    nests: tuple[Nest, ...]
    fillers: Mapping[str, int]

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays, in the order of the nests that fill them."""
        return tuple(self.fillers)


def chains(kernel: Kernel, kinds: Kinds) -> Iterator[Chain]:
    """Yield the chain of each longest run of nests on the same levels, if it has one."""
    for first, stop in _runs(kernel, kinds):
        found = _chain(kernel, first, stop)
        if found is not None:
            yield found


def _runs(kernel: Kernel, kinds: Kinds) -> Iterator[tuple[int, int]]:
    """Yield the longest runs of nests over elements of a mesh and the same levels."""
    first = 0
    for stop in range(1, len(kernel.nests) + 1):
        if stop == len(kernel.nests) or not _go_on(kernel, kinds, first, stop):
            if stop - first > 1 and _is_on_mesh(kernel.nests[first], kinds):
                yield first, stop
            first = stop


def _go_on(kernel: Kernel, kinds: Kinds, first: int, number: int) -> bool:
    one, other = kernel.nests[first], kernel.nests[number]
    return (
        _is_on_mesh(one, kinds)
        and _is_on_mesh(other, kinds)
        and kernel.statement_of(one) == kernel.statement_of(other)
        and one.loops[-1].range == other.loops[-1].range
    )


def _is_on_mesh(nest: Nest, kinds: Kinds) -> bool:
    return (
        not nest.states
        and not nest.parts
        and [loop.kind for loop in nest.loops] == kinds
        and nest.loops[0].range.dim.kind is DimensionKind.HORIZONTAL
        and nest.loops[1].range.dim.kind is DimensionKind.VERTICAL
    )


def _chain(kernel: Kernel, first: int, stop: int) -> Chain | None:
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    numbers, fillers = _chosen(kernel, first, stop, buffers)
    nests = tuple(kernel.nests[number] for number in numbers)
    if len(nests) > MOST or not fillers or not _is_laid_out(nests, buffers):
        return None
    run = kernel.nests[first:stop]
    touched = [{row.buffer for row in accesses(nest, Load)} for nest in run]
    stored = [{row.buffer for row in accesses(nest, Store)} for nest in run]
    if any(loads & names - set(fillers) for loads in touched for names in stored):
        return None
    return Chain(numbers, nests, fillers)


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
        own = {row.buffer for row in accesses(kernel.nests[number], Store)}
        if own & set(fillers) and own - set(fillers):
            return (), {}
    for each in kernel.instead:
        if first <= each.nest < stop:
            members = set(range(each.first, each.nest))
            if members & set(chosen) and members - set(chosen):
                return (), {}
    return chosen, {name: chosen.index(numbers[place]) for name, place in fillers.items()}


def accesses(nest: Nest, kind: type[Load | Store]) -> list[Load | Store]:
    """Return the loads or the stores of a nest."""
    return [row for row in nest.body if isinstance(row, kind)]


def _fillers(
    kernel: Kernel, numbers: Sequence[int], run: tuple[int, int], buffers: Buffers
) -> dict[str, int]:
    """Return by array the place of the nest that fills it, for arrays that only these touch."""
    elsewhere = kernel.touched_outside(*run)
    found: dict[str, list[int]] = {}
    for place, number in enumerate(numbers):
        for row in accesses(kernel.nests[number], Store):
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
    stores = [row for nest in nests for row in accesses(nest, Store)]
    return all(
        buffers[row.buffer].unit is axis
        and len(buffers[row.buffer].dims) == 2
        and not any(row.offsets)
        for row in stores
    )


def members_of(
    nests: Sequence[Nest], fillers: Mapping[str, int], buffers: Buffers, levels: int
) -> tuple[PatchMember, ...] | None:
    """Describe the nests for the inspector; None if it cannot make lists for them.

    `levels` are those of an array that a patch keeps at a time.
    """
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
        made.append(PatchMember(bool(own), bytes_, owner, back, tuple(readings)))  # type: ignore[arg-type]
    if made[-1].fills or not any(way for _, way in made[-1].readings):
        return None
    return tuple(made)


def extent(range_: Range) -> Bound:
    """Return how many indices a range has; negative for some empty ones."""
    return subtract(range_.stop, range_.start)


def without_arrays(kernel: Kernel, made: Sequence[Patches | Portions]) -> tuple[Buffer, ...]:
    """Return the buffers of a kernel; arrays handed on in patches have no elements if `fits`."""
    fits = {name: each.node.fits for each in made for name in each.arrays}
    return tuple(
        _empty_where(buffer, fits[buffer.name]) if buffer.name in fits else buffer
        for buffer in kernel.buffers
    )


def _empty_where(buffer: Buffer, fits: Bound) -> Buffer:
    """Return an array that has no elements in calls where `fits` is 1."""
    cut = next(dim for dim in buffer.order if dim is not buffer.unit)
    box = []
    for range_ in buffer.box:
        if range_.dim is cut:
            left = multiply(maximum(extent(range_), Const(0)), subtract(Const(1), fits))
            range_ = Range(cut, range_.start, add(range_.start, left))  # noqa: PLW2901
        box.append(range_)
    return attrs.evolve(buffer, box=tuple(box))
