"""Group nests into states of an SDFG, inside which DaCe may reorder and fuse them.

An SDFG cannot express "these two arguments may share memory if they are read point by point", as a
plan promises. So a nest that writes fields ends its state, and shares it only with nests that
compute its operands: however DaCe orders and fuses these, the stores come last. The promises of the
plan hold for a state as a whole.

The nests of a tiling share a state, too, where a tile is one index of a dimension: the state has a
map over the arrays of threads, and in it a loop over the indices of a thread.
"""

from __future__ import annotations

import attrs

from ....runtime.language.dimension import Dimension
from ...ir.bounds import Const, Range
from ...ir.flat_kernel import Buffer, Kernel
from ...ir.nest_groups import Tiling
from ...ir.nests import Load, Loop, Nest, Store
from ..on_lists import on_lists
from ..schedule.rules import Rules


@attrs.frozen
class Together:
    """The nests `first` .. `last` share a state."""

    first: int
    last: int  # one past
    rows: Range | None = None  # they run for one index of it after another


def arranged(kernel: Kernel) -> tuple[Together, ...]:
    """Return the nests of each state, in order."""
    found: list[Together] = []
    members: list[int] = []
    tilings = {index: each for each in kernel.tilings for index in range(each.first, each.stop)}
    for index, nest in enumerate(kernel.nests):
        if index in tilings:
            if members:
                found.append(Together(members[0], index))
                members = []
            if index == tilings[index].first:
                (cut,) = tilings[index].cuts
                found.append(Together(index, tilings[index].stop, cut.range))
            continue
        if members and not _joins(kernel, members, nest):
            found.append(Together(members[0], members[-1] + 1))
            members = []
        members.append(index)
    if members:
        found.append(Together(members[0], members[-1] + 1))
    return tuple(found)


@on_lists
def of_threads(kernel: Kernel, _: Rules) -> Kernel:
    """Give each thread an array in place of those of tiles: the first index is the thread's."""
    if not all(_is_row_by_row(kernel, each) for each in kernel.tilings):
        return kernel
    rows = {
        row.buffer: tiling.cuts[0].range.dim
        for tiling in kernel.tilings
        for nest in kernel.nests[tiling.first : tiling.stop]
        for row in nest.body
        if isinstance(row, Store)
    }
    buffers = [
        _of_threads(each, rows[each.name], kernel.threads) if each.memory == "tile" else each
        for each in kernel.buffers
    ]
    return attrs.evolve(kernel, buffers=tuple(buffers))


def has_tile_arrays(kernel: Kernel) -> bool:
    """Tell whether a kernel has arrays that an SDFG cannot express."""
    return any(buffer.memory == "tile" for buffer in kernel.buffers)


def _is_row_by_row(kernel: Kernel, tiling: Tiling) -> bool:
    """Tell whether scans share a tile that is one index of one dimension, and needs no other."""
    members = kernel.nests[tiling.first : tiling.stop]
    arrays = {buffer.name for buffer in kernel.buffers if buffer.memory == "tile"}
    loads = [row for nest in members for row in nest.body if isinstance(row, Load)]
    loops = [loop for nest in members for loop in nest.loops]
    return (
        tiling.rolled is None
        and [(cut.size, cut.even) for cut in tiling.cuts] == [(1, False)]
        and all(loop.margin in (None, (0, 0)) for loop in loops)
        and any(loop.kind == "sequential" and loop.margin is None for loop in loops)
        and not any(any(row.rows) or row.when for row in loads if row.buffer in arrays)
        and not any(set(nest.asked) & _touching(nest, arrays) for nest in members)
    )


def _touching(nest: Nest, arrays: set[str]) -> set[int]:
    rows = enumerate(nest.body)
    return {n for n, row in rows if isinstance(row, Load) and row.buffer in arrays}


def _of_threads(buffer: Buffer, dim: Dimension, threads: int) -> Buffer:
    box = tuple(Range(dim, Const(0), Const(threads)) if r.dim is dim else r for r in buffer.box)
    order = (dim, *(each for each in buffer.order if each is not dim))
    return attrs.evolve(buffer, memory="arena", box=box, order=order)


def touches_fields(kernel: Kernel, nest: Nest) -> bool:
    """Tell whether a nest reads or writes what is not an array of the arena."""
    arrays = {buffer.name for buffer in kernel.buffers if buffer.memory == "arena"}
    return not {*_read(nest), *_written(nest)} <= arrays


def inside(nest: Nest, dim: Dimension) -> Nest:
    """Return a nest without its loop over one dimension."""
    (place,) = (n for n, loop in enumerate(nest.loops) if loop.range.dim is dim)
    body = tuple(attrs.evolve(row, level=row.level - (row.level > place)) for row in nest.body)
    loops: tuple[Loop, ...] = nest.loops[:place] + nest.loops[place + 1 :]
    return attrs.evolve(nest, loops=loops, body=body, guard=())


def as_steps(kernel: Kernel, together: tuple[Together, ...]) -> Kernel:
    """Return the kernel with the nests of each state as one step, for analyses of steps."""
    cuts = {(each.first, each.stop): each.cuts for each in kernel.tilings}
    places = [(each.first, each.last) for each in together if each.last > each.first]
    steps = tuple(Tiling(*each, cuts.get(each, ()), "a state") for each in places)
    return attrs.evolve(kernel, tilings=steps)


def _joins(kernel: Kernel, members: list[int], nest: Nest) -> bool:
    """Tell whether a nest may stand in one state with the nests before it."""
    before = [kernel.nests[index] for index in members]
    fields = {buffer.name for buffer in kernel.buffers if buffer.memory == "field"}
    if before[-1].statement != nest.statement:
        return False
    if any(fields & set(_written(each)) for each in before):
        return False
    touched = {name for each in before for name in (*_read(each), *_written(each))}
    if touched & set(_written(nest)):
        return False
    if not fields & set(_written(nest)):
        return True
    # all must compute operands of the nest that stores
    needed = set(_read(nest))
    for each in reversed(before):
        if not needed & set(_written(each)):
            return False
        needed |= set(_read(each))
    return True


def _written(nest: Nest) -> list[str]:
    return [row.buffer for row in nest.body if isinstance(row, Store)]


def _read(nest: Nest) -> list[str]:
    return [row.buffer for row in nest.body if isinstance(row, Load)]


def needs_guard(nest: Nest) -> bool:
    """Tell whether a nest must test its guard, because its loops alone may read out of range."""
    if not nest.guard:
        return False
    loops = {(loop.range.dim, loop.range.start, loop.range.stop) for loop in nest.loops}
    if any((each.dim, each.start, each.stop) not in loops for each in nest.guard):
        return True
    return any(isinstance(row, Load) and row.level < len(nest.loops) for row in nest.body)
