"""Find nests of a mesh that hand arrays on, and describe them for the inspector of patches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ....runtime.language import DimensionKind
from ....runtime.process import classes
from ...ir.loops import (
    ITEMSIZES,
    Bound,
    Buffer,
    Choice,
    Kernel,
    Load,
    Nest,
    Node,
    PatchGroup,
    PatchMember,
    Range,
    Seq,
    Store,
    accesses,
    arrays_of,
    in_order,
    nests_of,
    subtract,
    with_runs,
)
from .values import codomains, owner_of, ways

Kinds: TypeAlias = list[str]  # of the loops of a nest
Buffers: TypeAlias = Mapping[str, Buffer]
MOST: Final = 8  # nests of a chain


@classes.frozen
class Chain:
    """Nests that hand arrays on; `fillers` has by array the place in `nests` that fills it."""

    nests: tuple[Nest, ...]
    fillers: Mapping[str, int]

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays, in the order of the nests that fill them."""
        return tuple(self.fillers)


Cover: TypeAlias = tuple[PatchGroup, str]  # and its reason


def in_chains(kernel: Kernel, kinds: Kinds, cover: Callable[[Chain], Cover | None]) -> Kernel:
    """Let covers run in place of chains of nests on the same levels, in calls where they fit."""

    def covered(run: tuple[Node, ...]) -> tuple[Node, ...]:
        chains = () if _levels(run[0], kinds) is None else _chains(kernel, run)
        found = ((chain, cover(chain)) for chain in chains)
        chain, made = next((each for each in found if each[1] is not None), (None, None))
        return run if chain is None or made is None else _covered(run, chain, *made)

    return with_runs(
        kernel, lambda one, other: _levels(one, kinds) == _levels(other, kinds) is not None, covered
    )


def _covered(
    run: tuple[Node, ...], chain: Chain, cover: PatchGroup, reason: str
) -> tuple[Node, ...]:
    """Return a run whose chain is a choice; nests between that are no members run in any case."""
    own = [any(nest in chain.nests for nest in nests_of(node)) for node in run]
    first, stop = own.index(True), len(own) - own[::-1].index(True)
    others = [run[place] for place in range(first, stop) if not own[place]]
    then, otherwise = in_order(cover, *others), in_order(*run[first:stop])
    return (*run[:first], Choice(cover.fits, then, otherwise, reason), *run[stop:])


def _levels(node: Node, kinds: Kinds) -> Range | None:
    """Return the levels of a nest over elements of a mesh, or of a choice of nests; else None."""
    if not isinstance(node, Nest) and not (
        isinstance(node, Choice) and isinstance(node.then, Nest)
    ):
        return None
    nests = nests_of(node)
    levels = nests[0].loops[-1].range if nests[0].loops else None
    alike = all(_is_on_mesh(nest, kinds) and nest.loops[-1].range == levels for nest in nests)
    return levels if alike else None


def _is_on_mesh(nest: Nest, kinds: Kinds) -> bool:
    return (
        not nest.states
        and not nest.parts
        and [loop.kind for loop in nest.loops] == kinds
        and nest.loops[0].range.dim.kind is DimensionKind.HORIZONTAL
        and nest.loops[1].range.dim.kind is DimensionKind.VERTICAL
    )


def _chains(kernel: Kernel, run: Sequence[Node]) -> Iterator[Chain]:
    """Yield chains in a run: all its nests, then those that hand arrays on.

    What stores fields beside reads what the others do, from near memory. Nests in place of others
    are left out.
    """
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    sides = [nests_of(node.otherwise if isinstance(node, Choice) else node) for node in run]
    fillers = _fillers(kernel, run, [nest for nests in sides for nest in nests], buffers)
    loads, stored = (arrays_of(Seq(tuple(run)), kind) for kind in (Load, Store))
    if loads.isdisjoint(fillers) or loads & stored - set(fillers):
        return
    hands = [any(not arrays_of(nest).isdisjoint(fillers) for nest in nests) for nests in sides]
    for some in dict.fromkeys([(True,) * len(sides), tuple(hands)]):
        nests = [nest for nests, takes in zip(sides, some, strict=True) if takes for nest in nests]
        chosen = _asking_last(nests, fillers)
        stores = [arrays_of(nest, Store) for nest in chosen]
        mixed = any(own & set(fillers) and own - set(fillers) for own in stores)
        if len(chosen) <= MOST and not mixed and _is_laid_out(chosen, buffers):
            yield Chain(chosen, {name: chosen.index(nest) for name, nest in fillers.items()})


def _asking_last(nests: Sequence[Nest], fillers: Mapping[str, Nest]) -> tuple[Nest, ...]:
    """Return nests with the last one at the end that reads arrays at neighbours.

    Patches consist of its elements. Nests of a chain that fill no array may run in any order.
    """
    asking = [
        nest
        for nest in nests
        if nest not in fillers.values() and any(way for _, way in ways(nest, fillers))
    ]
    return (*(nest for nest in nests if nest not in asking[-1:]), *asking[-1:])


def _fillers(
    kernel: Kernel, run: Sequence[Node], nests: Sequence[Nest], buffers: Buffers
) -> dict[str, Nest]:
    """Return by array the nest that fills it, for arrays that only a run touches."""
    own = nests_of(Seq(tuple(run)))
    elsewhere = arrays_of(Seq(tuple(nest for nest in nests_of(kernel) if nest not in own)))
    stores = [(row.buffer, nest) for nest in nests for row in accesses(nest, Store)]
    counts = Counter(name for name, _ in stores)
    return {
        name: nest
        for name, nest in stores
        if counts[name] == 1 and buffers[name].memory == "arena" and name not in elsewhere
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
    leads = any(way for _, way in made[-1].readings)
    return tuple(made) if leads and not made[-1].fills else None


def extent(range_: Range) -> Bound:
    """Return how many indices a range has; negative for some empty ones."""
    return subtract(range_.stop, range_.start)
