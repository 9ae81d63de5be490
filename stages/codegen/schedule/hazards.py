"""Read before write: which stores cannot go in place, and which inputs may share output memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Column,
    Load,
    Member,
    Nest,
    Ranges,
    Store,
    arrays_of,
    difference,
    instructions,
)

Turn: TypeAlias = tuple[Member, ...]  # nests that run one after the other, or tile by tile


def as_nest(node: Nest | Column) -> Nest:
    """Return a column as a nest with its rows; no load of it counts as one of its own point."""
    if isinstance(node, Nest):
        return node
    rows = (
        classes.evolve(row, offsets=()) if isinstance(row, Store) else row
        for row in instructions(node)
    )
    return Nest(node.group, node.loops, tuple(rows), node.reason, node.reads)


def fields_to_stage(nest: Nest, later: Sequence[Nest], boxes: Sequence[Ranges]) -> frozenset[str]:
    """Return the fields that `nest` may not store yet, because its statement still reads them.

    The nest reads them at other points than it writes, or a later nest reads points that it writes.
    `boxes` are those of groups.
    """

    def reads_own(nest: Nest, load: Load) -> bool:
        return is_own(nest, [range_.dim for range_ in boxes[nest.group]], load)

    # arrays are written once
    written = {name for name in arrays_of(nest, Store) if not name.startswith("@")}
    ours = (load for load in loads(nest) if load.buffer in written)
    risky = {load.buffer for load in ours if not reads_own(nest, load)}
    for other in later if written else ():
        for reading in (each for each in other.reads if each.buffer in written):
            found = (load for load in loads(other) if load.buffer == reading.buffer)
            box = other.box if all(reads_own(other, load) for load in found) else reading.box
            if not are_disjoint(box, nest.box):
                risky.add(reading.buffer)
    return frozenset(risky)


def is_pointwise(
    name: str,
    turns: Iterable[Turn],
    dims: Sequence[Dimension],
    outputs: Iterable[str],
    earlier: Iterable[Ranges],
) -> bool:
    """Tell whether field `name` may lie in the memory of an output of its statement.

    `turns` are the nests of one group of stores over `dims`, those of tiles together. `outputs` are
    the fields that the statement writes; earlier turns wrote the boxes `earlier`. Nests that only
    fill arrays read before anything is overwritten, unless an earlier turn, or another tile of
    their own turn, has stored.
    """
    targets, boxes = frozenset(outputs), list(earlier)
    for turn in turns:
        step = [member.nest for member in turn]
        storing = [nest for nest in step if not targets.isdisjoint(arrays_of(nest, Store))]
        if storing and any(_reads_elsewhere(member, dims, name) for member in turn):
            return False
        own = [reading.box for nest in step for reading in nest.reads if reading.buffer == name]
        if not all(are_disjoint(read, box) for read in own for box in boxes):
            return False
        if len(step) > 1 and own and not _is_read_first(name, step, storing):
            return False
        boxes += [nest.box for nest in storing]
    return True


def _reads_elsewhere(member: Member, dims: Sequence[Dimension], name: str) -> bool:
    """Tell whether a nest reads a field at points that it, or its tile, does not write."""
    own = [load for load in loads(member.nest) if load.buffer == name]
    margins = any(margin != (0, 0) for margin in member.margins)
    return bool(own) and (margins or not all(is_own(member.nest, dims, load) for load in own))


def _is_read_first(name: str, step: Sequence[Nest], storing: Sequence[Nest]) -> bool:
    """Tell whether all nests of a tiling read a field before one of them has stored."""
    later = step[step.index(storing[0]) + 1 :] if storing else ()
    return not any(load.buffer == name for nest in later for load in loads(nest))


def is_own(nest: Nest, dims: Sequence[Dimension], load: Load) -> bool:
    """Tell whether a load reads a point of `dims` that its nest writes in the same iteration."""
    if load.is_told:
        return False
    moves = _moves(load.dims, load.offsets)
    return not moves or any(
        isinstance(row, Store) and row.offsets and moves == _moves(dims, row.offsets)
        for row in nest.body
    )


def is_own_column(nest: Nest, load: Load) -> bool:
    """Tell whether a load of a scan reads the column that its nest walks at the time."""
    axis = nest.loops[-1].range.dim
    return all(row is None and (dim is axis or not offset) for dim, row, offset in load.places)


def _moves(dims: Sequence[Dimension], offsets: Sequence[int]) -> dict[Dimension, int]:
    return {dim: offset for dim, offset in zip(dims, offsets, strict=True) if offset}


def loads(nest: Nest) -> Iterator[Load]:
    """Yield the loads of a nest."""
    return (row for row in nest.body if isinstance(row, Load))


def are_disjoint(left: Ranges, right: Ranges) -> bool:
    """Tell whether two boxes are known to have no point in common."""
    others = {range_.dim: range_ for range_ in right}
    pairs = [(each, others[each.dim]) for each in left if each.dim in others]
    turned = [(other, each) for each, other in pairs]
    gaps = (difference(one.stop, other.start) for one, other in (*pairs, *turned))
    return any(gap is not None and gap <= 0 for gap in gaps)
