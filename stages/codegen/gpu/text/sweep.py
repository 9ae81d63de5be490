"""Write the loop of a scan over its levels: loads ahead of their use, arrays in shared memory.

The levels that a thread visits have numbers from 0 on, downwards or upwards. What it loads ahead
of its use lies in *windows* in registers, rings of twice as many elements of a row. A *round* is as
many steps as that; the loads for the next round begin when its first step has what it needs.

A round is written twice: once for the middle of the column, where every load is inside and
conditions on the level have their usual values, which the compiler then knows; and once with all
tests.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator, Mapping

import attrs

from ....ir.nests import Instruction, Load, Nest, Row, Store
from ...rows.body import NAMELESS
from ...rows.names import Names, stored_type
from ..passes.loading_ahead import condition, is_usually, usual_conditions
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
    """The instructions of a scan, with windows and arrays in shared memory.

    What it touches of the buffers `once` is not used again soon; the caches need not keep it.
    Without windows the compiler joins `unroll` levels, if that is not 0.
    """

    unroll = 0

    def __init__(
        self,
        names: Names,
        nest: Nest,
        shared: Mapping[str, Shared],
        once: Container[str] = (),
    ) -> None:
        self.shared, self.once = shared, once
        super().__init__(names, nest)
        self.level = len(nest.loops)
        self.loop = nest.loops[-1]
        self.windows: list[Window] = []
        self.placed: dict[Row, tuple[Window, int]] = {}
        self.in_window = False
        self.in_middle = False
        self.slot = self.slot_now = 0  # of the oldest elements of a round, and of a step
        self.expected = usual_conditions(nest)
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
        self.windows = [each for each in found.values() if each.span <= self.nest.ahead]
        self.placed = {row: place for row, place in self.placed.items() if place[0] in self.windows}

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
        if self.in_middle and self.current in self.expected:
            return str(self.expected[self.current]).lower()
        if self.in_window and isinstance(row, Load):
            number = self.current
            if number in self.placed:
                window, offset = self.placed[number]
                value = f"{window.name}[{self._slot(window, offset - window.low)}]"
                if row.when is not None:
                    value = f"({self._operand(row.when)} ? {value} : {window.type_}(0))"
                return f"{value}{' != 0' if row.dtype == 'bool' else ''}"
        return super()._value(row)

    def _line(self, number: Row, row: Instruction, kept: Mapping[str, str]) -> str:
        self.current = number
        if isinstance(row, Store) and row.buffer in self.once:
            type_ = stored_type(self.names.by_name[row.buffer])
            value = f"{type_}({self._operand(row.value)})"
            return f"ff::store_once(&{self._place(row)}, {value});"
        return super()._line(number, row, kept)

    def _size(self, window: Window) -> int:
        """Return how many elements a window has."""
        return 2 * self.nest.ahead

    def _slot(self, window: Window, age: int) -> int:
        """Return where a step finds an element, so many after its oldest."""
        return (self.slot_now + age) % self._size(window)

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
            if self.unroll:
                yield f"{indent}#pragma unroll {self.unroll}"
            yield indent + (
                f"for (s64 {index} = {stop} - 1; {index} >= {start}; --{index}) {{"
                if self.loop.backward
                else f"for (s64 {index} = {start}; {index} < {stop}; ++{index}) {{"
            )
            yield from self._body(indent)
            yield f"{indent}}}"
            return
        yield f"{indent}const s32 total = s32({stop} - {start});"
        yield f"{indent}s32 first = 0;"
        yield from self.rings(indent)
        yield from self.first_elements(indent)
        yield from self.rounds("total", indent)

    def rings(self, indent: str) -> Iterator[str]:
        """Define the windows."""
        for window in self.windows:
            yield f"{indent}{window.type_} {window.name}[{self._size(window)}];"

    def first_elements(self, indent: str) -> Iterator[str]:
        """Load what the first round needs."""
        for window in self.windows:
            count = self.nest.ahead + window.span
            yield from self._fill(window, str(window.low), 0, count, indent)

    def rounds(self, limit: str, indent: str) -> Iterator[str]:
        """Write the loop over two rounds each, from step `first` to a limit or the last step."""
        ahead, inner = self.nest.ahead, indent + "  "
        yield f"{indent}#pragma unroll 1"
        yield f"{indent}for (; first < {limit}; first += {ahead}) {{"
        yield from self._round(0, inner)
        yield f"{inner}first += {ahead};"
        yield f"{inner}if (first >= total) break;"
        yield from self._round(ahead, inner)
        yield f"{indent}}}"

    def _round(self, slot: int, indent: str) -> Iterator[str]:
        """Write `ahead` steps, of which the first finds its oldest elements in `slot`."""
        self.slot = slot
        yield f"{indent}{{"
        yield from self._is_middle(indent + "  ")
        for is_middle, opening in ((True, "if (middle) {"), (False, "} else {")):
            self.in_middle = is_middle
            yield f"{indent}  {opening}"
            yield from self._steps(f"{indent}    ")
        self.in_middle = False
        yield f"{indent}  }}"
        yield f"{indent}}}"

    def _is_middle(self, indent: str) -> Iterator[str]:
        """Define whether the steps of a round and its loads for the next stay in the middle."""
        index = f"i{self.level - 1}"
        steps = 2 * self.nest.ahead + max(window.span for window in self.windows)
        yield f"{indent}bool middle = first + {steps} <= total;"
        for place in ("first", f"first + {steps - 1}") if self.expected else ():
            yield f"{indent}if (middle) {{"
            yield f"{indent}  const s64 {index} = {self._level(place)};"
            for row, value in self.expected.items():
                test = self._test(row)
                yield f"{indent}  middle = middle && {'' if value else '!'}{test};"
            yield f"{indent}}}"

    def _steps(self, indent: str) -> Iterator[str]:
        """Write the steps of a round: the loads for the next follow what frees their places."""
        for j in range(self.nest.ahead):
            yield from self._step(j, indent)
            if j == 0:
                for window in self.windows:
                    early = self.nest.ahead - window.span + min(window.span, 1)
                    yield from self._next(window, window.span, early, indent)
            for window in self.windows:
                if 0 < j < window.span:
                    yield from self._next(window, self.nest.ahead + j, 1, indent)

    def _step(self, j: int, indent: str) -> Iterator[str]:
        is_inside = "" if self.in_middle else f"if (first + {j} < total) "
        yield f"{indent}{is_inside}{{"
        yield f"{indent}  const s64 i{self.level - 1} = {self._level(f'first + {j}')};"
        self.in_window, self.slot_now = True, self.slot + j
        yield from self._body(indent)
        self.in_window = False
        yield f"{indent}}}"

    def _next(self, window: Window, number: int, count: int, indent: str) -> Iterator[str]:
        """Load `count` elements for the next round, from `number` after its oldest on."""
        later = self.nest.ahead + number
        yield from self._fill(
            window, f"first + {later + window.low}", self.slot + later, count, indent
        )

    def _test(self, row: Row) -> str:
        self.current = row
        return self._value(self.nest.body[row])

    def _is_row(self, window: Window) -> bool:
        """Tell whether a pointer can run along a row."""
        is_row = self._key(window.load) is not None
        return is_row and window.load.buffer not in self.names.clamped

    def _is_sure(self, window: Window) -> bool:
        """Tell whether some step in the middle of a column loads each element."""
        whens = [self.nest.body[row].when for rows in window.offsets.values() for row in rows]  # type: ignore[attr-defined]
        return any(when is None or is_usually(self.nest, self.expected, when) for when in whens)

    def _stride(self, window: Window) -> str:
        buffer = self.names.by_name[window.load.buffer]
        stride = self.names.term(buffer, buffer.dims.index(self.loop.range.dim), "1")
        return f"{'-' if self.loop.backward else '+'}= {stride.removeprefix('1 * ')}"

    def _body(self, indent: str) -> Iterator[str]:
        yield from (f"{indent}  {line.lstrip()}" for line in self.at(self.level) if line.strip())

    def _level(self, number: str) -> str:
        """Return the level with that number."""
        range_ = self.loop.range
        if self.loop.backward:
            return f"{self.names.bound(range_.stop)} - 1 - ({number})"
        return f"{self.names.bound(range_.start)} + ({number})"

    def _fill(
        self, window: Window, first: str, slot: int, count: int, indent: str
    ) -> Iterator[str]:
        """Load `count` elements of a row from `first` on, each if a step of the sweep loads it."""
        size, index = self._size(window), f"i{self.level - 1}"
        value = self._place(window.load)
        yield f"{indent}{{"
        if self._is_row(window):
            yield f"{indent}  const s64 {index} = {self._level(first)};"
            yield f"{indent}  const {window.type_}* from = &{value};"
            value = "ff::load_once(from)" if window.load.buffer in self.once else "*from"
        yield f"{indent}  #pragma unroll"
        yield f"{indent}  for (s32 j = 0; j < {count}; ++j) {{"
        test = "true"
        if not (self.in_middle and self._is_sure(window)):
            yield f"{indent}    const s32 y = {first} + j;"
            test = yield from self._is_wanted(window, f"{indent}    ")
        if not self._is_row(window):
            yield f"{indent}    const s64 {index} = {self._level(f'{first} + j')};"
        to = f"{window.name}[(j + {slot}) % {size}]"
        value = value if test == "true" else f"{test} ? {value} : {window.type_}(0)"
        yield f"{indent}    {to} = {value};"
        if self._is_row(window):
            yield f"{indent}    from {self._stride(window)};"
        yield f"{indent}  }}"
        yield f"{indent}}}"

    def _is_wanted(self, window: Window, indent: str) -> Generator[str, None, str]:
        """Write and return the test that some step of the sweep loads element `y` of a row."""
        tests = []
        for place, (offset, rows) in enumerate(sorted(window.offsets.items())):
            at = f"y - {offset}" if offset > 0 else f"y + {-offset}" if offset else "y"
            inside = f"u32({at}) < u32(total)"
            whens = list(dict.fromkeys(self.nest.body[row].when for row in rows))  # type: ignore[attr-defined]
            if None in whens:
                tests.append(inside)
                continue
            yield f"{indent}bool c{place} = {inside};"
            yield f"{indent}{{"
            yield f"{indent}  const s64 i{self.level - 1} = {self._level(at)};"
            needed = sorted({row for when in whens for row in condition(self.nest, when) or ()})
            for row in needed:
                if self._has_name(row):
                    yield f"{indent}  {self._line(row, self.nest.body[row], {})}"
            wanted = " || ".join(self._operand(when) for when in whens)
            yield f"{indent}  c{place} = c{place} && ({wanted});"
            yield f"{indent}}}"
            tests.append(f"c{place}")
        return " || ".join(tests)

    def _has_name(self, row: Row) -> bool:
        return not isinstance(self.nest.body[row], NAMELESS)
