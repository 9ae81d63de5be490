"""Write the loop of a scan over its levels: loads ahead of their use, arrays in shared memory.

The levels that a thread visits have numbers from 0 on, downwards or upwards. What it loads ahead
of its use lies in *windows* in registers: all levels of one row that some steps need. While the
steps of one window run, the loads of the next are under way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from ...ir.loops import Instruction, Load, Nest, Row, Store
from ..cpp.body import NAMELESS
from ..cpp.names import Names, stored_type
from ..loop_passes.loading_ahead import condition
from .body import ThreadBody


@attrs.frozen
class Shared:
    """An array of a block in shared memory: its name, its first level, columns of the block."""

    name: str
    first: str
    columns: int


@attrs.define
class Window:
    """Loads of one row: each by its offset along the way of the sweep, and who loads so."""

    name: str
    type_: str
    load: Load
    offsets: dict[int, list[Row]] = attrs.field(factory=dict)

    @property
    def low(self) -> int:
        """The offset of the first element."""
        return min(self.offsets)

    @property
    def span(self) -> int:
        """How many more levels than steps it has."""
        return max(self.offsets) - self.low


class SweepBody(ThreadBody):
    """The instructions of a scan, with windows and arrays in shared memory."""

    def __init__(self, names: Names, nest: Nest, shared: Mapping[str, Shared]) -> None:
        self.shared = shared
        super().__init__(names, nest)
        self.level = len(nest.loops)
        self.loop = nest.loops[-1]
        self.windows: list[Window] = []
        self.placed: dict[Row, tuple[Window, int]] = {}
        self.in_window = False
        self.current: Row = -1
        if nest.ahead:
            self._find_windows()

    def _find_windows(self) -> None:
        found: dict[object, Window] = {}
        for number in self.nest.asked:
            load = self.nest.body[number]
            assert isinstance(load, Load)
            key = self._window_key(load)
            if key is None:
                continue
            axis = load.dims.index(self.loop.range.dim)
            offset = -load.offsets[axis] if self.loop.backward else load.offsets[axis]
            if key not in found:
                offsets = tuple(o * (i != axis) for i, o in enumerate(load.offsets))
                type_ = stored_type(self.names.by_name[load.buffer])
                here = attrs.evolve(load, offsets=offsets, when=None)
                found[key] = Window(f"q{len(found)}", type_, here)
            found[key].offsets.setdefault(offset, []).append(number)
            self.placed[number] = found[key], offset
        self.windows = list(found.values())

    def _window_key(self, load: Load) -> object:
        """Return what loads of one window have in common; None for a load without a window."""
        return None if load.buffer in self.shared else self._key(load)

    # --- what stands where ----------------------------------------------------------------------

    def _key(self, access: Load | Store):  # type: ignore[no-untyped-def]
        return None if access.buffer in self.shared else super()._key(access)

    def _place(self, access: Load | Store) -> str:
        shared = self.shared.get(access.buffer)
        if shared is None:
            return super()._place(access)
        buffer = self.names.by_name[access.buffer]
        axis = buffer.dims.index(self.loop.range.dim)
        row, offset = self._places(access)[axis]
        level = self._index(buffer.dims[axis], row, offset)
        return f"{shared.name}[({level} - {shared.first}) * {shared.columns} + threadIdx.x]"

    def _value(self, row: Instruction) -> str:
        if self.in_window and isinstance(row, Load):
            number = self.current
            if number in self.placed:
                window, offset = self.placed[number]
                value = f"{window.name}[j + {offset - window.low}]"
                if row.when is not None:
                    value = f"({self._operand(row.when)} ? {value} : {window.type_}(0))"
                return f"{value}{' != 0' if row.dtype == 'bool' else ''}"
        return super()._value(row)

    def _line(self, number: Row, row: Instruction, kept: Mapping[str, str]) -> str:
        self.current = number
        return super()._line(number, row, kept)

    # --- text -----------------------------------------------------------------------------------

    def scope(self) -> Iterator[str]:
        """Write a scan of several in one kernel, in a scope of its own."""
        yield "    {"
        for level in range(len(self.nest.loops)):
            yield from (f"    {line}" for line in self.at(level))
        yield from self.pointers("      ")
        yield from self.states("      ")
        yield from self.sweep("      ")
        yield "    }"

    def sweep(self, indent: str) -> Iterator[str]:
        """Write the loop over the levels."""
        index, range_ = f"i{self.level - 1}", self.loop.range
        start, stop = self.names.bound(range_.start), self.names.bound(range_.stop)
        if not self.windows:
            yield indent + (
                f"for (s64 {index} = {stop} - 1; {index} >= {start}; --{index}) {{"
                if self.loop.backward
                else f"for (s64 {index} = {start}; {index} < {stop}; ++{index}) {{"
            )
            yield from self._body(indent)
            yield f"{indent}}}"
            return
        ahead = self.nest.ahead
        yield f"{indent}const s32 total = s32({stop} - {start});"
        yield f"{indent}s32 visited = 0;"
        for window in self.windows:
            size = window.span + ahead
            yield f"{indent}{window.type_} {window.name}[{size}];"
            yield from self._fill(window, window.name, str(window.low), size, indent)
        yield f"{indent}#pragma unroll 1"
        yield f"{indent}for (; visited + {ahead} <= total; visited += {ahead}) {{"
        inner = indent + "  "
        for window in self.windows:
            yield f"{inner}{window.type_} z{window.name}[{ahead}];"
            first = f"visited + {ahead + window.low + window.span}"
            yield from self._fill(window, f"z{window.name}", first, ahead, inner)
        yield f"{inner}#pragma unroll"
        yield f"{inner}for (s32 j = 0; j < {ahead}; ++j) {{"
        yield f"{inner}  const s64 {index} = {self._level('visited + j')};"
        self.in_window = True
        yield from self._body(inner)
        self.in_window = False
        yield f"{inner}}}"
        for window in self.windows:
            name, span = window.name, window.span
            if span:
                yield f"{inner}#pragma unroll"
                yield f"{inner}for (s32 j = 0; j < {span}; ++j) {name}[j] = {name}[j + {ahead}];"
            yield f"{inner}#pragma unroll"
            yield f"{inner}for (s32 j = 0; j < {ahead}; ++j) {name}[{span} + j] = z{name}[j];"
        yield f"{indent}}}"
        yield f"{indent}#pragma unroll 1"
        yield f"{indent}for (; visited < total; ++visited) {{"
        yield f"{indent}  const s64 {index} = {self._level('visited')};"
        yield from self._body(indent)
        yield f"{indent}}}"

    def _body(self, indent: str) -> Iterator[str]:
        yield from (f"{indent}  {line.lstrip()}" for line in self.at(self.level))

    def _level(self, number: str) -> str:
        """Return the level with that number."""
        range_ = self.loop.range
        if self.loop.backward:
            return f"{self.names.bound(range_.stop)} - 1 - ({number})"
        return f"{self.names.bound(range_.start)} + ({number})"

    def _fill(
        self, window: Window, array: str, first: str, count: int, indent: str
    ) -> Iterator[str]:
        """Load elements `first` on of a row, each if a step of the sweep loads it."""
        index = f"i{self.level - 1}"
        yield f"{indent}#pragma unroll"
        yield f"{indent}for (s32 j = 0; j < {count}; ++j) {{"
        yield f"{indent}  const s32 y = {first} + j;"
        tests = []
        for place, (offset, rows) in enumerate(sorted(window.offsets.items())):
            at = f"y - {offset}" if offset > 0 else f"y + {-offset}" if offset else "y"
            inside = f"u32({at}) < u32(total)"
            whens = list(dict.fromkeys(self.nest.body[row].when for row in rows))  # type: ignore[attr-defined]
            if None in whens:
                tests.append(inside)
                continue
            yield f"{indent}  bool c{place} = {inside};"
            yield f"{indent}  {{"
            yield f"{indent}    const s64 {index} = {self._level(at)};"
            needed = sorted({row for when in whens for row in condition(self.nest, when) or ()})
            for row in needed:
                line = self._line(row, self.nest.body[row], {}) if self._has_name(row) else ""
                yield f"{indent}    {line}"
            wanted = " || ".join(self._operand(when) for when in whens)
            yield f"{indent}    c{place} = c{place} && ({wanted});"
            yield f"{indent}  }}"
            tests.append(f"c{place}")
        yield f"{indent}  const s64 {index} = {self._level('y')};"
        value = self._place(window.load)
        yield f"{indent}  {array}[j] = {' || '.join(tests)} ? {value} : {window.type_}(0);"
        yield f"{indent}}}"

    def _has_name(self, row: Row) -> bool:
        return not isinstance(self.nest.body[row], NAMELESS)
