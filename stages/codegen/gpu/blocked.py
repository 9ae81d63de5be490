"""Write scans over columns of any length: the last levels in shared memory, the others in memory.

Level `n` of the first scan, from 0 on, has place `n % levels` of an array in shared memory. From
level `rest` on it stays there; before, the place is free for what asynchronous copies bring.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

import attrs

from ...ir.bounds import Range
from ...ir.loops import Blocked, Instruction, Landed, Load, Nest, Row, Store, Together
from ..cpp.body import BodyText
from ..cpp.names import Names
from ..schedule.costs import ITEMSIZES
from .sweep import Shared, SweepBody, Window


class BlockedBody(SweepBody):
    """The instructions of a scan whose arrays are in shared memory at some levels.

    The `first` scan visits all levels, and stores to memory at those before level `rest`.
    """

    def __init__(
        self,
        names: Names,
        nest: Nest,
        shared: Mapping[str, Shared],
        once: Container[str],
        first: bool = False,
    ) -> None:
        self.is_first = first
        super().__init__(names, nest, shared, once)

    def _key(self, access: Load | Store):  # type: ignore[no-untyped-def]
        return BodyText._key(self, access) if self.is_first else super()._key(access)

    def _place(self, access: Load | Store) -> str:
        shared = self.shared.get(access.buffer)
        return super()._place(access) if shared is None else f"{shared.name}[kept({self._at()})]"

    def _at(self) -> str:
        return f"i{self.level - 1}"

    def _line(self, number: Row, row: Instruction, kept: Mapping[str, str]) -> str:
        if self.is_first and isinstance(row, Store) and row.buffer in self.shared:
            value = self._operand(row.value)
            inside, outside = self._place(row), BodyText._place(self, row)
            return f"if ({self._at()} >= edge) {inside} = {value}; else {outside} = {value};"
        return super()._line(number, row, kept)

    def plain_loop(self) -> str:
        """Return what stands before a loop without windows."""
        return "#pragma unroll 8"


class LandingBody(BlockedBody):
    """The instructions of the first scan where its loads arrive in shared memory."""

    def __init__(
        self,
        names: Names,
        nest: Nest,
        shared: Mapping[str, Shared],
        once: Container[str],
        landing: Mapping[str, str],
        blocked: Blocked,
    ) -> None:
        self.blocked, self.landing = blocked, landing
        super().__init__(names, attrs.evolve(nest, ahead=blocked.ahead), shared, once, True)
        self.reach = blocked.ahead + max(window.span for window in self.windows)

    def _landed(self, window: Window) -> Landed:
        load = window.load
        found = (load.buffer, load.offsets)
        return next(e for e in self.blocked.landed if (e.buffer, e.offsets) == found)

    def _spot(self, window: Window, number: str) -> str:
        """Return where the newest element for a step lies; `j` counts on from the first step."""
        landed, threads = self._landed(window), self.blocked.threads
        own = self.blocked.ahead * (self.blocked.rounds + 1)
        place = f"{number}_place" if landed.room else f"{number} % {own}"
        name = self.landing[f"{landed.buffer}{landed.offsets}"]
        return f"{name}[({place} + j) * {threads} + threadIdx.x]"

    def sweep(self, indent: str) -> Iterator[str]:
        """Write the loop over the levels, by rounds."""
        range_, ahead = self.loop.range, self.blocked.ahead
        rounds, inner = self.blocked.rounds, indent + "  "
        start, stop = self.names.bound(range_.start), self.names.bound(range_.stop)
        yield f"{indent}const s32 total = s32({stop} - {start});"
        yield from self.rings(indent)
        for window in self.windows:
            yield from self._fill(window, str(window.low), ahead, window.span, indent)
        yield f"{indent}#pragma unroll 1"
        yield f"{indent}for (s32 first = {-ahead * rounds}; first < total; first += {ahead}) {{"
        yield f"{inner}const s32 later = first + {ahead * rounds};"
        yield f"{inner}if (later < total) {{"
        yield f"{inner}  const s32 later_place = s32(u32(later) % u32(levels));"
        yield from self._is_inside("later", f"{inner}  ")
        yield f"{inner}  if (inside) {{"
        for is_middle, closing in ((True, "} else {"), (False, "}")):
            self.in_middle = is_middle
            for window in self.windows:
                yield from self._copies(window, f"{inner}    ")
            yield f"{inner}  {closing}"
        yield f"{inner}}}"
        yield f"{inner}ff::async_commit();"
        yield f"{inner}if (first < 0) continue;"
        yield f"{inner}ff::async_wait<{rounds}>();"
        yield f"{inner}const s32 first_place = s32(u32(first) % u32(levels));"
        yield from self._is_inside("first", inner)
        yield f"{inner}if (inside) {{"
        for is_middle, closing in ((True, "} else {"), (False, "}")):
            self.in_middle = is_middle
            yield from self._visits(f"{inner}  ")
            yield f"{inner}{closing}"
        yield f"{indent}}}"

    def _is_inside(self, number: str, indent: str) -> Iterator[str]:
        """Define whether all that a round touches is inside, conditions as on most levels."""
        index = self._at()
        yield f"{indent}bool inside = {number} + {self.reach} <= total;"
        for place in (number, f"{number} + {self.reach - 1}") if self.expected else ():
            yield f"{indent}if (inside) {{"
            yield f"{indent}  const s64 {index} = {self._level(place)};"
            for row, value in self.expected.items():
                yield f"{indent}  inside = inside && {'' if value else '!'}{self._test(row)};"
            yield f"{indent}}}"

    def _copies(self, window: Window, indent: str) -> Iterator[str]:
        """Write the copies of the newest elements of a round; they need not be wanted."""
        newest = window.low + window.span
        element = f"later + {newest} + j" if newest else "later + j"
        yield f"{indent}#pragma unroll"
        yield f"{indent}for (s32 j = 0; j < {self.blocked.ahead}; ++j) {{"
        test = ""
        if not (self.in_middle and self._is_sure(window)):
            yield f"{indent}  const s32 y = {element};"
            wanted = yield from self._is_wanted(window, f"{indent}  ")
            test = f"if ({wanted}) "
        place = self._spot(window, "later")
        array, at = place[: place.index("[")], place[place.index("[") + 1 : -1]
        yield f"{indent}  const s64 {self._at()} = {self._level(element)};"
        yield f"{indent}  {test}ff::async_copy<1>({array}, {at}, &{self._place(window.load)});"
        yield f"{indent}}}"

    def _visits(self, indent: str) -> Iterator[str]:
        """Write the steps of a round: what has landed goes to registers before."""
        ahead = self.blocked.ahead
        for window in self.windows:
            newest = window.low + window.span
            for old in range(window.span):
                yield f"{indent}{window.name}[{old}] = {window.name}[{ahead + old}];"
            yield f"{indent}#pragma unroll"
            yield f"{indent}for (s32 j = 0; j < {ahead}; ++j) {{"
            value = self._spot(window, "first")
            if not (self.in_middle and self._is_sure(window)):
                yield f"{indent}  const s32 y = first + j{f' + {newest}' if newest else ''};"
                wanted = yield from self._is_wanted(window, f"{indent}  ")
                value = f"{wanted} ? {window.type_}({value}) : {window.type_}(0)"
            yield f"{indent}  {window.name}[{window.span} + j] = {value};"
            yield f"{indent}}}"
        self.slot = 0
        for j in range(ahead):
            yield from self._step(j, indent)


def write_blocked(names: Names, nests: Sequence[Nest], scans: Together) -> Iterator[str]:
    """Write the kernel inside the columns of its threads, which have their indices.

    The arrays in memory are defined.
    """
    blocked = scans.blocked
    assert blocked is not None
    first, *later = nests
    shared = {name: Shared(f"h{place}", "", 0) for place, name in enumerate(scans.arrays)}
    landing = {}
    own = 0
    for each in blocked.landed:
        key = f"{each.buffer}{each.offsets}"
        if each.room in shared:
            landing[key] = shared[each.room].name
        elif each.room:
            landing[key] = f"l{len(shared)}"
        else:
            landing[key], own = f"o{own}", own + 1
    once = _once(nests, 0, scans.arrays)
    if blocked.landed:
        yield from LandingBody(names, first, shared, once, landing, blocked).scope()
    else:
        yield from BlockedBody(names, first, shared, once, True).scope()
    held = {e.buffer: Shared(landing[f"{e.buffer}{e.offsets}"], "", 0) for e in blocked.landed
            if e.room == e.buffer}  # fmt: skip
    for place, nest in enumerate(later, start=1):
        yield from _later(
            names, nest, blocked, {**shared, **held}, _once(nests, place, scans.arrays)
        )


def rooms(names: Names, scans: Together) -> Iterator[str]:
    """Define the arrays in shared memory, and the places in them."""
    blocked = scans.blocked
    assert blocked is not None
    levels, edge = names.bound(blocked.levels), names.bound(blocked.outside.stop)
    threads, room = blocked.threads, "0"
    wanted = [(f"h{n}", names.by_name[name].dtype, "levels") for n, name in enumerate(scans.arrays)]
    stay = [each for each in blocked.landed if each.room == each.buffer]
    wanted += [(f"l{len(scans.arrays)}", each.dtype, "levels") for each in stay]
    ring = str(blocked.ahead * (blocked.rounds + 1))
    own = [each for each in blocked.landed if not each.room]
    wanted += [(f"o{n}", each.dtype, ring) for n, each in enumerate(own)]
    yield f"  const s32 levels = s32({levels});"
    yield f"  const s64 edge = {edge};"
    for name, dtype, count in wanted:
        type_ = {"float64": "f64", "float32": "f32", "int32": "s32", "int64": "s64"}[dtype]
        yield f"  const ff::shared_array<{type_}> {name}(u32({room}), {count} * {threads});"
        room += f" + {count} * {threads * ITEMSIZES[dtype]}"
    start = names.bound(blocked.outside.start)
    stop = names.bound(names.kernel.nests[scans.first].loops[-1].range.stop)
    yield f"  const s32 wrap = (s32({stop} - {start}) - 1) / levels * levels;"
    yield "  const auto kept = [&](s64 level) {"
    yield f"    const s32 place = s32(level - {start}) - wrap;"
    yield f"    return u32(place < 0 ? place + levels : place) * {threads} + threadIdx.x;"
    yield "  };"


def _later(
    names: Names, nest: Nest, blocked: Blocked, shared: Mapping[str, Shared], once: Container[str]
) -> Iterator[str]:
    """Write a scan after the first: levels in shared memory and those outside, in its order."""
    range_ = nest.loops[-1].range
    inside = Range(range_.dim, blocked.outside.stop, range_.stop)
    parts = [
        BlockedBody(names, _over(nest, inside), shared, once),
        SweepBody(names, _over(nest, blocked.outside), {}, once),
    ]
    yield "    {"
    yield from parts[0].states("      ")
    for body in parts if nest.loops[-1].backward else reversed(parts):
        yield "      {"
        for level in range(len(nest.loops)):
            yield from (f"      {line}" for line in body.at(level))
        yield from body.pointers("        ")
        yield from body.sweep("        ")
        yield "      }"
    yield "    }"


def _over(nest: Nest, range_: Range) -> Nest:
    *around, inner = nest.loops
    return attrs.evolve(nest, loops=(*around, attrs.evolve(inner, range=range_)))


def _once(nests: Sequence[Nest], place: int, kept: Container[str]) -> set[str]:
    """Return what one of several scans touches last."""
    touched = {row.buffer for row in nests[place].body if isinstance(row, Load | Store)}
    later = {
        row.buffer for nest in nests[place + 1 :] for row in nest.body if isinstance(row, Load)
    }
    return {name for name in touched if name not in kept and name not in later}
