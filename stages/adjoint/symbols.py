"""Bounds in the domains of other fields: those of an output are those of its adjoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Final, TypeAlias

from ...runtime.language import Dimension
from ...runtime.process import classes
from ..ir import bounds
from ..ir.dataflow import (
    Apply,
    Bound,
    Dataflow,
    DomainSymbol,
    Level,
    Range,
    Ranges,
    Region,
    Scan,
    Side,
    Statement,
    Store,
    TableBound,
    Value,
    is_empty_box,
)

_JOINED: Final[Mapping[str, Callable[[Bound, Bound], Bound]]] = {
    "add": bounds.add,
    "mul": bounds.multiply,
    "min": bounds.minimum,
    "max": bounds.maximum,
    "floordiv": bounds.floor_divide,
    "mod": bounds.modulo,
}


Ends: TypeAlias = Callable[[str, Dimension], tuple[Bound, Bound] | None]


def with_ends(program: Dataflow, ends: Ends) -> Dataflow:
    """Return a program with other bounds for the ends of fields, where there are some."""
    return _Renaming(ends).program(program)


@classes.frozen(eq=False)
class _Renaming:
    ends: Ends
    known: dict[Bound, Bound] = classes.field(factory=dict)

    def program(self, program: Dataflow) -> Dataflow:
        """Rename in rows and stores."""
        return classes.evolve(
            program,
            values=tuple(map(self._value, program.values)),
            statements=tuple(
                Statement(tuple(self._stores(each.stores))) for each in program.statements
            ),
        )

    def _stores(self, stores: Iterable[Store]) -> Iterator[Store]:
        """Yield stores that may write something: some boxes are known to be empty now."""
        yield from (each for each in map(self._store, stores) if not is_empty_box(each.box))

    def _value(self, value: Value) -> Value:
        match value:
            case Region():
                boxes = tuple(tuple(map(self._side, box)) for box in value.boxes)
                return classes.evolve(value, boxes=boxes)
            case Level():
                return classes.evolve(value, at=self.bound(value.at))
            case Scan():
                ends = self.bound(value.start), self.bound(value.stop)
                return classes.evolve(value, start=ends[0], stop=ends[1])
        return value

    def _side(self, side: Side) -> Side:
        start, stop = (None if end is None else self.bound(end) for end in (side.start, side.stop))
        return Side(side.dim, start, stop)

    def _store(self, store: Store) -> Store:
        whole = None if store.whole is None else self._ranges(store.whole)
        return classes.evolve(store, box=self._ranges(store.box), whole=whole)

    def _ranges(self, ranges: Ranges) -> Ranges:
        return tuple(
            Range(each.dim, self.bound(each.start), self.bound(each.stop)) for each in ranges
        )

    def bound(self, bound: Bound) -> Bound:
        """Rename in a bound, and bring it to its normal form again."""
        if bound not in self.known:
            self.known[bound] = self._bound(bound)
        return self.known[bound]

    def _bound(self, bound: Bound) -> Bound:
        match bound:
            case DomainSymbol():
                found = self.ends(bound.field, bound.dim)
                return bound if found is None else found[bound.end == "stop"]
            case Apply():
                return reduce(_JOINED[bound.op], map(self.bound, bound.args))
            case TableBound():
                ends = self.bound(bound.start), self.bound(bound.stop)
                return TableBound(bound.end, bound.table, *ends, bound.slots)
        return bound
