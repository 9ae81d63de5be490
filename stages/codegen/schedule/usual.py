"""The usual conditions of a loop, and its rows where conditions are known.

Most levels have the same value of the conditions on their index: they lie beyond a level that the
source gives as a number, and before one that the call gives. So do most elements of a mesh in an
adjoint: all that a transposed table may list is there, and lies where the program has computed.
Where conditions are known, nothing is selected, and no index is clamped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeGuard

from ....runtime.process import classes
from ...ir.loops import (
    Access,
    Advance,
    Compute,
    Const,
    Index,
    Instruction,
    Load,
    Nest,
    Number,
    Row,
    Store,
    end_by_tables,
    end_of,
    reached,
    with_operands,
)
from .discovery import TABLE

Rows: TypeAlias = Sequence[Instruction]


def likely(nest: Nest, row: Instruction) -> bool | None:
    """Return what a comparison of an index with a bound is on most levels."""
    if not (isinstance(row, Compute) and row.op in ("ge", "lt")):
        return None
    index, bound = (nest.body[arg] for arg in row.args)
    if not (isinstance(index, Index) and isinstance(bound, Number)):
        return None
    end = end_of(bound.bound)
    is_first = isinstance(bound.bound, Const) if end is None else end == "start"
    return is_first == (row.op == "ge")


def likely_listed(nest: Nest, row: Instruction) -> bool | None:
    """Return what a comparison is on most levels, or for most elements of a mesh."""
    if isinstance(row, Compute) and row.op in ("ge", "lt"):
        index, bound = (nest.body[arg] for arg in row.args)
        if _entry(nest.body, index) is not None:
            return True
        end = end_by_tables(bound.bound) if isinstance(bound, Number) else None
        if isinstance(index, Index) and end is not None:
            return (end == "start") == (row.op == "ge")
    return likely(nest, row)


def of_index(nest: Nest) -> dict[Row, bool]:
    """Return the conditions on the index of a loop that have one value at most points."""
    values = ((row, likely_listed(nest, each)) for row, each in enumerate(nest.body))
    known = {row: value for row, value in values if value is not None}
    return {
        row: value
        for row, value in known.items()
        if isinstance(nest.body[nest.body[row].operands[0]], Index)
    }


def with_entries(nest: Nest, index: Mapping[Row, bool]) -> Iterator[tuple[Row, bool]]:
    """Yield usual conditions on an index, then those on entries of tables that are there then."""
    yield from index.items()
    _, holds = _chosen(nest.body, index)
    for row, each in enumerate(nest.body):
        value = likely_listed(nest, each)
        entry = None if value is None else entry_of(nest.body, each.operands[0])
        if value is not None and entry and (entry.when is None or holds.get(entry.when)):
            yield row, value


@classes.frozen
class Listed:
    """What usual conditions say of the entries of a table at an element, as rows of bounds.

    Attributes:
        slots: how many are read, from the first one on.
        first: none is before any of these.
        stop: all are before each of these.

    """

    slots: int = 0
    first: tuple[Row, ...] = ()
    stop: tuple[Row, ...] = ()


def listed(nest: Nest, usual: Iterable[tuple[Row, bool]]) -> dict[str, Listed]:
    """Return what usual conditions say of entries, by the buffer of their table."""
    found: dict[str, Listed] = {}
    for number, value in usual:
        test = nest.body[number]
        at, bound = test.operands
        entry = entry_of(nest.body, at)
        if entry is not None:
            own = found.get(entry.buffer, Listed())
            side = "first" if is_lower(test, value=value) else "stop"
            found[entry.buffer] = classes.evolve(
                own,
                slots=max(own.slots, entry.offsets[1] + 1),
                **{side: (*getattr(own, side), bound)},
            )
    return found


def is_lower(test: Instruction, *, value: bool) -> bool:
    """Tell whether a comparison with a value says that an index is not before a bound."""
    assert isinstance(test, Compute)
    return (test.op == "ge") == value


def entry_of(rows: Sequence[Instruction], number: Row) -> Load | None:
    """Return the entry of a table at the element of a loop, if a row is one."""
    entry = _entry(rows, rows[number])
    return None if entry is None or entry.is_told or entry.offsets[0] else entry


def _entry(rows: Sequence[Instruction], row: Instruction) -> Load | None:
    """Return the entry of a table that a row is."""
    if _is_cast(row):
        row = rows[row.args[0]]
    return row if isinstance(row, Load) and row.buffer.startswith(TABLE) else None


def _is_cast(row: Instruction) -> TypeGuard[Compute]:
    """Tell whether an index is what a table tells, as 64 bits."""
    return isinstance(row, Compute) and row.op == "cast"


def settled(rows: Rows, known: Mapping[Row, bool]) -> tuple[Rows, frozenset[Row]]:
    """Return rows where some conditions are known, and which of them stores still need."""
    made, _ = _chosen(rows, known)
    used = _used(made)
    if not any(_compares(made, row) for row in used):  # all that is read is there
        made = [_unclamped(made, row) for row in made]
        used = _used(made)
    return made, used


def _chosen(rows: Rows, given: Mapping[Row, bool]) -> tuple[list[Instruction], dict[Row, bool]]:
    """Return rows where the given conditions are known, and the conditions that then are known."""
    known, same, made = dict(given), dict[Row, Row](), list[Instruction]()
    for number, old in enumerate(rows):
        moved = not same.keys().isdisjoint(old.operands)
        row = with_operands(old, lambda each: same.get(each, each)) if moved else old
        match row:
            case Compute(op="and" | "or" as op, args=args, dtype="bool"):
                left = [each for each in args if each not in known]
                if any(known.get(each) == (op == "or") for each in args):
                    known[number] = op == "or"
                elif not left:
                    known[number] = op == "and"
                elif len(left) < len(args):
                    same[number] = left[0]
            case Compute(op="select", args=(test, then, otherwise)) if test in known:
                same[number] = then if known[test] else otherwise
            case Access(when=int(when)) if known.get(when):
                row = classes.evolve(row, when=None)
        made.append(row)
    return made, known


def _unclamped(rows: Rows, row: Instruction) -> Instruction:
    """Return a load with the indices that are there; arrays may lack levels that a scan reads."""
    if not isinstance(row, Load) or row.when is not None:
        return row
    places = ((each, None if each is None else unclamped(rows, each)) for each in row.rows)
    is_array = row.buffer.startswith("@")
    own = (
        old if new is None or (is_array and not _is_cast(rows[new])) else new for old, new in places
    )
    return classes.evolve(row, rows=tuple(own))


def unclamped(rows: Rows, number: Row) -> Row:
    """Return the index that bounds clamp."""
    match rows[number]:
        case Compute(op="minimum" | "maximum", args=(index, end)) if isinstance(rows[end], Number):
            return unclamped(rows, index)
    return number


def _used(rows: Rows) -> frozenset[Row]:
    ends = (number for number, row in enumerate(rows) if isinstance(row, Store | Advance))
    return frozenset(reached(ends, lambda number: rows[number].operands))


def _compares(rows: Rows, number: Row) -> bool:
    """Tell whether a row compares an index with a bound of the call."""
    row = rows[number]
    is_test = isinstance(row, Compute) and row.op in ("ge", "lt")
    return is_test and isinstance(rows[row.operands[1]], Number)
