"""Let what a scan loads land in shared memory, where the scan stores or later scans read.

An asynchronous copy needs no register until it has come, so many more levels can be on their way.
Copies of a level land in the room of the arrays that the scan stores at that level, which is free
until then. What later scans read again lands in a room of its own and stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops import ITEMSIZES, Const, Load, Nest, Store, add, maximum, multiply, subtract
from ....ir.loops.gpu import ColumnLoad, Columns, Landed, Landing, marks_of
from ...pass_list import Rules
from ..options import options_of
from .column_tiles import SIZES
from .loading_ahead import columns_read

# Small blocks leave the least shared memory of a multiprocessor unused, and short rows of a level.
THREADS: Final = 32
LEVELS: Final = 16  # on their way
FEW_LEVELS: Final = 8  # where nothing stays
MOST_AHEAD: Final = 8  # levels of a round
WIDE: Final = 8  # bytes


def land(made: Columns, dtypes: Mapping[str, str], rules: Rules) -> Columns:
    """Return scans of which the first one loads by copies, where a later one reads such a buffer.

    Elements of 8 bytes take so many registers that few levels are loaded ahead; smaller ones do
    well without, unless the option `land` asks for it.
    """
    nests, asked = made.scans, options_of(rules)
    if asked.land < 0 or not rules.target.copies_apart or not are_simple(nests, made.arrays):
        return made
    landed = _landed(nests, made.arrays, dtypes)
    stay = [each for each in landed if each.room == each.buffer]
    is_wide = all(ITEMSIZES[each.dtype] == WIDE for each in landed)
    if not landed or not (asked.land or is_wide):
        return made
    ahead = _ahead(nests[0])
    rounds = max(1, (asked.land or (LEVELS if stay else FEW_LEVELS)) // ahead)
    if stay:  # with rooms of their own for all others, the caches have none left
        landed = tuple(each for each in landed if each.room)
        rounds = 2 * -(-rounds // 2)
    threads = asked.column_block.x or THREADS
    own = [each for each in landed if not each.room]
    range_ = nests[0].loops[-1].range
    levels = maximum(subtract(range_.stop, range_.start), Const(0))
    size = sum(ITEMSIZES[dtypes[name]] for name in made.arrays) + _size(stay)
    needed = add(multiply(levels, threads * size), threads * ahead * (rounds + 1) * _size(own))
    return classes.evolve(made, threads=threads, needed=needed, load=Landing(rounds, ahead, landed))


def are_simple(nests: Sequence[Nest], arrays: Sequence[str]) -> bool:
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


def _size(landed: Sequence[Landed]) -> int:
    return sum(ITEMSIZES[each.dtype] for each in landed)


def said(load: ColumnLoad | None) -> str:
    """Return what the reason of scans says about their copies."""
    if not isinstance(load, Landing):
        return ""
    landed = load.landed
    rooms = {each.room: f" to {each.room}" for each in landed}
    rooms |= {"": "", **{each.buffer: " to stay" for each in landed if each.room == each.buffer}}
    names = ", ".join(f"{each.buffer}{rooms[each.room]}" for each in landed)
    return f"; {load.ahead * load.rounds} levels of {names} on their way"


def _ahead(nest: Nest) -> int:
    return min(marks_of(nest).ahead, MOST_AHEAD)


def _landed(
    nests: Sequence[Nest], arrays: Sequence[str], dtypes: Mapping[str, str]
) -> tuple[Landed, ...]:
    """Return what the first scan loads by copies; nothing where some of it cannot."""
    first = nests[0]
    read = columns_read(first, marks_of(first).asked)
    if any(
        name in arrays
        or any(row is not None for row in told)
        or ITEMSIZES[dtypes[name]] not in SIZES
        for name, told, _ in read
    ):
        return ()
    if any(max(along) - min(along) > _ahead(first) for along in read.values()):
        return ()
    free = [row.buffer for row in first.body if isinstance(row, Store) and row.buffer in arrays]
    found = []
    counts = Counter(name for name, *_ in read)  # neighbours' loads find lines in the caches
    for name, _, others in sorted(read, key=lambda column: counts[column[0]]):
        rooms = [name] if counts[name] == 1 and _stays(name, nests) else free
        room = next((each for each in rooms if dtypes[each] == dtypes[name]), "")
        free = [each for each in free if each != room]
        found.append(Landed(name, others, dtypes[name], room))
    return tuple(found)


def _stays(name: str, nests: Sequence[Nest]) -> bool:
    """Tell whether later scans read a buffer as the first does: each level where it is."""
    touched = [
        [row for row in nest.body if isinstance(row, Load | Store) and row.buffer == name]
        for nest in nests
    ]
    loads = [row for several in touched for row in several if isinstance(row, Load)]
    return (
        any(touched[1:])
        and len(loads) == sum(map(len, touched))
        and not any(any(row.offsets) or row.is_told for row in loads)
        and any(row.when is None for row in loads[: len(touched[0])])
    )
