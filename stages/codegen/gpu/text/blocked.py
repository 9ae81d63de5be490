"""Write scans over long columns: the last levels of arrays in shared memory, the others in memory.

Level `n` of the first scan, from 0 on, has place `n % levels` of an array in shared memory, if it
is not one of the first `rest`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs

from ....ir.bounds import Range
from ....ir.nest_groups import Blocked, Together
from ....ir.nests import Load, Nest, Store
from ...rows.body import BodyText
from ...rows.names import Names, stored_type
from ...schedule.costs import ITEMSIZES
from .sweep import Shared, SweepBody

Once: TypeAlias = Callable[[int], Container[str]]  # of each scan, what it touches last


class FirstBody(SweepBody):
    """The instructions of the first scan: rounds that store to memory, then to shared memory."""

    is_far = True

    def _key(self, access: Load | Store):  # type: ignore[no-untyped-def]
        return BodyText._key(self, access)

    def _place(self, access: Load | Store) -> str:
        shared = self.shared.get(access.buffer)
        if shared is None or self.is_far:
            return BodyText._place(self, access)
        step = self.slot_now - self.slot
        return f"{shared.name}[(place + {step}) * {shared.columns} + threadIdx.x]"

    def _is_middle(self, indent: str) -> Iterator[str]:
        if not self.is_far:
            yield f"{indent}const s32 place = s32(u32(first) % u32(levels));"
        yield from super()._is_middle(indent)

    def rounds(self, limit: str, indent: str) -> Iterator[str]:
        """Write both loops over rounds."""
        for self.is_far, until in ((True, "rest"), (False, limit)):
            yield from super().rounds(until, indent)


class LaterBody(SweepBody):
    """The instructions of a later scan at the levels in shared memory."""

    unroll = 8

    def _place(self, access: Load | Store) -> str:
        shared = self.shared.get(access.buffer)
        return (
            super()._place(access) if shared is None else f"{shared.name}[kept(i{self.level - 1})]"
        )


def write_blocked(
    names: Names, nests: Sequence[Nest], scans: Together, once: Once
) -> Iterator[str]:
    """Write the scans of a column; `rooms` and the arrays in memory are defined."""
    blocked = scans.blocked
    assert blocked is not None
    shared = {
        name: Shared(f"h{place}", "", blocked.threads) for place, name in enumerate(scans.arrays)
    }
    yield from FirstBody(names, nests[0], shared, once(0)).scope()
    for place, nest in enumerate(nests[1:], start=1):
        yield from _later(names, nest, blocked, shared, once(place))


def rooms(names: Names, scans: Together) -> Iterator[str]:
    """Define the arrays in shared memory, and which levels they have where."""
    blocked = scans.blocked
    assert blocked is not None
    start = names.bound(blocked.outside.start)
    stop = names.bound(names.kernel.nests[scans.first].loops[-1].range.stop)
    room = "0"
    yield f"  const s32 levels = s32({names.bound(blocked.levels)});"
    yield f"  const s32 rest = s32({names.bound(blocked.rest)});"
    arrays = [(number, names.by_name[name]) for number, name in enumerate(scans.arrays)]
    for number, buffer in sorted(arrays, key=lambda each: -ITEMSIZES[each[1].dtype]):
        count = f"levels * {blocked.threads}"
        yield f"  const ff::shared_array<{stored_type(buffer)}> h{number}(u32({room}), {count});"
        room += f" + {count} * {ITEMSIZES[buffer.dtype]}"
    yield f"  const s32 wrap = (s32({stop} - {start}) - 1) / levels * levels;"
    yield "  const auto kept = [&](s64 level) {"
    yield f"    const s32 place = s32(level - {start}) - wrap;"
    yield f"    return (place < 0 ? place + levels : place) * {blocked.threads} + s32(threadIdx.x);"
    yield "  };"


def _later(
    names: Names, nest: Nest, blocked: Blocked, shared: Mapping[str, Shared], once: Container[str]
) -> Iterator[str]:
    """Write a scan after the first: levels in shared memory and those outside, in its order."""
    range_ = nest.loops[-1].range
    inside = Range(range_.dim, blocked.outside.stop, range_.stop)
    parts = [
        LaterBody(names, _over(nest, inside), shared, once),
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
