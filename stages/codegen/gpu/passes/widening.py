"""Give a thread of a GPU several points: wide loads, and values that neighbours share."""

from __future__ import annotations

from typing import Final

from .....runtime.language import Dimension, DimensionKind
from .....runtime.process import classes
from ....gpu_target import WIDEST
from ....ir.loops import (
    ITEMSIZES,
    Access,
    Bound,
    Buffer,
    Const,
    Kernel,
    Load,
    Nest,
    Store,
    accesses,
    add,
    floor_divide,
    multiply,
    with_nests,
)
from ....ir.loops.gpu import marked, marks_of
from ...pass_list import Rules
from ...plan.registers import registers, words
from ..options import options_of
from .thread_blocks import FLAT, OF_LEVELS, OF_ROWS, OF_WIDE, begins_with_thread
from .unrolling import Buffers, unrolled
from .unswitching import settled_nest

LINE: Final = 128  # bytes: rows of arrays begin at multiples of it
MOST_ROWS: Final = 2  # that a thread computes together where rows share what they load
MOST_LEVELS: Final = 8  # where levels share the entries of tables
# Loads of one thread, in registers of 32 bits; with more, few threads fit a multiprocessor.
MOST_REGISTERS: Final = 96
FEW_REGISTERS: Final = 64  # where twice the points cost nothing
ANY_REGISTERS: Final = 512  # where levels share entries: what was loaded is soon used up
# Blocks of a multiprocessor for which threads on rows of levels must have registers. Told of more
# than they need, compilers load earlier: half of all threads is enough.
MANY_BLOCKS: Final = 8
FEW_BLOCKS: Final = 4  # with fewer, wide accesses hide no latency
LIGHT_BLOCKS: Final = 9  # that must fit with twice the points: fewer threads then hide as much
LONGEST: Final = 1200  # instructions
WIDE: Final = 8  # bytes
MOST_WORDS: Final = 360  # of 32 bits: values of a thread with a version for other alignments
# From this share of loads on that the other row saves, a second row is worth its registers.
WORTH: Final = 0.85


def widen(kernel: Kernel, rules: Rules) -> Kernel:
    """Choose how many points each thread has, and align the rows of arrays."""
    if rules.checked:
        return kernel
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    kernel = with_nests(kernel, lambda nest: _widened(nest, buffers, rules))
    return classes.evolve(kernel, buffers=tuple(map(_aligned, kernel.buffers)))


def _widened(nest: Nest, buffers: Buffers, rules: Rules) -> Nest:
    threads = [loop for loop in nest.loops if loop.kind == "thread"]
    if nest.states or not threads:
        return nest
    inner = nest.loops[-1].range.dim
    given = options_of(rules).block.sizes
    flat = len(threads) > 1 and _is_level(inner)
    block = given[: len(threads)] or (FLAT if flat else marks_of(nest).block)
    nest = marked(nest, block=block)
    if nest.parts:
        return nest
    usual = settled_nest(nest) if marks_of(nest).usual else nest
    each, why = _each(usual, buffers, rules)
    if max(each, default=1) == 1:
        return nest
    if not given and not flat:
        wide = OF_ROWS if marks_of(nest).usual and max(each[1:], default=1) > 1 else OF_WIDE
        block = (wide if each[0] > 1 else OF_LEVELS)[len(threads)]
    unaligned = _has_single(usual, each, buffers, rules)
    if f"accesses of {WIDEST} bytes" in why:
        how = "by single accesses" if unaligned else "one by one"
        why += f"; {how} where memory is not aligned"
    one_row = 1 < each[0] <= _wide(nest, buffers, inner) and max(each[1:], default=1) == 1
    has_ends = flat or (len(threads) > 1 and not begins_with_thread(nest, each[0]))
    masked = one_row and has_ends and not (unaligned or marks_of(nest).usual)
    blocks = 1
    if masked and flat and not given and registers(nest, each[0]) <= _room(rules, MANY_BLOCKS):
        blocks = MANY_BLOCKS
        why += f"; registers for {blocks} blocks, more than it needs"
    return marked(
        classes.evolve(nest, reason=f"{nest.reason}; {why}"),
        points=each, block=block, blocks=blocks, unaligned=unaligned, masked=masked,
    )  # fmt: skip


