"""Slide values along a row: what later strips use again moves on in registers.

A stencil may use one value at several points of the row that the innermost loop walks: the sum of a
plane at i - 1, i and i + 1. Each strip computes such a value once, at the point furthest ahead, and
takes the other points from the register of the strip before and its own. The bits are those of
computing it again, because it is the same operations on the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from ....ir.loops import (
    Compute,
    Index,
    Instruction,
    Kernel,
    Load,
    Nest,
    Row,
    Store,
    arrays_of,
    marked,
    marks_of,
    reached,
    with_rows,
)
from ...pass_list import Rules
from ...schedule.costs import row_cost

SHIFT: Final = (
    2.0  # additions that moving a register by some lanes costs, with the copies around it
)
MOST: Final = 8  # registers that carry values from strip to strip
LEAST: Final = 0.15  # of the operations of a body that all slides together save at least
REACH: Final = 4  # points that a value moves at most
KINDS: Final = ("float32", "float64")

# The value at a place: an expression whose first point is at 0, and how far ahead that point is.
# An expression that is the same along the whole row has no place.
Value: TypeAlias = tuple[object, int | None]
# The rows that come from registers: from which row, and how many points ahead that is.
Moves: TypeAlias = Mapping[Row, tuple[Row, int]]


def slide(kernel: Kernel, _: Rules) -> Kernel:
    """Note in each nest which rows are earlier ones of a neighbouring point."""
    return with_rows(kernel, _slid)


@lru_cache(maxsize=256)  # plans of a program share most nests
def _slid(nest: Nest) -> Nest:
    if nest.parts or marks_of(nest).usual or nest.states or nest.loops[-1].backward:
        return nest
    kept = _joined(_worth(nest, _candidates(nest)))
    whole, left = _left(nest, {}), _left(nest, kept)
    if whole - left - SHIFT * len(kept) < LEAST * whole:
        return nest
    return marked(nest, slides=tuple((row, *kept[row]) for row in sorted(kept)))


def _candidates(nest: Nest) -> list[Moves]:
    """Return what may slide, the largest values first; together they may save what none saves."""
    found: list[Moves] = []
    kept = _joined(found)
    live = live_rows(nest.body, kept)
    for places in _groups(nest):
        members = {at: row for at, row in places.items() if row in live and row not in kept}
        ahead = max(members, default=0)
        if len(found) == MOST or len(members) < 2 or ahead - min(members) > REACH:
            continue
        found.append(
            {row: (members[ahead], ahead - at) for at, row in members.items() if at != ahead}
        )
        kept = _joined(found)
        live = live_rows(nest.body, kept)
    return found


def _worth(nest: Nest, moves: list[Moves]) -> list[Moves]:
    """Leave out, from the smallest on, what saves less than it costs beside the others."""
    for each in reversed(moves):
        others = [other for other in moves if other is not each]
        saved = _left(nest, _joined(others)) - _left(nest, _joined(moves))
        if saved < SHIFT * len(each):
            moves = others
    return moves


def _joined(moves: Iterable[Moves]) -> dict[Row, tuple[Row, int]]:
    return {row: place for each in moves for row, place in each.items()}


def _left(nest: Nest, slides: Moves) -> float:
    """Return the cost of a body without what slides make needless."""
    return _cost(nest, live_rows(nest.body, slides) - slides.keys())


def live_rows(body: Sequence[Instruction], slides: Moves) -> set[Row]:
    """Return the rows that the stores need; a slid row needs only the row that it comes from."""
    stores = [number for number, row in enumerate(body) if isinstance(row, Store)]
    return _needed(body, slides, stores)


def _needed(body: Sequence[Instruction], slides: Moves, rows: Iterable[Row]) -> set[Row]:
    """Return rows and all that they are made from; a slid row may precede its origin."""
    return reached(rows, lambda row: (slides[row][0],) if row in slides else body[row].operands)


def _groups(nest: Nest) -> list[dict[int, Row]]:
    """Return rows of one value at several places, the largest expressions first."""
    found: dict[object, dict[int, Row]] = {}
    for number, (key, at) in _values(nest).items():
        row = nest.body[number]
        if at is not None and isinstance(row, Compute) and row.dtype in KINDS:
            found.setdefault(key, {}).setdefault(at, number)
    several = [places for places in found.values() if len(places) > 1]
    return sorted(
        several, key=lambda places: -_cost(nest, _needed(nest.body, {}, [max(places.values())]))
    )


def _values(nest: Nest) -> dict[Row, Value]:
    """Return the values inside the innermost loop that depend on the place along it alone.

    Equal expressions have one number, so that comparing them takes no time.
    """
    depth = len(nest.loops)
    written = arrays_of(nest, Store)
    values: dict[Row, Value] = {}
    numbers: dict[object, int] = {}
    for number, row in enumerate(nest.body):
        if row.level < depth:
            values[number] = ("still", number), None
        elif isinstance(row, Load):
            axis = _axis(nest, row)
            if axis is not None and row.when is None and row.buffer not in written:
                offsets = (*row.offsets[:axis], 0, *row.offsets[axis + 1 :])
                rows = (*row.rows[:axis], None, *row.rows[axis + 1 :])
                key = "load", row.buffer, row.dtype, offsets, rows
                values[number] = numbers.setdefault(key, len(numbers)), row.offsets[axis]
        elif isinstance(row, Compute) and all(arg in values for arg in row.args):
            places = [at for arg in row.args if (at := values[arg][1]) is not None]
            first = min(places, default=None)
            operands = (values[arg] for arg in row.args)
            parts = tuple((key, None if at is None else at - (first or 0)) for key, at in operands)
            same = "compute", row.op, row.dtype, parts
            values[number] = numbers.setdefault(same, len(numbers)), first
    return values


def _axis(nest: Nest, load: Load) -> int | None:
    """Return the axis along which a load walks with the innermost loop, if nothing else moves."""
    depth, inner = len(nest.loops), nest.loops[-1].range.dim
    found: list[int] = []
    for axis, dim in enumerate(load.dims):
        row = load.rows[axis] if load.rows else None
        each = None if row is None else nest.body[row]
        if (dim is inner and row is None) or (isinstance(each, Index) and each.dim is inner):
            found.append(axis)
        elif each is not None and each.level == depth:
            return None
    return found[0] if len(found) == 1 else None


def _cost(nest: Nest, rows: Iterable[Row]) -> int:
    """Return the cost of some rows inside the innermost loop."""
    depth = len(nest.loops)
    return sum(row_cost(nest.body[row]) for row in rows if nest.body[row].level == depth)
