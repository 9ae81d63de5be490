"""A scan of a thread as data: rows, levels in shared memory, and windows of what is loaded ahead.

What a thread loads ahead of its use lies in *windows* in registers, rings of elements of a row. In
the middle of a column every load is inside, and conditions on the level have their usual values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from .....runtime.process import classes
from ....ir.loops import Access, Load, Nest, Row, Store
from ....ir.loops.gpu import marks_of
from ....vendors.dialect import ONCE
from ...rows import (
    NAMELESS,
    Address,
    Body,
    Element,
    InRow,
    Scope,
    element,
    index,
    line,
    name,
    operand,
    plus,
    stored_type,
)
from ..passes.loading_ahead import condition, is_usually, usual_conditions
from .lines import braced, thread_body


@classes.frozen
class SharedLevels:
    """Levels of a buffer in shared memory: `place` spells the place of a '{level}' or '{step}'."""

    array: str
    place: str


@classes.frozen
class Window:
    """Loads of one row: their numbers by the offset along the way of the scan.

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


@classes.frozen
class ThreadScan:
    """A scan of a thread, `ahead` steps of which are a round.

    Attributes:
        nest: the scan.
        body: its rows.
        usual: the values of conditions in the middle of a column.
        shared: where accesses find levels in shared memory.
        once: buffers that are not used again soon; caches need not keep them.
        ahead: steps of a round.
        windows: what is loaded ahead.
        unroll: how many levels the compiler joins where nothing is loaded ahead; 0 lets it choose.
        opening: what a round defines first.
        is_middle: whether the steps are in the middle of a column, see `in_middle`.

    """

    nest: Nest
    body: Body
    usual: Mapping[Row, bool]
    shared: Mapping[Row, SharedLevels]
    once: Collection[str]
    ahead: int
    unroll: int = 0
    windows: tuple[Window, ...] = ()
    opening: tuple[str, ...] = ()
    is_middle: bool = False

    @property
    def span(self) -> int:
        """The span of the widest window."""
        return max(window.span for window in self.windows)

    def at(self, number: str) -> str:
        """Define the level with that number as the current one."""
        loop, bound = self.nest.loops[-1], self.body.scope.bound
        level = (
            f"{bound(loop.range.stop)} - 1 - ({number})"
            if loop.backward
            else f"{bound(loop.range.start)} + ({number})"
        )
        return f"const s64 i{self.body.depth - 1} = {level};"


def scan_of(
    scope: Scope,
    nest: Nest,
    shared: Mapping[Row, SharedLevels],
    once: Collection[str] = (),
    *,
    tiles: bool = False,
    unroll: int = 0,
) -> ThreadScan:
    """Return a scan of a thread; it loads from `shared` ahead if these are `tiles`."""
    body, ahead = thread_body(scope, nest, shared), marks_of(nest).ahead
    stores = {}
    for number, row in enumerate(nest.body):
        if isinstance(row, Store) and row.buffer in once:
            type_ = stored_type(scope.by_name[row.buffer])
            place, value = element(body, row, body.addresses[number]), operand(body, row.value)
            scope.ask(ONCE)
            stores[number] = f"ff::store_once(&{place}, {type_}({value}));"
    body = classes.evolve(body, instead={**body.instead, **stores})
    scan = ThreadScan(nest, body, usual_conditions(nest), shared, once, ahead, unroll)
    return classes.evolve(scan, windows=tuple(_windows(scan, tiles=tiles)) if ahead else ())


def _windows(scan: ThreadScan, *, tiles: bool) -> Iterator[Window]:
    """Yield the windows that are not wider than a round."""
    body, loop = scan.body, scan.nest.loops[-1]
    found: dict[object, Window] = {}
    for number in marks_of(scan.nest).asked:
        load, levels = body.rows[number], scan.shared.get(number)
        assert isinstance(load, Load)
        if not (tiles if levels else isinstance(body.addresses[number], InRow)):
            continue
        axis = load.dims.index(loop.range.dim)
        offset = -load.offsets[axis] if loop.backward else load.offsets[axis]
        key = (levels, load.buffer) if levels else body.addresses[number]
        if key not in found:
            offsets = tuple(o * (i != axis) for i, o in enumerate(load.offsets))
            here = classes.evolve(load, offsets=offsets, when=None)
            place = in_shared(body, here, levels) if levels else body.addresses[number]
            found[key] = Window(
                f"q{len(found)}", stored_type(body.scope.by_name[load.buffer]), load.buffer,
                element(body, here, place), not levels and load.buffer not in body.scope.clamped,
                offsets, {}, 2 * scan.ahead,
            )  # fmt: skip
        loads = dict(found[key].loads)
        loads[offset] = (*loads.get(offset, ()), number)
        found[key] = classes.evolve(found[key], loads=loads)
    yield from (window for window in found.values() if window.span <= scan.ahead)


