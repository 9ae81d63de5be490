"""The integers that a call passes to generated code: strides, bounds, sizes of slots."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.bounds import (
    Apply,
    Bound,
    Const,
    PatchBound,
    add,
    floor_divide,
    maximum,
    multiply,
    subtract,
)
from ..ir.flat_kernel import Kernel
from ..ir.nest_groups import Patches
from ..ir.nests import Load, Nest, Number, Store
from ..ir.settled import shared
from ..ir.strides import Stride


def integers(kernel: Kernel) -> tuple[Bound | Stride, ...]:
    """Return the bound or stride behind each integer of the entry point, each once.

    The source contains constants as numbers; bounds that differ by a constant share one integer.
    """
    found: dict[Bound | Stride, None] = {}
    touched = {name for nest in kernel.nests for name in buffers_of(nest)}
    for buffer in kernel.buffers:
        if buffer.memory in ("field", "table") and buffer.name in touched:
            for axis, dim in enumerate(buffer.dims):
                if dim is not buffer.unit:
                    found[Stride(buffer.name, axis)] = None
    symbols = dict.fromkeys(split(bound)[0] for bound in _bounds(kernel))
    known = [symbol for symbol in symbols if symbol is not None]
    found |= dict.fromkeys(shared(known))
    found |= dict.fromkeys(known)
    return tuple(found)


def split(bound: Bound) -> tuple[Bound | None, int]:
    """Split a bound into a part that only the call knows (None if there is none) and a constant.

    >>> from ..ir.bounds import ScalarSymbol, add
    >>> symbol, constant = split(add(ScalarSymbol("n"), 2))
    >>> str(symbol), constant
    ('n', 2)
    """
    if isinstance(bound, Const):
        return None, bound.value
    if isinstance(bound, Apply) and bound.op == "add" and isinstance(bound.args[-1], Const):
        rest = bound.args[:-1]
        return (rest[0] if len(rest) == 1 else Apply("add", rest)), bound.args[-1].value
    return bound, 0


def numbers_of(kernel: Kernel, patches: Patches) -> tuple[Bound, Bound]:
    """Return the address of the lists of patches, and how many parts the levels have."""
    levels = kernel.nests[patches.members[0]].loops[-1].range
    first = multiply(floor_divide(levels.start, Const(patches.points)), patches.points)
    rounded = add(subtract(levels.stop, first), patches.levels - 1)
    parts = maximum(floor_divide(rounded, Const(patches.levels)), Const(0))
    return PatchBound("address", patches.order), parts


def buffers_of(nest: Nest) -> list[str]:
    """Return the buffers that a nest touches, each once, in order."""
    accesses = (row for row in nest.body if isinstance(row, Load | Store))
    return list(dict.fromkeys(access.buffer for access in accesses))


def _bounds(kernel: Kernel) -> Iterator[Bound]:
    for nest in kernel.nests:
        for range_ in (*nest.guard, *nest.box, *nest.parts):
            yield range_.start
            yield range_.stop
        yield from (row.bound for row in nest.body if isinstance(row, Number))
    for range_ in (
        *(range_ for buffer in kernel.buffers for range_ in buffer.box),
        *(cut.range for tiling in kernel.tilings for cut in tiling.cuts),
    ):
        yield range_.start
        yield range_.stop
    yield from kernel.slots
    yield from (bound for each in kernel.patches for bound in numbers_of(kernel, each))
    yield from (loop.joint for each in kernel.patches for loop in each.loops)
    for portions in kernel.portions:
        yield from (PatchBound("address", portions.order), portions.node.patches)
        yield from (
            portions.node.room,
            portions.node.pitch,
            portions.node.fits,
            portions.node.threads,
        )
    for scans in kernel.together:
        yield from (scans.needed, scans.first_level, scans.pitch)
        yield from scans.blocked.bounds if scans.blocked else ()
        for tile in scans.tiles:
            ranges = [*([tile.filled] if tile.filled else []), *(r for _, r in tile.written)]
            yield from (end for range_ in ranges for end in (range_.start, range_.stop))
