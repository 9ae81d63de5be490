"""Write the first of several scans where its loads land in shared memory by asynchronous copies.

A round is some levels. While its steps run, copies for the rounds after it are on their way; at its
start, what has landed goes to registers. Loads that have no room to land come in registers, those
of two rounds at once, and wait in a second window. As elsewhere, a round is written twice: for the
middle of the column, and with all tests.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterator, Mapping

import attrs

from ....ir.nest_groups import Landed, Together
from ....ir.nests import Nest
from ...rows.names import Names
from .sweep import Shared, SweepBody, Window

Writer = Callable[[str], Iterator[str]]


class LandingBody(SweepBody):
    """The instructions of a scan whose loads land in the arrays `landing` of shared memory."""

    def __init__(
        self,
        names: Names,
        nest: Nest,
        shared: Mapping[str, Shared],
        once: Container[str],
        landing: Mapping[Landed, str],
        scans: Together,
    ) -> None:
        super().__init__(names, attrs.evolve(nest, ahead=scans.ahead), shared, once)
        self.landing, self.scans = landing, scans
        places = {(each.buffer, each.offsets): each for each in landing}
        self.landed = {
            window.name: places[window.load.buffer, window.load.offsets]
            for window in self.windows
            if (window.load.buffer, window.load.offsets) in places
        }
        self.apart = [window for window in self.windows if window.name not in self.landed]
        self.span = max(window.span for window in self.windows)
        self.steps = scans.ahead * (2 if self.apart else 1)  # of an iteration
        self.part = 0  # of its rounds

    def _size(self, window: Window) -> int:
        if window.name.startswith("n"):
            return self.steps
        return window.span + (self.scans.ahead if window.name in self.landed else self.steps)

    def _slot(self, window: Window, age: int) -> int:
        return self.slot_now + age + (0 if window.name in self.landed else self.part)

    def sweep(self, indent: str) -> Iterator[str]:
        """Write the loop over the levels."""
        range_, ahead = self.loop.range, self.scans.ahead
        later, inner = ahead * self.scans.rounds, indent + "  "
        start, stop = self.names.bound(range_.start), self.names.bound(range_.stop)
        yield f"{indent}const s32 total = s32({stop} - {start});"
        yield from self.rings(indent)
        for window in self.windows:
            size = self._size(window) - window.span
            yield from self._fill(window, str(window.low), size, window.span, indent)
        waiting = [attrs.evolve(each, name=f"n{each.name}") for each in self.apart]
        yield from (f"{indent}{each.type_} {each.name}[{self.steps}];" for each in waiting)
        yield f"{indent}#pragma unroll 1"
        yield f"{indent}for (s32 begin = -{later}; begin < total; begin += {self.steps}) {{"
        if waiting:
            yield from self._come(waiting, inner)
        for part in range(0, self.steps, ahead):
            self.part = part
            yield f"{inner}{{"
            yield f"{inner}  const s32 first = begin + {part}, later = first + {later};"
            yield f"{inner}  if (later < total) {{"
            yield from self._twice("later", ahead, self._copies, f"{inner}    ")
            yield f"{inner}  }}"
            yield f"{inner}  ff::async_commit();"
            yield f"{inner}  if (first >= 0) {{"
            yield f"{inner}    ff::async_wait<{self.scans.rounds}>();"
            yield from self._twice("first", ahead, self._visits, f"{inner}    ")
            yield f"{inner}  }}"
            yield f"{inner}}}"
        yield f"{indent}}}"

    def _twice(self, number: str, steps: int, write: Writer, indent: str) -> Iterator[str]:
        """Write what some steps do for the middle of a column, and with all tests."""
        index, reach = f"i{self.level - 1}", steps + self.span
        yield f"{indent}bool inside = {number} + {reach} <= total;"
        for place in (number, f"{number} + {reach - 1}") if self.expected else ():
            yield f"{indent}if (inside) {{"
            yield f"{indent}  const s64 {index} = {self._level(place)};"
            for row, value in self.expected.items():
                yield f"{indent}  inside = inside && {'' if value else '!'}{self._test(row)};"
            yield f"{indent}}}"
        yield f"{indent}if (inside) {{"
        for is_middle, closing in ((True, "} else {"), (False, "}")):
            self.in_middle = is_middle
            yield from write(f"{indent}  ")
            yield f"{indent}{closing}"
        self.in_middle = False

    def _come(self, waiting: list[Window], indent: str) -> Iterator[str]:
        """Write the loads of the next iteration; those of this one have come."""
        for window in self.apart:
            for old in range(window.span):
                yield f"{indent}{window.name}[{old}] = {window.name}[{self.steps + old}];"
            yield f"{indent}#pragma unroll"
            yield f"{indent}for (s32 j = 0; j < {self.steps}; ++j) {{"
            yield f"{indent}  if (begin >= 0) {window.name}[{window.span} + j] = n{window.name}[j];"
            yield f"{indent}}}"

        def loads(inner: str) -> Iterator[str]:
            for window in waiting:
                element = f"next + {window.low + window.span}"
                yield from self._fill(window, element, 0, self.steps, inner)

        yield f"{indent}const s32 next = begin + {self.steps};"
        yield f"{indent}if (next >= 0 && next < total) {{"
        yield from self._twice("next", self.steps, loads, f"{indent}  ")
        yield f"{indent}}}"

    def _array(self, window: Window, number: str) -> tuple[str, str]:
        """Return array and place of the newest element for a step, `j` steps after the first."""
        landed, threads = self.landed[window.name], self.scans.threads
        own = self.scans.ahead * (self.scans.rounds + 1)
        place = number if landed.room else f"s32(u32({number}) % {own})"
        return self.landing[landed], f"({place} + j) * {threads} + threadIdx.x"

    def _landing(self) -> Iterator[Window]:
        return (window for window in self.windows if window.name in self.landed)

    def _copies(self, indent: str) -> Iterator[str]:
        """Write the copies of the newest elements of a round, each if a step wants it."""
        for window in self._landing():
            newest = window.low + window.span
            element = f"later + {newest}" if newest else "later"
            array, place = self._array(window, "later")
            value, index = self._place(window.load), f"i{self.level - 1}"
            is_row = self._is_row(window)
            yield f"{indent}{{"
            if is_row:
                yield f"{indent}  const s64 {index} = {self._level(element)};"
                yield f"{indent}  const {window.type_}* from = &{value};"
            yield f"{indent}  #pragma unroll"
            yield f"{indent}  for (s32 j = 0; j < {self.scans.ahead}; ++j) {{"
            test = yield from self._wanted(window, f"{element} + j", f"{indent}    ")
            if not is_row:
                yield f"{indent}    const s64 {index} = {self._level(f'{element} + j')};"
            copy = f"ff::async_copy<1>({array}, {place}, {'from' if is_row else f'&{value}'});"
            yield f"{indent}    {f'if ({test}) ' if test else ''}{copy}"
            if is_row:
                yield f"{indent}    from {self._stride(window)};"
            yield f"{indent}  }}"
            yield f"{indent}}}"

    def _wanted(self, window: Window, element: str, indent: str) -> Generator[str, None, str]:
        """Write and return the test that a step wants an element; nothing where all are wanted."""
        if self.in_middle and self._is_sure(window):
            return ""
        yield f"{indent}const s32 y = {element};"
        return (yield from self._is_wanted(window, indent))

    def _visits(self, indent: str) -> Iterator[str]:
        """Write the steps of a round."""
        for window in self._landing():
            newest = window.low + window.span
            array, place = self._array(window, "first")
            for old in range(window.span):
                yield f"{indent}{window.name}[{old}] = {window.name}[{self.scans.ahead + old}];"
            yield f"{indent}#pragma unroll"
            yield f"{indent}for (s32 j = 0; j < {self.scans.ahead}; ++j) {{"
            value = f"{array}[{place}]"
            test = yield from self._wanted(window, f"first + j + {newest}", f"{indent}  ")
            if test:
                value = f"{test} ? {window.type_}({value}) : {window.type_}(0)"
            yield f"{indent}  {window.name}[{window.span} + j] = {value};"
            yield f"{indent}}}"
        self.slot = 0
        for j in range(self.scans.ahead):
            yield from self._step(j, indent)