def shared_levels(nest: Nest, arrays: Mapping[str, str], place: str) -> dict[Row, SharedLevels]:
    """Return where a nest finds levels: in the array of each buffer, at a place spelled so."""
    return {
        number: SharedLevels(arrays[row.buffer], place)
        for number, row in enumerate(nest.body)
        if isinstance(row, Load | Store) and row.buffer in arrays
    }


def in_shared(body: Body, access: Access, levels: SharedLevels, step: int = 0) -> Element:
    """Return the address of an access in shared memory."""
    axis = body.scope.by_name[access.buffer].dims.index(body.inner)
    return Element(levels.array, levels.place.format(level=index(body, access, axis), step=step))


def in_middle(scan: ThreadScan) -> ThreadScan:
    """Return a scan for steps in the middle of a column, where the text knows conditions."""
    known = {
        row: f"const b8 {name(scan.body, row)} = {str(value).lower()};"
        for row, value in scan.usual.items()
    }
    body = classes.evolve(scan.body, instead={**scan.body.instead, **known})
    return classes.evolve(scan, body=body, is_middle=True)


def body_at(scan: ThreadScan, step: int = 0, slot: int = 0) -> Body:
    """Return the rows of a step of a round, the first of which finds its oldest in `slot`."""
    body = scan.body
    addresses: dict[Row, Address] = dict(body.addresses)
    for number, levels in scan.shared.items():
        access = body.rows[number]
        assert isinstance(access, Load | Store)
        addresses[number] = in_shared(body, access, levels, step)
    for window in scan.windows:
        for offset, loads in window.loads.items():
            place = window.begin + slot + step + offset - window.low
            own = Element(window.name, str(place % window.size))
            addresses.update(dict.fromkeys(loads, own))
    return classes.evolve(body, addresses=addresses)


# --- elements -------------------------------------------------------------------------------------


def fill(scan: ThreadScan, window: Window, first: str, slot: int, count: int) -> Iterator[str]:
    """Load `count` elements of a row from `first` on, each if a step of the scan loads it."""
    value = window.element
    if window.is_row:
        value = "*from"
        if window.buffer in scan.once:
            scan.body.scope.ask(ONCE)
            value = "ff::load_once(from)"

    def move(test: str) -> str:
        loaded = f"{test} ? {value} : {window.type_}(0)" if test else value
        return f"{window.name}[(j + {slot}) % {window.size}] = {loaded};"

    return moves(scan, window, first, count, move)


def moves(
    scan: ThreadScan, window: Window, first: str, count: int, move: Callable[[str], str]
) -> Iterator[str]:
    """Write the moves of some elements of a row from memory, each by the test that it is wanted."""
    loop, buffer = scan.nest.loops[-1], scan.body.scope.by_name[window.buffer]
    lines, test = wanted(scan, window, f"{first} + j")
    around: tuple[str, ...] = ()
    if window.is_row:
        stride = scan.body.scope.stride(buffer, buffer.dims.index(loop.range.dim))
        around = (scan.at(first), f"const {window.type_}* from = &{window.element};")
        lines += [move(test), f"from {'-' if loop.backward else '+'}= {stride};"]
    else:
        lines += [scan.at(f"{first} + j"), move(test)]
    yield from braced("", around, each_of(count, lines))


def each_of(count: int, lines: Iterable[str]) -> Iterator[str]:
    """Write a loop over elements `j`, which the compiler joins."""
    yield from ("#pragma unroll", *braced(f"for (s32 j = 0; j < {count}; ++j)", lines))


def wanted(scan: ThreadScan, window: Window, number: str) -> tuple[list[str], str]:
    """Return lines, and the test after them that some step of the scan loads an element.

    The test is empty where some step in the middle of a column loads each.
    """
    body, nest = scan.body, scan.nest
    whens_of: dict[int, dict[Row | None, None]] = {}
    for offset, rows in sorted(window.loads.items()):
        loads = (body.rows[row] for row in rows)
        whens_of[offset] = {load.when: None for load in loads if isinstance(load, Load)}
    every = [when for whens in whens_of.values() for when in whens]
    if scan.is_middle and any(w is None or is_usually(nest, scan.usual, w) for w in every):
        return [], ""
    lines, tests = [f"const s32 y = {number};"], []
    for place, (offset, whens) in enumerate(whens_of.items()):
        at = plus("y", -offset)
        tests.append(f"u32({at}) < u32(total)")
        rows = [when for when in whens if when is not None]
        if len(rows) < len(whens):
            continue
        needed = sorted({row for when in rows for row in condition(nest, when) or ()})
        named = [line(body, r) for r in needed if not isinstance(body.rows[r], NAMELESS)]
        test = f"c{place} = c{place} && ({' || '.join(operand(body, when) for when in rows)});"
        lines.append(f"bool c{place} = {tests.pop()};")
        lines += braced("", [scan.at(at), *named, test])
        tests.append(f"c{place}")
    return lines, " || ".join(tests)
