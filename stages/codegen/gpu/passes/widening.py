"""Give a thread of a GPU several points: wide loads, and values that neighbours share."""

from __future__ import annotations

from typing import Final

import attrs

from .....runtime.language.dimension import Dimension, DimensionKind
from ....gpu_target import WIDEST
from ....ir.bounds import Const, Range, add, floor_divide, multiply
from ....ir.loops.buffers import Buffer
from ....ir.loops.gpu import marked, marks_of
from ....ir.loops.kernel import Kernel
from ....ir.loops.nest import Load, Nest, Store
from ....ir.loops.traverse import with_nests
from ...schedule.costs import ITEMSIZES
from ...schedule.rules import Rules
from ..options import options_of
from .thread_blocks import FLAT, OF_LEVELS, OF_WIDE
from .unrolling import DimsOf, unrolled

LINE: Final = 128  # bytes: rows of arrays begin at multiples of it
MOST_ROWS: Final = 2  # that a thread computes together where rows share what they load
MOST_LEVELS: Final = 8  # where levels share the entries of tables
# Loads of one thread, in registers of 32 bits; with more, few threads fit a multiprocessor.
MOST_REGISTERS: Final = 96
FEW_REGISTERS: Final = 64  # where twice the points cost nothing
ANY_REGISTERS: Final = 512  # where levels share entries: what was loaded is soon used up
MANY_REGISTERS: Final = 176  # where wide accesses are still worth it
LONGEST: Final = 1200  # instructions
WIDE: Final = 8  # bytes
MOST_WORDS: Final = 360  # of 32 bits: values of a thread with a version for other alignments
BLOCKS: Final = 5  # on a multiprocessor, where threads read whole rows that tables name
# From this share of loads on that the other row saves, a second row is worth its registers.
WORTH: Final = 0.85


def widen(kernel: Kernel, rules: Rules) -> Kernel:
    """Choose how many points each thread has, and align the rows of arrays."""
    if rules.checked:
        return kernel
    dims_of = {buffer.name: buffer.dims for buffer in kernel.buffers}
    sizes = {buffer.name: buffer for buffer in kernel.buffers}
    kernel = with_nests(kernel, lambda nest: _widened(nest, sizes, dims_of, rules))
    return attrs.evolve(kernel, buffers=tuple(map(_aligned, kernel.buffers)))


def _widened(nest: Nest, buffers: dict[str, Buffer], dims_of: DimsOf, rules: Rules) -> Nest:
    threads = [loop for loop in nest.loops if loop.kind == "thread"]
    if nest.states or not threads:
        return nest
    inner = nest.loops[-1].range.dim
    given = options_of(rules).block.sizes
    flat = len(threads) > 1 and inner.kind is not DimensionKind.HORIZONTAL
    block = given[: len(threads)] or (FLAT if flat else marks_of(nest).block)
    nest = marked(nest, block=block)
    if nest.parts:
        return nest
    each, why = _each(nest, buffers, dims_of, rules)
    if max(each, default=1) == 1:
        return nest
    if not given and not flat:
        block = OF_WIDE[len(threads)] if each[0] > 1 else OF_LEVELS[len(threads)]
    unaligned = _has_single(nest, each, dims_of, rules)
    if f"accesses of {WIDEST} bytes" in why:
        how = "by single accesses" if unaligned else "one by one"
        why += f"; {how} where memory is not aligned"
    reason = f"{nest.reason}; {why}"
    blocks = 1
    if flat and each[0] > 1 and not given and _gathers(nest):
        blocks = 1 if _fits(nest, each, buffers, dims_of, FEW_REGISTERS) else BLOCKS
        why = f"; room for {blocks} blocks, faster than fewer even if threads spill a little"
        reason += why if blocks > 1 else ""
    return marked(
        attrs.evolve(nest, reason=reason),
        points=each, block=block, blocks=blocks, unaligned=unaligned,
    )  # fmt: skip


