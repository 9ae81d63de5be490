"""Group nests into states of an SDFG, inside which DaCe may reorder and fuse them.

An SDFG cannot express "these two arguments may share memory if they are read point by point", as a
plan promises. So a nest that writes fields ends its state, and shares it only with nests that
compute its operands: however DaCe orders and fuses these, the stores come last. The promises of the
plan hold for a state as a whole.
"""

from __future__ import annotations

import attrs

from ...ir.loops import Kernel, Load, Nest, Store, Tiling


@attrs.frozen
class Together:
    """The nests `first` .. `last` share a state."""

    first: int
    last: int  # one past


def arranged(kernel: Kernel) -> tuple[Together, ...]:
    """Return the nests of each state, in order."""
    found: list[Together] = []
    members: list[int] = []
    for index, nest in enumerate(kernel.nests):
        if members and not _joins(kernel, members, nest):
            found.append(Together(members[0], index))
            members = []
        members.append(index)
    if members:
        found.append(Together(members[0], len(kernel.nests)))
    return tuple(found)


def as_steps(kernel: Kernel, together: tuple[Together, ...]) -> Kernel:
    """Return the kernel with the nests of each state as one step, for analyses of steps."""
    steps = tuple(
        Tiling(each.first, each.last, (), "a state") for each in together if each.last > each.first
    )
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
