"""Let scans over the same columns hand numbers on in shared memory of a GPU, as one kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from .....runtime.language import Dimension
from .....runtime.process import classes
from ....gpu_target import USUAL_LEVELS
from ....ir.loops import (
    ITEMSIZES,
    Bound,
    Buffer,
    Choice,
    Const,
    Kernel,
    Load,
    Nest,
    Node,
    Range,
    Seq,
    Store,
    add,
    arrays_of,
    code_of,
    floor_divide,
    in_order,
    maximum,
    minimum,
    multiply,
    subtract,
    with_runs,
)
from ....ir.loops.gpu import Columns, Long, RowTiles, marked, marks_of
from ...pass_list import Rules
from ...plan.registers import WORD
from ...schedule.hazards import is_own_column
from ..options import options_of
from .column_tiles import in_tiles
from .landing import THREADS, WIDE, are_simple, land, said
from .loading_ahead import leave_room

# Shared memory answers soon, and registers are for more blocks.
AHEAD_IN_TILES: Final = 3
AHEAD_OF_WORDS: Final = 4
THREADS_OF_WORDS: Final = 96  # where no array has elements of more than 4 bytes
OWN: Final = 1024  # bytes of shared memory that the system takes for a block
# Columns of 8-byte elements on a multiprocessor: so many that are whole, so many of long ones.
WHOLE: Final = 96
LONG: Final = 64
APART: Final = 192  # those of scans whose loads are no copies


def hand_on(kernel: Kernel, rules: Rules) -> Kernel:
    """Make scans that follow each other one kernel if they save arrays in memory."""
    if rules.checked:
        return kernel
    buffers = {buffer.name: buffer for buffer in kernel.buffers}

    def handing(run: tuple[Node, ...]) -> tuple[Node, ...]:
        scans = tuple(node for node in run if isinstance(node, Nest) and node.states)
        if scans and (made := _made(kernel, scans, rules)):
            return (made,)
        return tuple(
            leave_room(node, buffers, rules) if isinstance(node, Nest) else node for node in run
        )

    return with_runs(kernel, _are_alike, handing)


def _are_alike(one: Node, other: Node) -> bool:
    return (
        isinstance(one, Nest)
        and isinstance(other, Nest)
        and bool(one.states and other.states)
        and not (one.parts or other.parts)
        and one.group == other.group
        and bool(one.loops[:-1])
        and one.loops[:-1] == other.loops[:-1]
        and one.loops[-1].range.dim is other.loops[-1].range.dim
        and all(loop.kind == "thread" for nest in (one, other) for loop in nest.loops[:-1])
    )


def _made(kernel: Kernel, scans: tuple[Nest, ...], rules: Rules) -> Choice | None:
    """Return scans as one kernel where they fit; None where that saves nothing."""
    if not options_of(rules).shared or scans[0].parts or len(scans[0].loops) < 2 or _crosses(scans):
        return None
    own = arrays_of(Seq(scans), Store)
    own -= arrays_of(Seq(tuple(each for each in code_of(kernel) if each not in scans)))
    arrays = tuple(b for b in kernel.buffers if b.memory == "arena" and b.name in own)
    in_rows = options_of(rules).tile_columns >= 0
    if in_rows and (tiled := in_tiles(kernel, scans, arrays, rules)) is not None:
        return _tiled(tiled, rules)
    if len(scans) == 1:
        return None
    if not are_simple(scans, tuple(buffer.name for buffer in arrays)):
        arrays = _few(scans, arrays, rules)
    return _shared(kernel, scans, arrays, rules) if arrays else None


def _few(scans: tuple[Nest, ...], arrays: Sequence[Buffer], rules: Rules) -> tuple[Buffer, ...]:
    """Return the arrays that are read most, as many as leave a multiprocessor enough columns.

    Scans whose loads cannot be copies wait for them: other columns have to fill that time.
    """
    reads = Counter(row.buffer for nest in scans for row in nest.body if isinstance(row, Load))
    room, few = rules.target.core_memory // (USUAL_LEVELS * APART), list[Buffer]()
    for buffer in sorted(arrays, key=lambda each: -reads[each.name]):
        room -= ITEMSIZES[buffer.dtype]
        if room >= 0:
            few.append(buffer)
    return tuple(buffer for buffer in arrays if buffer in few)


def _tiled(made: Columns, rules: Rules) -> Choice:
    """Return scans on tiles, which load few levels ahead: shared memory answers soon."""
    assert isinstance(made.load, RowTiles)
    widest = max(ITEMSIZES[tile.dtype] for tile in made.load.tiles)
    most = options_of(rules).ahead or (AHEAD_OF_WORDS if widest <= WORD else AHEAD_IN_TILES)
    scans = tuple(marked(nest, ahead=min(marks_of(nest).ahead, most)) for nest in made.scans)
    reason = f"columns of contiguous {scans[0].loops[-1].range.dim.value} come as rows"
    return Choice(made.fits, classes.evolve(made, scans=scans), in_order(*scans), reason)


def _shared(
    kernel: Kernel, scans: tuple[Nest, ...], arrays: Sequence[Buffer], rules: Rules
) -> Choice:
    """Return scans that hand arrays on in shared memory, with a thread for each column."""
    own = options_of(rules)
    is_narrow = max(ITEMSIZES[buffer.dtype] for buffer in arrays) <= WORD
    threads = own.column_block.x or (THREADS_OF_WORDS if is_narrow else THREADS)
    needed = _bytes(arrays, scans[0].loops[-1].range.dim, threads)
    names = tuple(buffer.name for buffer in arrays)
    again = sorted(_read_again(scans, names)) if own.keep else []
    reason = f"{', '.join(names)} need not go to memory and back"
    reason += f"; caches keep {', '.join(again)}" if again else ""
    made = Columns(names, threads, needed, own.target.block_memory, scans, keeps=bool(again))
    otherwise: Node = in_order(*scans)
    dtypes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
    blocked = _in_blocks(made, dtypes, rules)
    if blocked is not None:
        made, otherwise = blocked
        reason += "; levels that do not fit go to memory and come back"
    made = land(made, dtypes, rules)
    reason += said(made.load)
    return Choice(made.fits, made, otherwise, reason)


def _bytes(arrays: Sequence[Buffer], axis: Dimension, threads: int) -> Bound:
    """Return the bytes of all levels of some arrays for the columns of `threads` threads."""
    needed: Bound = Const(0)
    for buffer in arrays:
        (levels,) = (range_ for range_ in buffer.box if range_.dim is axis)
        count = maximum(subtract(levels.stop, levels.start), Const(0))
        needed = add(needed, multiply(multiply(count, threads), ITEMSIZES[buffer.dtype]))
    return needed


def _read_again(nests: Sequence[Nest], shared: Sequence[str]) -> set[str]:
    """Return the buffers that several scans read and that are not in shared memory."""
    counts = Counter(name for nest in nests for name in arrays_of(nest, Load))
    return {name for name, count in counts.items() if count > 1 and name not in shared}


def _crosses(nests: Sequence[Nest]) -> bool:
    """Tell whether a nest stores what any of them reads in other columns."""
    stored = arrays_of(Seq(tuple(nests)), Store)
    return any(
        isinstance(row, Load) and row.buffer in stored and not is_own_column(nest, row)
        for nest in nests
        for row in nest.body
    )


# --- long columns -------------------------------------------------------------------------------


def _in_blocks(
    made: Columns, dtypes: Mapping[str, str], rules: Rules
) -> tuple[Columns, Columns] | None:
    """Return scans for columns that fit and for others; None where these cannot be one kernel.

    Of long columns, shared memory has room for the levels at the end of the first scan, which the
    scans back need first; the levels before them go to memory and come back.
    """
    ahead = marks_of(made.scans[0]).ahead
    if not options_of(rules).blocked or not ahead or not are_simple(made.scans, made.arrays):
        return None
    sizes = [ITEMSIZES[dtypes[name]] for name in made.arrays]
    long = _long(made, 2 * ahead, sizes, rules)
    if long is None:
        return None
    columns = WHOLE * WIDE // max(sizes)
    most = max(0, min(made.most, rules.target.core_memory * made.threads // columns - OWN))
    return classes.evolve(made, most=most), long


def _long(made: Columns, rounds: int, sizes: Sequence[int], rules: Rules) -> Columns | None:
    """Return scans of long columns; None where shared memory has room for few levels."""
    range_ = made.scans[0].loops[-1].range
    own = options_of(rules)
    threads = own.column_block.x or THREADS
    level = threads * sum(sizes)
    share = rules.target.core_memory * threads * max(sizes) // (LONG * WIDE) - OWN
    most = min(own.target.block_memory, share)
    fitting = most // level // rounds * rounds
    if fitting <= 0:
        return None
    total = subtract(range_.stop, range_.start)
    levels = maximum(Const(rounds), minimum(Const(fitting), _whole(total, rounds)))
    rest = maximum(Const(0), _whole(subtract(total, fitting), rounds))
    outside = Range(range_.dim, range_.start, add(range_.start, rest))
    needed, load = multiply(levels, level), Long(levels, rest, outside)
    return Columns(made.arrays, threads, needed, most, made.scans, load)


def _whole(levels: Bound, rounds: int) -> Bound:
    """Return levels rounded up to pairs of rounds."""
    return multiply(floor_divide(add(levels, rounds - 1), Const(rounds)), rounds)
