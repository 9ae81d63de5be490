"""Write nests as one kernel, each block of which computes a patch of a mesh by its lists."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence

import attrs

from ....ir.bounds import PatchBound
from ....ir.nest_groups import Patches, PatchLoop
from ....ir.nests import Load, Nest, Store
from ...integers import buffers_of
from ...mesh.ways import Way, way_of
from ...rows.body import NAMELESS
from ...rows.names import Names, stored_type
from ...schedule.costs import ITEMSIZES
from ..passes.sharing_in_patches import fillers_of
from ..passes.unrolling import interleaved
from .body import ThreadBody
from .memory import array_text
from .wide import Group, PatchBody
from .wide import together as all_aligned

# Words of each nest at the begin of the lists: where its near indices and its elements begin, and
# the most elements of a patch; see `patches.h`.
HEADER = 3


@attrs.frozen
class Room:
    """The arrays in shared memory: their names, and the column of near indices for a reading.

    `near` has by list and way the number of the column, `fillers` by array the number of its list.
    """

    arrays: Mapping[str, str]
    fillers: Mapping[str, int]
    near: Mapping[tuple[int, Way | None], int]
    own: frozenset[str]  # that the nest fills
    once: frozenset[str]  # fields that only this loop touches, each element once
    levels: int


class _InPatch(ThreadBody):
    """Instructions whose arrays are in shared memory, a row of levels for each element."""

    room: Room

    def pointers(self, indent: str) -> Iterator[str]:
        """Define a pointer for each row, and a place in shared memory for one of an array."""
        rows, self.rows = self.rows, {k: v for k, v in self.rows.items() if not self._is_here(k[0])}
        yield from super().pointers(indent)
        self.rows = rows
        for (name, places), row in self.rows.items():
            if self._is_here(name):
                element, levels = self._element(name, places), self.room.levels
                yield f"{indent}const u32 {row} = ({element}) * {levels};"

    def _is_here(self, name: str) -> bool:
        return name in self.room.arrays

    def _element(self, name: str, places: object) -> str:
        """Return the place of an element among those of the patch."""
        if name in self.room.own:
            return "q - begin"
        load = next(
            row
            for row in self.nest.body
            if isinstance(row, Load) and self._key(row) == (name, places)
        )
        number = self.room.near[self.room.fillers[name], way_of(self.nest, load)]
        return f"near[(q - base) * {len(self.room.near)} + {number}]"

    def _place(self, access: Load | Store) -> str:
        if not self._is_here(access.buffer):
            return super()._place(access)
        key = self._key(access)
        assert key is not None, "levels of arrays are those of the nest"
        axis = self.names.by_name[access.buffer].dims.index(self.dims[-1])
        return (
            f"{self.room.arrays[access.buffer]}[{self._level(key, self._places(access)[axis][1])}]"
        )

    def _level(self, key: object, offset: int) -> str:
        index = f"{self.rows[key]} + u32(i{len(self.dims) - 1} - start)"  # type: ignore[index]
        return f"{index} + {offset}" if offset else index


class _OneByOne(_InPatch):
    def __init__(self, names: Names, nest: Nest, room: Room) -> None:
        super().__init__(names, nest)
        self.room = room


class _AllAtOnce(_InPatch, PatchBody):
    def __init__(self, names: Names, nest: Nest, room: Room) -> None:
        PatchBody.__init__(self, names, nest)
        self.room = room

    def aligned(self) -> list[str]:
        """Return the addresses and strides that must be multiples of the widest access."""
        groups = self.groups
        self.groups = {
            row: found
            for row, found in groups.items()
            if not self._is_here(self.nest.body[row].buffer)  # type: ignore[attr-defined]
        }
        found = super().aligned()
        self.groups = groups
        return found

    def everything(self, indent: str) -> Iterator[str]:
        """Write all instructions in their order, each pointer before its first use."""
        rows, self.rows = self.rows, {}
        for number, row in enumerate(self.nest.body):
            if isinstance(row, NAMELESS):
                continue
            key = self._key(row) if isinstance(row, Load | Store) else None
            if key is not None and key not in self.rows:
                known, self.rows = self.rows, {key: rows[key]}
                yield from self.pointers(indent)
                self.rows = known | self.rows
            if text := self.line(number):  # nothing but for the last of several stores
                yield indent + text

    def _function(self, name: str, access: Load | Store) -> str:
        return f"{name}_once" if access.buffer in self.room.once else name

    def _start(self, group: Group) -> str:
        access = self.nest.body[group.members[0]]
        assert isinstance(access, Load | Store)
        if not self._is_here(access.buffer):
            return super()._start(group)
        return f"{self.room.arrays[access.buffer]}, {self._level(self._key(access), group.start)}"


def write_patches(names: Names, patches: Patches) -> Iterator[str]:
    """Write the statements of one thread: in order the loops over the elements of lists."""
    levels = patches.loops[0].nest.loops[-1].range
    address = names.bound(PatchBound("address", patches.order))
    parts = names.bound(patches.node.parts(levels))
    first = f"({names.bound(levels.start)} & -{patches.points})"
    nests = [each.nest for each in patches.loops]
    for name in dict.fromkeys(name for nest in nests for name in buffers_of(nest)):
        if name not in patches.arrays:
            yield from array_text(names, name)
    count = len(patches.order.members)
    yield f"  const u32* const lists = (const u32*){address};"
    yield f"  const u32 parts = u32({parts}), patch = blockIdx.x / parts;"
    lanes = patches.levels // patches.points
    yield f"  const u32 lane = threadIdx.x % {lanes}, own = threadIdx.x / {lanes};"
    yield f"  const s64 start = {first} + s64(blockIdx.x - patch * parts) * {patches.levels};"
    yield f"  const s64 f1 = start + lane * {patches.points};"
    yield f"  const u32* const firsts = lists + {HEADER * count} + patch * {count};"
    yield "  u32 turn = 0;  // of the threads that take the first elements of a loop"
    arrays = yield from _shared(names, patches)
    for each, waits in zip(patches.loops, patches.waits, strict=True):
        yield from _loop(names, patches, each, arrays, waits=waits)


def _shared(names: Names, patches: Patches) -> Generator[str, None, dict[str, str]]:
    """Define the arrays in shared memory, one after the other; return their names."""
    found: dict[str, str] = {}
    fillers = fillers_of(patches)
    room = "0"
    for name in patches.arrays:
        buffer = names.by_name[name]
        elements = f"lists[{HEADER * fillers[name] + 2}] * {patches.levels}"
        found[name] = f"h{len(found)}"
        type_ = stored_type(buffer)
        yield f"  const ff::shared_array<{type_}> {found[name]}(u32({room}), {elements});"
        room += f" + {elements} * {ITEMSIZES[buffer.dtype]}"
    return found


def _loop(
    names: Names, patches: Patches, each: PatchLoop, arrays: Mapping[str, str], *, waits: bool
) -> Iterator[str]:
    """Write a loop over the elements of a list that a patch has.

    Each thread knows its first element before it `waits` for the others, and the next one early.
    """
    room = _room(names, patches, each, arrays)
    joint = f"{names.bound(each.joint)} > 0"
    tests = {"both": [f"({joint})"], "apart": [f"!({joint})"]}.get(each.part, [])
    step = patches.threads * patches.points // patches.levels
    if waits:
        yield "  turn = 0;"
    yield "  {"
    yield from _list(patches, each, room, joint)
    yield f"    u32 q = from + (own >= turn ? own - turn : own + {step} - turn);"
    yield "    u32 next = q < to ? lists[q] : 0;"
    if waits:
        yield "    ff::barrier();"
    loop = list(_elements(names, each.nest, step))
    yield from _versions(names, patches, each.nest, room, (tests, loop))
    done = f"(turn + to - from) % {step}"
    yield f"    turn = {f'{tests[0]} ? {done} : turn' if tests else done};"
    yield "  }"


def _list(patches: Patches, each: PatchLoop, room: Room, joint: str) -> Iterator[str]:
    """Define where the list of a loop begins and ends, and where it tells what lies near."""
    place, count = each.elements, len(patches.order.members)
    if room.near:
        yield f"    const u16* const near = (const u16*)(lists + lists[{HEADER * place}]);"
        yield f"    const u32 base = lists[{HEADER * place + 1}];"
    yield f"    const u32 begin = firsts[{place}], to = firsts[{place + count}];"
    if each.part == "rest":
        others = f"firsts[{each.others + count}] - firsts[{each.others}]"
        yield f"    const u32 from = {joint} ? begin + ({others}) : begin;"
    else:
        yield "    const u32 from = begin;"


def _versions(
    names: Names,
    patches: Patches,
    nest: Nest,
    room: Room,
    head: tuple[Sequence[str], Sequence[str]],
) -> Iterator[str]:
    """Write a loop for threads that have all of their levels inside, and one for others."""
    tests, loop = head
    levels = nest.loops[1].range
    start, stop = names.bound(levels.start), names.bound(levels.stop)
    if not names.clamped:
        wide = attrs.evolve(nest, each=(patches.points, 1))
        dims_of = {name: buffer.dims for name, buffer in names.by_name.items()}
        every = _AllAtOnce(
            names, attrs.evolve(wide, body=interleaved(wide, wide.each, dims_of)), room
        )
        all_ = f"f1 >= {start} && f1 + {patches.points} <= {stop}"
        yield f"    if ({' && '.join([*tests, all_aligned(every.aligned()), all_])}) {{"
        yield "      const s64 i1 = f1;"
        yield from loop
        yield from every.everything(" " * 10)
        yield "      }}"
        yield "    } else"
    yield f"    if ({' && '.join([*tests, f'f1 < {stop}'])}) {{  // one by one at the ends"
    yield from loop
    yield from _one_by_one(_OneByOne(names, nest, room), start, stop, patches.points)
    yield "      }}"
    yield "    }"


def _room(names: Names, patches: Patches, each: PatchLoop, arrays: Mapping[str, str]) -> Room:
    readings = patches.order.members[each.elements].readings
    stored = {row.buffer for row in each.nest.body if isinstance(row, Store)}
    return Room(
        arrays, fillers_of(patches), {reading: number for number, reading in enumerate(readings)},
        frozenset(stored & set(arrays)), frozenset(_once(names, patches, each)), patches.levels,
    )  # fmt: skip


def _once(names: Names, patches: Patches, each: PatchLoop) -> Iterator[str]:
    """Yield the fields that a loop reads or writes and no other does, each element once."""
    others = {
        name
        for other in patches.loops
        if other != each and {other.part, each.part} != {"both", "apart"}
        for name in buffers_of(other.nest)
    }
    for name in buffers_of(each.nest):
        rows = [
            row for row in each.nest.body if isinstance(row, Load | Store) and row.buffer == name
        ]
        is_own = not any(any(index is not None for index in _rows(row)) for row in rows)
        if is_own and name not in others and names.by_name[name].memory == "field":
            yield name


def _rows(access: Load | Store) -> tuple[int | None, ...]:
    return access.rows if isinstance(access, Load) else ()


def _elements(names: Names, nest: Nest, step: int) -> Iterator[str]:
    """Open the loop of a thread over elements, and the test that an element is inside."""
    range_ = nest.loops[0].range
    inside = [f"i0 >= {names.bound(range_.start)}", f"i0 < {names.bound(range_.stop)}"]
    inside += [
        f"{names.bound(each.start)} < {names.bound(each.stop)}"
        for each in nest.guard
        if each not in nest.box
    ]
    yield "#pragma unroll 1"
    yield f"      for (; q < to; q += {step}) {{"
    yield "        const s64 i0 = s64(next);"
    yield f"        next = q + {step} < to ? lists[q + {step}] : 0;"
    yield f"        if ({' && '.join(inside)}) {{"


def _one_by_one(body: _OneByOne, start: str, stop: str, points: int) -> Iterator[str]:
    """Write a loop over those levels of a thread that lie inside."""
    for level in (0, 1):
        yield from body.at(level, deeper=3)
    yield from body.pointers(" " * 10)
    yield "#pragma unroll 1"
    first = f"f1 < {start} ? {start} : f1"
    inside = f"i1 < f1 + {points} && i1 < {stop}"
    yield f"          for (s64 i1 = {first}; {inside}; ++i1) {{"
    yield from body.at(2, deeper=3)
    yield "          }"
