"""Write the loop of a scan over its levels: loads ahead of their use, arrays in shared memory.

The levels that a thread visits have numbers from 0 on, downwards or upwards. What it loads ahead
of its use lies in *windows* in registers, rings of twice as many elements of a row. A *round* is as
many steps as that; the loads for the next round begin when its first step has what it needs.

A round is written twice: once for the middle of the column, where every load is inside and
conditions on the level have their usual values, which the compiler then knows; and once with all
tests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

import attrs

from ....ir.loops.gpu import marks_of
from ....ir.loops.nest import Load, Nest, Row, Store
from ...rows.addresses import Access, Address, Element, InRow
from ...rows.body import (
    NAMELESS,
    Body,
    element,
    index,
    line,
    name,
    operand,
    pointers,
    states,
    value_of,
)
from ...rows.scope import Scope, stored_type
from ..passes.loading_ahead import condition, is_usually, usual_conditions
from .body import at, thread_body, within
from .grid import loop_text

Lines: TypeAlias = Iterator[str]


class Writer(Protocol):
    """Writes what some steps do."""

    def __call__(self, indent: str, *, is_middle: bool) -> Lines:
        """Write it for the middle of a column, or with all tests."""


@attrs.frozen
class Room:
    """Levels of a buffer in shared memory: `place` spells the place of a '{level}' or '{step}'."""

    array: str
    place: str


@attrs.frozen
class Window:
    """Loads of one row: their numbers by the offset along the way of the sweep.

    `element` is the one at the current level, `offsets` away from the column; a pointer can run
    along a row of memory. There is room for `size` elements, and the oldest of a round is at
    `begin`.
    """

    name: str
    type_: str
    buffer: str
    element: str
    is_row: bool
    offsets: tuple[int, ...]
    loads: Mapping[int, Sequence[Row]]
    size: int
    begin: int = 0

    @property
    def low(self) -> int:
        """The offset of the first element."""
        return min(self.loads)

    @property
    def span(self) -> int:
        """How many more levels than steps it has."""
        return max(self.loads) - self.low


@attrs.frozen
class Sweep:
    """A scan of a thread, `ahead` steps of which are a round.

    Attributes:
        nest: the scan.
        body: its rows.
        usual: the values of conditions in the middle of a column.
        rooms: where accesses find levels in shared memory.
        once: buffers that are not used again soon; caches need not keep them.
        ahead: steps of a round.
        windows: what is loaded ahead.
        unroll: how many levels the compiler joins where nothing is loaded ahead; 0 lets it choose.
        opening: what a round defines first.

    """

    nest: Nest
    body: Body
    usual: Mapping[Row, bool]
    rooms: Mapping[Row, Room]
    once: Collection[str]
    ahead: int
    windows: Sequence[Window] = ()
    unroll: int = 0
    opening: Sequence[str] = ()

    @property
    def index(self) -> str:
        """The name of the current level."""
        return f"i{len(self.nest.loops) - 1}"

    @property
    def span(self) -> int:
        """The span of the widest window."""
        return max(window.span for window in self.windows)

    def level(self, number: str) -> str:
        """Return the level with that number."""
        start, stop = self.body.scope.ends(self.nest.loops[-1].range)
        return (
            f"{stop} - 1 - ({number})" if self.nest.loops[-1].backward else f"{start} + ({number})"
        )


def sweep_of(
    scope: Scope,
    nest: Nest,
    rooms: Mapping[Row, Room],
    once: Collection[str] = (),
    *,
    tiles: bool = False,
    unroll: int = 0,
) -> Sweep:
    """Return a scan of a thread; it loads from `rooms` ahead if these are `tiles`."""
    body, marks = thread_body(scope, nest, rooms), marks_of(nest)
    stores = {}
    for number, row in enumerate(nest.body):
        if isinstance(row, Store) and row.buffer in once:
            type_ = stored_type(scope.by_name[row.buffer])
            place, value = element(body, row, body.addresses[number]), operand(body, row.value)
            stores[number] = f"ff::store_once(&{place}, {type_}({value}));"
    body = attrs.evolve(body, instead={**body.instead, **stores})
    sweep = Sweep(nest, body, usual_conditions(nest), rooms, once, marks.ahead, (), unroll)
    return (
        attrs.evolve(sweep, windows=tuple(_windows(sweep, tiles=tiles))) if marks.ahead else sweep
    )


def _windows(sweep: Sweep, *, tiles: bool) -> Iterator[Window]:
    """Yield the windows that are not wider than a round."""
    body, loop = sweep.body, sweep.nest.loops[-1]
    found: dict[object, Window] = {}
    for number in marks_of(sweep.nest).asked:
        load = body.rows[number]
        assert isinstance(load, Load)
        room, address = sweep.rooms.get(number), body.addresses.get(number)
        is_row = isinstance(address, InRow)
        if not is_row and not (room and tiles):
            continue
        axis = load.dims.index(loop.range.dim)
        offset = -load.offsets[axis] if loop.backward else load.offsets[axis]
        key = address if room is None else (room, load.buffer)
        if key not in found:
            offsets = tuple(o * (i != axis) for i, o in enumerate(load.offsets))
            here = attrs.evolve(load, offsets=offsets, when=None)
            place = in_room(body, here, room) if address is None else address
            found[key] = Window(
                f"q{len(found)}", stored_type(body.scope.by_name[load.buffer]), load.buffer,
                element(body, here, place), is_row and load.buffer not in body.scope.clamped,
                offsets, {}, 2 * sweep.ahead,
            )  # fmt: skip
        loads = found[key].loads
        found[key] = attrs.evolve(
            found[key], loads={**loads, offset: (*loads.get(offset, ()), number)}
        )
    yield from (window for window in found.values() if window.span <= sweep.ahead)


def in_room(body: Body, access: Access, room: Room, step: int = 0) -> Element:
    """Return the address of an access in shared memory."""
    axis = body.scope.by_name[access.buffer].dims.index(body.inner)
    return Element(room.array, room.place.format(level=index(body, access, axis), step=step))


def rooms_of(nest: Nest, rooms: Mapping[str, Room]) -> dict[Row, Room]:
    """Return the rooms of the accesses of a nest, from those of buffers."""
    return {
        number: rooms[row.buffer]
        for number, row in enumerate(nest.body)
        if isinstance(row, Load | Store) and row.buffer in rooms
    }


def body_at(sweep: Sweep, step: int, slot: int = 0, *, is_middle: bool = False) -> Body:
    """Return the rows of a step of a round, the first of which finds its oldest in `slot`."""
    body = sweep.body
    addresses: dict[Row, Address] = dict(body.addresses)
    for number, room in sweep.rooms.items():
        addresses[number] = in_room(body, body.rows[number], room, step)  # type: ignore[arg-type]
    for window in sweep.windows:
        for offset, loads in window.loads.items():
            place = window.begin + slot + step + offset - window.low
            at_ = Element(window.name, str(place % window.size))
            addresses.update(dict.fromkeys(loads, at_))
    return attrs.evolve(_known(sweep, is_middle=is_middle), addresses=addresses)


def _known(sweep: Sweep, *, is_middle: bool) -> Body:
    """Return the rows of a sweep, conditions in the middle with their usual values."""
    body = sweep.body
    known = {
        row: f"const b8 {name(body, row)} = {str(value).lower()};"
        for row, value in sweep.usual.items()
    }
    return attrs.evolve(body, instead={**body.instead, **known}) if is_middle else body


# --- text -----------------------------------------------------------------------------------------


def scoped(sweep: Sweep, levels: Lines) -> Lines:
    """Write a scan of several in one kernel, in a scope of its own."""
    yield "    {"
    yield from outside(sweep, "    ")
    yield from (f"      {line_}" for line_ in (*pointers(sweep.body), *states(sweep.body)))
    yield from levels
    yield "    }"


def outside(sweep: Sweep, indent: str) -> Lines:
    """Write the rows of a scan outside of its loop."""
    for level in range(sweep.body.depth):
        yield from at(sweep.body, level, f"{indent}{'  ' * (level + 2)}")


def write_sweep(sweep: Sweep, indent: str) -> Lines:
    """Write the loop over the levels."""
    loop = sweep.nest.loops[-1]
    start, stop = sweep.body.scope.ends(loop.range)
    if sweep.windows:
        yield f"{indent}const s32 total = s32({stop} - {start});"
        yield f"{indent}s32 first = 0;"
        yield from windows(sweep, indent)
        yield from rounds(sweep, "total", indent)
        return
    if sweep.unroll:
        yield f"{indent}#pragma unroll {sweep.unroll}"
    yield indent + loop_text(sweep.index, start, stop, backward=loop.backward)
    yield from within(body_at(sweep, 0), sweep.body.depth, f"{indent}  ")
    yield f"{indent}}}"


def windows(sweep: Sweep, indent: str) -> Lines:
    """Define the windows, with what the first round needs."""
    yield from (f"{indent}{each.type_} {each.name}[{each.size}];" for each in sweep.windows)
    for each in sweep.windows:
        yield from fill(sweep, each, str(each.low), 0, sweep.ahead + each.span, indent)


def rounds(sweep: Sweep, limit: str, indent: str) -> Lines:
    """Write the loop over two rounds each, from step `first` to a limit or the last step."""
    ahead, inner = sweep.ahead, indent + "  "
    yield f"{indent}#pragma unroll 1"
    yield f"{indent}for (; first < {limit}; first += {ahead}) {{"
    yield from _round(sweep, 0, inner)
    yield f"{inner}first += {ahead};"
    yield f"{inner}if (first >= total) break;"
    yield from _round(sweep, ahead, inner)
    yield f"{indent}}}"


def _round(sweep: Sweep, slot: int, indent: str) -> Lines:
    """Write `ahead` steps, of which the first finds its oldest elements in `slot`."""

    def steps(inner: str, *, is_middle: bool) -> Lines:
        return _steps(sweep, slot, inner, is_middle=is_middle)

    yield f"{indent}{{"
    yield from (f"{indent}  {each}" for each in sweep.opening)
    yield from twice(sweep, ("middle", "first", 2 * sweep.ahead), steps, f"{indent}  ")
    yield f"{indent}}}"


def twice(sweep: Sweep, test: tuple[str, str, int], write: Writer, indent: str) -> Lines:
    """Write what some steps do for the middle of a column, and with all tests.

    A test is the name of the flag, the number of the first step, and how many steps there are.
    """
    flag, first, steps = test
    reach = steps + sweep.span
    yield f"{indent}bool {flag} = {first} + {reach} <= total;"
    for place in (first, f"{first} + {reach - 1}") if sweep.usual else ():
        yield f"{indent}if ({flag}) {{"
        yield f"{indent}  const s64 {sweep.index} = {sweep.level(place)};"
        for row, value in sweep.usual.items():
            sign = "" if value else "!"
            yield f"{indent}  {flag} = {flag} && {sign}{value_of(sweep.body, row)};"
        yield f"{indent}}}"
    yield f"{indent}if ({flag}) {{"
    yield from write(f"{indent}  ", is_middle=True)
    yield f"{indent}}} else {{"
    yield from write(f"{indent}  ", is_middle=False)
    yield f"{indent}}}"


def _steps(sweep: Sweep, slot: int, indent: str, *, is_middle: bool) -> Lines:
    """Write the steps of a round: the loads for the next follow what frees their places."""
    ahead = sweep.ahead
    for step in range(ahead):
        yield from write_step(sweep, step, slot, indent, is_middle=is_middle)
        for window in sweep.windows:
            span = window.span
            if step == 0:  # from an element of the next round on, so many
                later, count = ahead + span, ahead - span + min(span, 1)
            elif step < span:
                later, count = 2 * ahead + step, 1
            else:
                continue
            first, to = f"first + {later + window.low}", slot + later
            yield from fill(sweep, window, first, to, count, indent, is_middle=is_middle)


def write_step(sweep: Sweep, step: int, slot: int, indent: str, *, is_middle: bool) -> Lines:
    """Write a step of a round."""
    test = "" if is_middle else f"if (first + {step} < total) "
    yield f"{indent}{test}{{"
    yield f"{indent}  const s64 {sweep.index} = {sweep.level(f'first + {step}')};"
    body = body_at(sweep, step, slot, is_middle=is_middle)
    yield from within(body, body.depth, f"{indent}  ")
    yield f"{indent}}}"


# --- elements of windows --------------------------------------------------------------------------


def fill(
    sweep: Sweep,
    window: Window,
    first: str,
    slot: int,
    count: int,
    indent: str,
    *,
    is_middle: bool = False,
) -> Lines:
    """Load `count` elements of a row from `first` on, each if a step of the sweep loads it."""
    value = window.element
    if window.is_row:
        value = "ff::load_once(from)" if window.buffer in sweep.once else "*from"

    def move(test: str) -> str:
        loaded = f"{test} ? {value} : {window.type_}(0)" if test else value
        return f"{window.name}[(j + {slot}) % {window.size}] = {loaded};"

    yield from moved(sweep, window, (first, count), move, indent, is_middle=is_middle)


def moved(
    sweep: Sweep,
    window: Window,
    elements: tuple[str, int],
    move: Callable[[str], str],
    indent: str,
    *,
    is_middle: bool,
) -> Lines:
    """Write the moves of some elements of a row from memory, each by the test that it is wanted."""
    first, count = elements
    inner, stride = f"{indent}    ", ""
    yield f"{indent}{{"
    if window.is_row:
        buffer, loop = sweep.body.scope.by_name[window.buffer], sweep.nest.loops[-1]
        stride = sweep.body.scope.stride(buffer, buffer.dims.index(loop.range.dim))
        yield f"{indent}  const s64 {sweep.index} = {sweep.level(first)};"
        yield f"{indent}  const {window.type_}* from = &{window.element};"
    yield f"{indent}  #pragma unroll"
    yield f"{indent}  for (s32 j = 0; j < {count}; ++j) {{"
    lines, test = wanted(sweep, window, f"{first} + j", is_middle=is_middle)
    yield from (inner + each for each in lines)
    if not window.is_row:
        yield f"{inner}const s64 {sweep.index} = {sweep.level(f'{first} + j')};"
    yield f"{inner}{move(test)}"
    if stride:
        yield f"{inner}from {'-' if sweep.nest.loops[-1].backward else '+'}= {stride};"
    yield f"{indent}  }}"
    yield f"{indent}}}"


def wanted(sweep: Sweep, window: Window, number: str, *, is_middle: bool) -> tuple[list[str], str]:
    """Return the test that some step of the sweep loads an element, and lines that it needs.

    The test is empty where some step in the middle of a column loads each.
    """
    body, nest = _known(sweep, is_middle=is_middle), sweep.nest
    whens_of = {
        offset: list(dict.fromkeys(body.rows[row].when for row in rows))  # type: ignore[attr-defined]
        for offset, rows in sorted(window.loads.items())
    }
    every = [when for whens in whens_of.values() for when in whens]
    if is_middle and any(w is None or is_usually(nest, sweep.usual, w) for w in every):
        return [], ""
    lines, tests = [f"const s32 y = {number};"], []
    for place, (offset, whens) in enumerate(whens_of.items()):
        at_ = f"y - {offset}" if offset > 0 else f"y + {-offset}" if offset else "y"
        tests.append(f"u32({at_}) < u32(total)")
        if None in whens:
            continue
        lines += [f"bool c{place} = {tests.pop()};", "{"]
        lines.append(f"  const s64 {sweep.index} = {sweep.level(at_)};")
        needed = sorted({row for when in whens for row in condition(nest, when) or ()})
        lines += [f"  {line(body, r)}" for r in needed if not isinstance(body.rows[r], NAMELESS)]
        any_ = " || ".join(operand(body, when) for when in whens)
        lines += [f"  c{place} = c{place} && ({any_});", "}"]
        tests.append(f"c{place}")
    return lines, " || ".join(tests)