def _room(rules: Rules, blocks: int) -> int:
    """Return how many registers a thread has if so many blocks share a multiprocessor."""
    target = options_of(rules).target
    threads = -(-FLAT[0] // target.wavefront) * target.wavefront
    return target.registers // (blocks * threads) // 8 * 8


def _has_single(nest: Nest, each: tuple[int, ...], buffers: Buffers, rules: Rules) -> bool:
    """Tell whether the points of a thread have a version with single accesses.

    It must cost no registers: few values, no addresses by tables. With elements of 4 bytes, of
    which a thread has more, the compiler then orders the loads of the other version worse.
    """
    body = unrolled(nest, each, buffers)
    touched = [row for row in body if isinstance(row, Load) and row.level == len(nest.loops)]
    is_wide = all(ITEMSIZES[row.dtype] == WIDE for row in touched)
    asked = options_of(rules).unaligned
    if not (is_wide if asked is None else asked):
        return False
    taken = sum(words(row.dtype) for row in body if not isinstance(row, Store))
    return taken <= MOST_WORDS and not gathers(nest)


def _each(nest: Nest, buffers: Buffers, rules: Rules) -> tuple[tuple[int, ...], str]:
    """Return the points of a thread along each `thread` loop, and why."""
    inner, *others = [loop.range.dim for loop in reversed(nest.loops) if loop.kind == "thread"]
    ones = (1,) * len(others)
    asked = options_of(rules).points
    if asked.x:
        return (asked.x, asked.y, *ones)[: len(ones) + 1], "points of a thread asked for"
    if gathers(nest):
        if not others:
            return (1,), f"one of {inner.value} at a time: tables say what it reads"
        if not _is_level(inner) and _is_level(others[0]):  # levels lie further apart
            return _levels(nest, buffers, ones)
    wide = _wide(nest, buffers, inner)
    if wide * len(nest.body) > LONGEST or registers(nest, wide) > _room(rules, FEW_BLOCKS):
        wide = 1
    why = f"one of {inner.value} at a time"
    if wide > 1:
        why = f"{wide} of {inner.value} at a time: accesses of {WIDEST} bytes"
        if _is_level(inner) and _is_light(nest, (2 * wide, *ones), buffers, rules):
            wide, why = 2 * wide, f"{why}, two each: they take few registers"
    if not others:
        return (wide,), why
    rows, base = 1, _loads(nest, (wide, *ones), buffers)
    while rows < (MOST_LEVELS if _is_level(others[0]) else MOST_ROWS):
        more = (wide, 2 * rows, *ones[1:])
        count = _loads(nest, more, buffers)
        few = registers(nest, wide * 2 * rows) <= _room(rules, FEW_BLOCKS)
        if count > WORTH * 2 * base or not few or not _fits(nest, more, buffers):
            break
        rows, base = 2 * rows, count
    if rows > 1:
        why += f", {rows} of {others[0].value} share what they load"
    return (wide, rows, *ones[1:]), why


def _is_light(nest: Nest, each: tuple[int, ...], buffers: Buffers, rules: Rules) -> bool:
    """Tell whether threads with two packs are many all the same, and rows begin where they do."""
    few = registers(nest, each[0]) <= _room(rules, LIGHT_BLOCKS)
    return few and begins_with_thread(nest, each[0]) and _fits(nest, each, buffers, FEW_REGISTERS)


def _is_level(dim: Dimension) -> bool:
    return dim.kind is not DimensionKind.HORIZONTAL


def gathers(nest: Nest) -> bool:
    """Tell whether a nest reads at indices that tables give."""
    return any(isinstance(row, Load) and row.is_told for row in nest.body)


def _levels(nest: Nest, buffers: Buffers, ones: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """Return as many levels as a thread may have: they share the entries of tables."""
    levels = MOST_LEVELS
    while levels > 1 and not _fits(nest, (1, levels, *ones[1:]), buffers, ANY_REGISTERS):
        levels //= 2
    return (1, levels, *ones[1:]), f"{levels} levels share the entries of tables"


def _wide(nest: Nest, buffers: Buffers, inner: Dimension) -> int:
    """Return how many elements the widest access has; 1 where the stores have another layout."""
    if any(buffers[row.buffer].unit is not inner for row in accesses(nest, Store)):
        return 1
    touched = [
        buffers[row.buffer] for row in accesses(nest, Access) if inner in buffers[row.buffer].dims
    ]
    return max(1, WIDEST // max(ITEMSIZES[b.dtype] for b in touched if b.unit is inner))


def _loads(nest: Nest, each: tuple[int, ...], buffers: Buffers) -> int:
    return sum(isinstance(row, Load) for row in unrolled(nest, each, buffers))


def _fits(
    nest: Nest,
    each: tuple[int, ...],
    buffers: Buffers,
    most: int = MOST_REGISTERS,
) -> bool:
    """Tell whether a thread has registers for what it loads, and the code stays short."""
    body = unrolled(nest, each, buffers)
    taken = sum(
        words(buffers[row.buffer].dtype)
        for row in body
        if isinstance(row, Load) and row.level == len(nest.loops)
    )
    return taken <= most and len(body) <= LONGEST


def _aligned(buffer: Buffer) -> Buffer:
    """Return an array whose rows begin at multiples of a line, and so does index 0."""
    if buffer.memory != "arena" or len(buffer.dims) < 2:
        return buffer
    step = LINE // ITEMSIZES[buffer.dtype]

    def down(bound: Bound) -> Bound:
        return multiply(floor_divide(bound, Const(step)), step)

    box = tuple(
        classes.evolve(each, start=down(each.start), stop=down(add(each.stop, step - 1)))
        if each.dim is buffer.unit
        else each
        for each in buffer.box
    )
    return classes.evolve(buffer, box=box)
