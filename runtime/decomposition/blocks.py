"""Cut a Cartesian grid into the blocks of ranks, each with a halo, corners included.

Blocks keep the global indices: a field of rank r lives on `blocks[r].local`, and programs run on
`blocks[r].owned` without any translation.

>>> import fieldforge as ff
>>> I, J = ff.Dimension("I"), ff.Dimension("J")
>>> cut = blocks({I: 8, J: 6}, {I: 2, J: 1}, halo=1, periodic=[J])
>>> str(cut[0].owned)
'Domain(I[horizontal]=(0:4), J[horizontal]=(0:6))'
>>> str(cut[0].local)
'Domain(I[horizontal]=(0:5), J[horizontal]=(-1:7))'
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product

import numpy as np

from ..language import Dimension, Domain
from ..process import ArgumentError, classes
from .pattern import Indices, Pattern, Places

Bounds = tuple[int, int]


@classes.frozen(eq=False)
class Block:
    """The part of a Cartesian grid that one rank has.

    Attributes:
        rank: of this block; the last dimension counts fastest.
        owned: the points that this rank computes.
        inner: the owned points whose neighbours within the halo are owned, too.
        local: the owned points and the halo, which ends at the edge of a grid that is not periodic.
        patterns: what is exchanged.

    """

    rank: int
    owned: Domain
    inner: Domain
    local: Domain
    patterns: Sequence[Pattern]


def blocks(
    sizes: Mapping[Dimension, int],
    ranks: Mapping[Dimension, int],
    *,
    halo: int,
    periodic: Collection[Dimension] = (),
) -> tuple[Block, ...]:
    """Return the blocks of all ranks.

    Args:
        sizes: how many points each dimension has; they begin at 0.
        ranks: into how many blocks each dimension is cut; the product is the number of ranks.
        halo: how many points wide.
        periodic: dimensions whose last point has the first one as its neighbour.

    Raises:
        ArgumentError: the two mappings do not name the same dimensions, or a number is negative.
    """
    if list(sizes) != list(ranks) or min(*sizes.values(), *ranks.values(), halo) < 0:
        raise ArgumentError(
            "Expected sizes and ranks of the same dimensions in the same order, none negative."
        )
    dims = tuple(sizes)
    cuts = {dim: [sizes[dim] * n // ranks[dim] for n in range(ranks[dim] + 1)] for dim in dims}
    places = list(product(*(range(ranks[dim]) for dim in dims)))
    halos = [_halo(at, cuts, halo, periodic) for at in places]
    return tuple(_block(rank, at, cuts, halo, periodic, halos) for rank, at in enumerate(places))


Halo = dict[int, tuple[Places, Places]]  # by owner: the indices in the halo, and those of the owner


def _bounds(at: tuple[int, ...], cuts: Mapping[Dimension, list[int]]) -> list[Bounds]:
    return [(cuts[dim][n], cuts[dim][n + 1]) for dim, n in zip(cuts, at, strict=True)]


def _local(
    at: tuple[int, ...],
    cuts: Mapping[Dimension, list[int]],
    halo: int,
    periodic: Collection[Dimension],
) -> list[Bounds]:
    return [
        (start, stop)
        if start == stop
        else (start - halo, stop + halo)
        if dim in periodic
        else (max(start - halo, 0), min(stop + halo, cuts[dim][-1]))
        for dim, (start, stop) in zip(cuts, _bounds(at, cuts), strict=True)
    ]


def _halo(
    at: tuple[int, ...],
    cuts: Mapping[Dimension, list[int]],
    halo: int,
    periodic: Collection[Dimension],
) -> Halo:
    owned, local = _bounds(at, cuts), _local(at, cuts, halo, periodic)
    box = [each.ravel() for each in np.meshgrid(*(np.arange(*b) for b in local), indexing="ij")]
    outside = np.any([(x < a) | (x >= b) for x, (a, b) in zip(box, owned, strict=True)], axis=0)
    here = tuple(x[outside] for x in box)
    there = tuple(x % max(cut[-1], 1) for x, cut in zip(here, cuts.values(), strict=True))
    owner: Indices = np.zeros(int(outside.sum()), np.int64)
    for x, cut in zip(there, cuts.values(), strict=True):
        owner = owner * (len(cut) - 1) + np.searchsorted(cut, x, side="right") - 1
    return {
        int(rank): (tuple(x[owner == rank] for x in here), tuple(x[owner == rank] for x in there))
        for rank in np.unique(owner)
    }


def _block(
    rank: int,
    at: tuple[int, ...],
    cuts: Mapping[Dimension, list[int]],
    halo: int,
    periodic: Collection[Dimension],
    halos: Sequence[Halo],
) -> Block:
    owned, local = _bounds(at, cuts), _local(at, cuts, halo, periodic)
    inner = [_inner(bounds, around, halo) for bounds, around in zip(owned, local, strict=True)]
    receive = {owner: here for owner, (here, _) in halos[rank].items()}
    send = {other: each[rank][1] for other, each in enumerate(halos) if rank in each}
    whole, middle, around = (
        Domain(*zip(cuts, bounds, strict=True)) for bounds in (owned, inner, local)
    )
    return Block(rank, whole, middle, around, (Pattern(tuple(cuts), send, receive),))


def _inner(owned: Bounds, local: Bounds, halo: int) -> Bounds:
    """Return the owned points that are a halo away from each side that has one."""
    start = owned[0] if local[0] == owned[0] else min(owned[0] + halo, owned[1])
    return start, owned[1] if local[1] == owned[1] else max(owned[1] - halo, start)