def _has_single(nest: Nest, each: tuple[int, ...], dims_of: DimsOf, rules: Rules) -> bool:
    """Tell whether the points of a thread have a version with single accesses.

    It must cost no registers: few values, no addresses by tables. With elements of 4 bytes, of
    which a thread has more, the compiler then orders the loads of the other version worse.
    """
    body = unrolled(nest, each, dims_of)
    touched = [row for row in body if isinstance(row, Load) and row.level == len(nest.loops)]
    is_wide = all(ITEMSIZES[row.dtype] == WIDE for row in touched)
    asked = options_of(rules).unaligned
    if not (is_wide if asked is None else asked):
        return False
    words = sum(-(-ITEMSIZES[row.dtype] // 4) for row in body if not isinstance(row, Store))
    return words <= MOST_WORDS and not any(isinstance(row, Load) and _is_told(row) for row in body)


def _is_told(load: Load) -> bool:
    """Tell whether a table says where to load."""
    return any(row is not None for row in load.rows)


def _each(
    nest: Nest, buffers: dict[str, Buffer], dims_of: DimsOf, rules: Rules
) -> tuple[tuple[int, ...], str]:
    """Return the points of a thread along each `thread` loop, and why."""
    threads = [loop.range.dim for loop in reversed(nest.loops) if loop.kind == "thread"]
    ones = (1,) * len(threads)
    asked = options_of(rules).points
    if not asked.x and _is_of_tables(nest, threads):
        return _levels(nest, buffers, dims_of, ones)
    if asked.x:
        return (asked.x, asked.y, *ones)[: len(threads)], "points of a thread asked for"
    inner = threads[0]
    wide = _wide(nest, buffers, inner)
    each = (wide, *ones[1:])
    why = f"{wide} of {inner.value} at a time: accesses of {WIDEST} bytes"
    if wide > 1 and not _fits(nest, each, buffers, dims_of, MANY_REGISTERS):
        wide, each = 1, ones
    if wide == 1:
        why = f"one of {inner.value} at a time"
    double = (2 * wide, *ones[1:])
    is_level = inner.kind is not DimensionKind.HORIZONTAL
    if wide > 1 and is_level and _fits(nest, double, buffers, dims_of, FEW_REGISTERS):
        wide, each, why = 2 * wide, double, f"{why}, two each: it loads little"
    base = _loads(nest, each, dims_of)
    if len(threads) < 2:
        return each, why
    outer = threads[1]
    is_level = outer.kind is not DimensionKind.HORIZONTAL
    rows = 1
    while rows < (MOST_LEVELS if is_level else MOST_ROWS):
        more = (wide, 2 * rows, *ones[2:])
        count = _loads(nest, more, dims_of)
        if count > WORTH * 2 * base or not _fits(nest, more, buffers, dims_of):
            break
        rows, each, base = 2 * rows, more, count
    if rows > 1:
        why += f", {rows} of {outer.value} share what they load"
    return each, why


def _is_of_tables(nest: Nest, threads: list[Dimension]) -> bool:
    """Tell whether tables say what a nest reads along its rows, and levels lie further apart."""
    inner, *outer = threads
    if inner.kind is not DimensionKind.HORIZONTAL or not outer:
        return False
    return _gathers(nest) and outer[0].kind is not DimensionKind.HORIZONTAL


def _gathers(nest: Nest) -> bool:
    """Tell whether a nest reads at indices that tables give."""
    return any(isinstance(row, Load) and _is_told(row) for row in nest.body)


def _levels(
    nest: Nest, buffers: dict[str, Buffer], dims_of: DimsOf, ones: tuple[int, ...]
) -> tuple[tuple[int, ...], str]:
    """Return as many levels as a thread may have: they share the entries of tables."""
    levels = MOST_LEVELS
    while levels > 1 and not _fits(nest, (1, levels, *ones[2:]), buffers, dims_of, ANY_REGISTERS):
        levels //= 2
    return (1, levels, *ones[2:]), f"{levels} levels share the entries of tables"


def _wide(nest: Nest, buffers: dict[str, Buffer], inner: Dimension) -> int:
    """Return how many elements the widest access has; 1 where the stores have another layout."""
    stored = [buffers[row.buffer] for row in nest.body if isinstance(row, Store)]
    if any(buffer.unit is not inner for buffer in stored):
        return 1
    touched = [
        buffers[row.buffer]
        for row in nest.body
        if isinstance(row, Load | Store) and inner in buffers[row.buffer].dims
    ]
    return max(1, WIDEST // max(ITEMSIZES[b.dtype] for b in touched if b.unit is inner))


def _loads(nest: Nest, each: tuple[int, ...], dims_of: DimsOf) -> int:
    return sum(isinstance(row, Load) for row in unrolled(nest, each, dims_of))


def _fits(
    nest: Nest,
    each: tuple[int, ...],
    buffers: dict[str, Buffer],
    dims_of: DimsOf,
    most: int = MOST_REGISTERS,
) -> bool:
    """Tell whether a thread has registers for what it loads, and the code stays short."""
    body = unrolled(nest, each, dims_of)
    depth = len(nest.loops)
    loaded = (row for row in body if isinstance(row, Load) and row.level == depth)
    words = sum(-(-ITEMSIZES[buffers[row.buffer].dtype] // 4) for row in loaded)
    return words <= most and len(body) <= LONGEST


def _aligned(buffer: Buffer) -> Buffer:
    """Return an array whose rows begin at multiples of a line, and so does index 0."""
    if buffer.memory != "arena" or len(buffer.dims) < 2:
        return buffer
    step = LINE // ITEMSIZES[buffer.dtype]
    box = tuple(
        range_ if range_.dim is not buffer.unit else _rounded(range_, step) for range_ in buffer.box
    )
    return attrs.evolve(buffer, box=box)


def _rounded(range_: Range, step: int) -> Range:
    first = multiply(floor_divide(range_.start, Const(step)), step)
    stop = multiply(floor_divide(add(range_.stop, step - 1), Const(step)), step)
    return Range(range_.dim, first, stop)
