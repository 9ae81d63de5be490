"""Find the runs of nests that can be cut into tiles together, and how far their tiles overlap."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, TypeAlias

from .....runtime.language.dimension import Dimension
from .....runtime.process import classes
from ....ir.loops.buffers import Buffer
from ....ir.loops.kernel import Node, Seq
from ....ir.loops.nest import Load, Nest, Store
from ....ir.loops.traverse import accesses, arrays_of, touches

Margin: TypeAlias = tuple[int, int]  # points before and beyond a tile

WIDEST_MARGIN: Final = 4
NO_MARGIN: Final[Margin] = (0, 0)


@classes.frozen
class Run:
    """Nests that can be cut along the dimensions of `margins[0]`.

    `local` are the arrays that no other nest touches, with the margins of what fills them.
    """

    nests: tuple[Nest, ...]
    margins: tuple[Mapping[Dimension, Margin], ...]
    local: Mapping[str, Mapping[Dimension, Margin]]

    def margin(self, dim: Dimension) -> int:
        """Return how many points of neighbouring tiles a tile computes again, at most."""
        return max(sum(margins[dim]) for margins in self.margins)


def run_from(
    nodes: Sequence[Node], everywhere: Mapping[str, int], buffers: Mapping[str, Buffer]
) -> Run | None:
    """Return the longest run of nests at the start that hands an array on; shorten it to fit."""
    members: list[Nest] = []
    for node in nodes:
        if not isinstance(node, Nest) or not _shared_dims([*members, node]):
            break
        members.append(node)
    while len(members) > 1:
        stored = dict.fromkeys(row.buffer for nest in members for row in accesses(nest, Store))
        inside = touches(Seq(tuple(members)))
        arrays = [name for name in stored if buffers[name].memory == "arena"]
        local = [name for name in arrays if inside[name] == everywhere[name]]
        if not _go_together(members, local):
            members = list(next(groupby(members, attrgetter("group")))[1])
            continue
        margins: list[dict[Dimension, Margin]] = [{} for _ in members]
        ends = []
        for dim in _shared_dims(members):
            found, end = _margins(members, dim, stored, local)
            if end == len(members):
                for own, margin in zip(margins, found, strict=True):
                    own[dim] = margin
            ends.append(end)
        if local and margins[0] and len(local) < len(stored):
            pairs = list(zip(members, margins, strict=True))
            fillers = {
                name: [own for nest, own in pairs if name in arrays_of(nest, Store)]
                for name in local
            }
            widest = {
                name: {dim: _widest(own[dim] for own in several) for dim in margins[0]}
                for name, several in fillers.items()
            }
            return Run(tuple(members), tuple(margins), widest)
        members = members[: min(max(ends, default=0), len(members) - 1)]
    return None


def _go_together(members: Sequence[Nest], local: Sequence[str]) -> bool:
    """Tell whether nests are of one group of stores, or groups share an array."""

    def groups(touching: Sequence[Nest]) -> int:
        return len({nest.group for nest in touching})

    shared = ([nest for nest in members if name in arrays_of(nest)] for name in local)
    return groups(members) == 1 or any(groups(several) > 1 for several in shared)


def _shared_dims(members: Sequence[Nest]) -> list[Dimension]:
    """Return the dimensions that threads share in every nest, and the common innermost one.

    There are none where a nest computes several rows at a time, or loops differ by group.
    """
    kinds = [{loop.range.dim: loop.kind for loop in nest.loops} for nest in members]
    if any(loop.step > 1 for nest in members for loop in nest.loops):
        return []
    if len({nest.group for nest in members}) > 1 and any(each != kinds[0] for each in kinds):
        return []
    dims = [dim for kind in ("parallel", "vector") for dim, own in kinds[0].items() if own == kind]
    return [dim for dim in dims if all(each.get(dim) == kinds[0][dim] for each in kinds)]


def _margins(
    members: Sequence[Nest], dim: Dimension, stored: Container[str], local: Container[str]
) -> tuple[list[Margin], int]:
    """Return the margin of each nest along a dimension, and before which nest the run must end.

    Where that is the number of nests, the run is whole; only then all margins are known. Each point
    of memory that other nests see is written in one tile only, and a nest reads such a point in the
    tile that wrote it.
    """
    margins: list[Margin] = [NO_MARGIN] * len(members)
    asked: dict[str, Margin] = {}
    for index in reversed(range(len(members))):
        nest = members[index]
        kept = [row.buffer for row in accesses(nest, Store)]
        margins[index] = _widest(asked.get(name, NO_MARGIN) for name in kept)
        if margins[index] != NO_MARGIN and any(name not in local for name in kept):
            return margins, index + 1
        if max(margins[index]) > WIDEST_MARGIN:
            return margins, min((index + len(members)) // 2 + 1, len(members) - 1)
        for load in nest.body:
            if isinstance(load, Load) and load.buffer in stored:
                offset = _plain_offset(load, dim)
                others = load.buffer not in local
                if offset is None or (others and (offset or margins[index] != NO_MARGIN)):
                    return margins, index
                before, beyond = margins[index]
                more = max(0, before - offset), max(0, beyond + offset)
                asked[load.buffer] = _widest([asked.get(load.buffer, NO_MARGIN), more])
    return margins, len(members)


def _plain_offset(load: Load, dim: Dimension) -> int | None:
    """Return the offset at which a load reads; None where only a value at run time tells."""
    if dim not in load.dims:
        return None
    axis = load.dims.index(dim)
    return None if load.rows and load.rows[axis] is not None else load.offsets[axis]


def _widest(margins: Iterable[Margin]) -> Margin:
    before, beyond = zip(NO_MARGIN, *margins, strict=True)
    return max(before), max(beyond)
