"""Group nests into states of an SDFG, inside which DaCe may reorder and fuse them.

An SDFG cannot express "these two arguments may share memory if they are read point by point", as a
plan promises. So a nest that writes fields ends its state, and shares it only with nests that
compute its operands: however DaCe orders and fuses these, the stores come last. The promises of the
plan hold for a state as a whole.

The nests of a tiling share a state, too, where a tile is one index of a dimension: the state has a
map over the arrays of threads, and in it a loop over the indices of a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Buffer,
    Const,
    Kernel,
    Load,
    Loop,
    Member,
    Nest,
    Node,
    Range,
    Ranges,
    Seq,
    Store,
    Tiles,
    arrays_of,
    in_order,
    marks_of,
    nodes_of,
    rewrite,
)
from ..pass_list import Rules


def arranged(kernel: Kernel) -> Kernel:
    """Return a kernel with the nests of each state as `Tiles`, of no cuts where rows have no turns.

    All of a state reads before the next one overwrites.
    """
    fields = {buffer.name for buffer in kernel.buffers if buffer.memory == "field"}
    steps = (
        classes.evolve(step, body=in_order(*_states(step.body, fields))) for step in kernel.steps
    )
    return classes.evolve(kernel, steps=tuple(steps))


def _states(body: Node, fields: set[str]) -> Iterator[Node]:
    """Yield the states of a statement; tiles are one already."""
    members: list[Nest] = []
    for node in body.steps if isinstance(body, Seq) else (body,):
        if members and not (isinstance(node, Nest) and _joins(members, node, fields)):
            yield _state(members)
            members = []
        if isinstance(node, Nest):
            members.append(node)
        elif isinstance(node, Loop):
            yield classes.evolve(node, body=in_order(*_states(node.body, fields)))
        else:
            yield node
    if members:
        yield _state(members)


def _state(nests: Sequence[Nest]) -> Tiles:
    return Tiles((), (), tuple(Member(nest, ()) for nest in nests), "a state")


def _joins(members: Sequence[Nest], nest: Nest, fields: set[str]) -> bool:
    """Tell whether a nest may stand in one state with the nests before it."""
    stored = arrays_of(nest, Store)
    if (
        members[0].group != nest.group
        or any(fields & arrays_of(each, Store) for each in members)
        or any(stored & arrays_of(each) for each in members)
    ):
        return False
    if not fields & stored:
        return True
    # all must compute operands of the nest that stores
    needed = arrays_of(nest, Load)
    for each in reversed(members):
        if not needed & arrays_of(each, Store):
            return False
        needed |= arrays_of(each, Load)
    return True


# --- rows in turn -------------------------------------------------------------------------------


def of_threads(kernel: Kernel, _: Rules) -> Kernel:
    """Give each thread an array in place of those of tiles: the first index is the thread's."""
    tiles = tuple(nodes_of(kernel, Tiles))
    if not all(map(_is_row_by_row, tiles)):
        return kernel
    owners = {name: each for each in tiles for name in each.arrays}
    buffers = tuple(
        _of_threads(each, owners[each.name]) if each.name in owners else each
        for each in kernel.buffers
    )
    without = rewrite(
        kernel, lambda node: classes.evolve(node, arrays=()) if isinstance(node, Tiles) else node
    )
    return classes.evolve(without, buffers=buffers)


def _is_row_by_row(tiles: Tiles) -> bool:
    """Tell whether scans share a tile that is one index of one dimension, and needs no other."""
    if tiles.rolled is not None or [(cut.size, cut.even) for cut in tiles.cuts] != [(1, False)]:
        return False
    dim = tiles.cuts[0].range.dim
    nests = [member.nest for member in tiles.members]
    levels = [each for nest in nests for each in nest.loops if each.range.dim is not dim]
    rows = (row for nest in nests for row in nest.body if isinstance(row, Load))
    handed_on = [row for row in rows if row.buffer in tiles.arrays]
    return (
        all(member.margins == ((0, 0),) for member in tiles.members)
        and any(loop.kind == "sequential" for loop in levels)
        and not any(any(load.rows) or load.when for load in handed_on)
        and not any(nest.body[row] in handed_on for nest in nests for row in marks_of(nest).asked)
    )


def _of_threads(buffer: Buffer, tiles: Tiles) -> Buffer:
    dim, most = tiles.cuts[0].range.dim, Const(tiles.threads)
    box = tuple(Range(dim, Const(0), most) if r.dim is dim else r for r in buffer.box)
    order = (dim, *(each for each in buffer.order if each is not dim))
    return classes.evolve(buffer, memory="arena", box=box, order=order)


def touches_fields(kernel: Kernel, nest: Nest) -> bool:
    """Tell whether a nest reads or writes what is not an array of the arena."""
    return not arrays_of(nest) <= {each.name for each in kernel.buffers if each.memory == "arena"}


def without_loop(nest: Nest, dim: Dimension) -> Nest:
    """Return a nest without its loop over one dimension."""
    (place,) = (n for n, loop in enumerate(nest.loops) if loop.range.dim is dim)
    body = tuple(classes.evolve(row, level=row.level - (row.level > place)) for row in nest.body)
    return classes.evolve(nest, loops=nest.loops[:place] + nest.loops[place + 1 :], body=body)


def needs_guard(nest: Nest, guard: Ranges) -> bool:
    """Tell whether a nest must test its guard, because its loops alone may read out of range."""
    return bool(guard) and (
        not set(guard) <= set(nest.box)
        or any(isinstance(row, Load) and row.level < len(nest.loops) for row in nest.body)
    )


# --- threads of a GPU ---------------------------------------------------------------------------


def free_loops(nest: Nest) -> int:
    """Return how many loops may run in any order: all but the one over the levels of a scan."""
    return len(nest.loops) - bool(nest.states)


def on_threads(nest: Nest) -> Nest:
    """Return a nest whose free loops all stand around the whole body."""
    free = free_loops(nest)
    loops = tuple(
        classes.evolve(loop, kind="thread" if level < free else "sequential")
        for level, loop in enumerate(nest.loops)
    )
    body = tuple(classes.evolve(row, level=free) if row.level < free else row for row in nest.body)
    return classes.evolve(nest, loops=loops, body=body)


def shared_by_parts(nest: Nest) -> frozenset[int]:
    """Return the instructions that stand outside the innermost loop, and so serve all its parts."""
    if nest.states or not nest.parts:
        return frozenset()
    return frozenset(i for i, row in enumerate(nest.body) if row.level < len(nest.loops))
