"""Plan scans for columns of any length: levels that shared memory cannot hold go through arrays.

Shared memory has room for the levels at the end of the first scan, which the scans back need first;
the levels before them go to memory and come back. What the first scan loads may come by
asynchronous copies, several rounds of levels ahead, to the room of what it stores at these levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from ...ir.bounds import (
    Bound,
    Const,
    Range,
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
    subtract,
)
from ...ir.loops import Blocked, Kernel, Landed, Load, Nest, Store, Together
from ..schedule.costs import ITEMSIZES
from ..schedule.placement import Rules

THREADS: Final = 32
LEVELS: Final = 16  # on their way
MOST_AHEAD: Final = 8  # levels of a round
SIZES: Final = (4, 8)  # of elements that can be copied alone
OWN: Final = 1024  # bytes of shared memory that the system takes for a block
# Columns of 8-byte elements on a multiprocessor: so many that are whole, so many of long ones.
WHOLE: Final = 96
LONG: Final = 64
WIDE: Final = 8


def in_blocks(kernel: Kernel, scans: Together, rules: Rules) -> Together:
    """Return scans that have a kernel for columns that do not fit."""
    nests = kernel.nests[scans.first : scans.stop]
    if not rules.gpu.blocked or not _are_simple(nests, scans.arrays):
        return scans
    sizes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
    landed = _landed(nests, scans.arrays, sizes, rules)
    made = _blocked(nests[0], scans, landed, sizes, rules)
    if made is None:
        return scans
    widest = max(ITEMSIZES[sizes[name]] for name in scans.arrays)
    stays = any(each.buffer == each.room for each in landed)
    always = bool(landed) and (rules.gpu.land > 0 or (stays and widest == WIDE))
    most = rules.target.core_memory * scans.threads * widest // (WHOLE * WIDE) - OWN
    most = 0 if always else min(scans.most, most)
    return attrs.evolve(scans, most=most, blocked=made, reason=f"{scans.reason}; {_why(made)}")


def _why(blocked: Blocked) -> str:
    text = "levels that do not fit go to memory and come back"
    if not blocked.landed:
        return text
    rooms = ", ".join(
        f"{each.buffer} {'to stay' if each.room == each.buffer else f'in {each.room}'}"
        if each.room
        else each.buffer
        for each in blocked.landed
    )
    levels = blocked.ahead * blocked.rounds
    return f"{text}; {levels} levels of {rooms} on their way by asynchronous copies"


def _are_simple(nests: Sequence[Nest], arrays: Sequence[str]) -> bool:
    """Tell whether all scans have the levels of the first, and touch arrays at their own."""
    first = nests[0].loops[-1]
    return not first.backward and all(
        nest.loops[-1].range == first.range
        and all(
            not any(row.offsets)
            for row in nest.body
            if isinstance(row, Load | Store) and row.buffer in arrays
        )
        for nest in nests
    )


def _landed(
    nests: Sequence[Nest], arrays: Sequence[str], dtypes: dict[str, str], rules: Rules
) -> tuple[Landed, ...]:
    """Return what the first scan loads by copies; nothing where some of it cannot."""
    first = nests[0]
    if rules.gpu.land < 0 or not rules.target.copies_apart or not first.asked:
        return ()
    rows: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    axis = first.loops[-1].range.dim
    for number in first.asked:
        load = first.body[number]
        assert isinstance(load, Load)
        if any(row is not None for row in load.rows) or load.buffer in arrays:
            return ()
        if ITEMSIZES[dtypes[load.buffer]] not in SIZES or dtypes[load.buffer] == "bool":
            return ()
        place = load.dims.index(axis)
        others = tuple(o * (at != place) for at, o in enumerate(load.offsets))
        rows.setdefault((load.buffer, others), []).append(load.offsets[place])
    if any(max(along) - min(along) > _ahead(first) for along in rows.values()):
        return ()
    free = [row.buffer for row in first.body if isinstance(row, Store) and row.buffer in arrays]
    found = []
    for name, others in rows:
        room = name if _stays(name, nests, rows) else ""
        if not room:
            room = next((each for each in free if dtypes[each] == dtypes[name]), "")
        if room in free:
            free.remove(room)
        found.append(Landed(name, others, dtypes[name], room))
    return tuple(found)


def _stays(
    name: str, nests: Sequence[Nest], rows: dict[tuple[str, tuple[int, ...]], list[int]]
) -> bool:
    """Tell whether later scans read a buffer as the first does: each level where it is."""
    first, *later = nests
    again = [row for nest in later for row in nest.body if _is_of(row, name, Load)]
    own = [row for row in first.body if _is_of(row, name, Load)]
    stored = any(_is_of(row, name, Store) for nest in nests for row in nest.body)
    keys = [key for key in rows if key[0] == name]
    return (
        bool(again)
        and not stored
        and len(keys) == 1
        and all(
            not any(row.offsets) and not any(each is not None for each in row.rows)  # type: ignore[attr-defined]
            for row in (*own, *again)
        )
        and any(row.when is None for row in own)  # type: ignore[attr-defined]
    )


def _is_of(row: object, name: str, kind: type[Load | Store]) -> bool:
    return isinstance(row, kind) and row.buffer == name


def _ahead(nest: Nest) -> int:
    return min(nest.ahead, MOST_AHEAD)


def _blocked(
    first: Nest,
    scans: Together,
    landed: tuple[Landed, ...],
    dtypes: dict[str, str],
    rules: Rules,
) -> Blocked | None:
    """Return the plan; None where shared memory is too small for it."""
    range_ = first.loops[-1].range
    ahead = _ahead(first)
    if ahead == 0:
        return None
    rounds = max(1, (rules.gpu.land or LEVELS) // ahead) if landed else 0
    (threads,) = rules.gpu.column_block[:1] or (THREADS,)
    stay = [each for each in landed if each.room == each.buffer]
    own = sum(ITEMSIZES[each.dtype] for each in landed if not each.room)
    own *= threads * ahead * (rounds + 1)
    sizes = [ITEMSIZES[dtypes[name]] for name in scans.arrays]
    level = threads * (sum(sizes) + sum(ITEMSIZES[each.dtype] for each in stay))
    share = rules.target.core_memory * threads * max(sizes) // (LONG * WIDE) - OWN
    most = min(rules.gpu.most_shared, share)
    fitting = (most - own) // level // ahead * ahead
    if fitting < (rounds + 1) * ahead:
        return None
    total = subtract(range_.stop, range_.start)
    room = maximum(Const(ahead), minimum(Const(fitting), _whole(total, ahead)))
    rest = maximum(Const(0), _whole(subtract(total, fitting), ahead))
    outside = Range(range_.dim, range_.start, add(range_.start, rest))
    needed = add(multiply(room, level), own)
    return Blocked(landed, ahead, rounds, threads, room, rest, outside, needed, most)


def _whole(levels: Bound, ahead: int) -> Bound:
    """Return levels rounded up to whole rounds."""
    return multiply(floor_divide(add(levels, ahead - 1), Const(ahead)), ahead)
