"""The arguments of one call, which give numbers to the symbols of a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from ...runtime.process import classes
from ..ir.dataflow import (
    Dataflow,
    Ref,
    Statement,
    Store,
)
from ..ir.loops import (
    Bound,
    Const,
    DomainSymbol,
    PatchBound,
    Range,
    Ranges,
    ScalarSymbol,
    Stride,
    Symbol,
    TableBound,
    evaluate,
)
from ..lower.boxes.areas import Area, Areas, Dims, Need
from ..lower.boxes.infer_boxes import Walk
from .accesses import Memory, Spans, extreme

Arguments: TypeAlias = Mapping[str, Any]


@classes.frozen
class Call:
    """A program with the arguments of one call, which give numbers to all symbols."""

    program: Dataflow
    arguments: Arguments
    walk: Walk

    @classmethod
    def of(cls, program: Dataflow, arguments: Arguments) -> Call:
        """Start a call."""
        known: dict[Bound, Bound] = {}

        def resolve(bound: Bound) -> Bound:
            if bound not in known:
                known[bound] = Const(evaluate(bound, value_of))
            return known[bound]

        def value_of(symbol: Symbol) -> int:
            return _value_of(symbol, arguments)

        walk = Walk.of(program, Areas(resolve, loosens=True))
        return cls(program, arguments, walk)

    def number(self, bound: Bound) -> int:
        """Return the integer value of a bound."""
        found = self.walk.areas.resolve(bound)
        assert isinstance(found, Const)  # a call resolves every symbol
        return found.value

    def live(self, statement: Statement) -> Iterator[tuple[Store, Spans]]:
        """Yield the stores whose box is not empty, with their boxes as numbers."""
        return self._not_empty(statement.stores)

    def outputs(self, statement: Statement) -> Iterator[tuple[Store, Spans]]:
        """Yield the stores of whole outputs whose box is not empty, with their boxes as numbers."""
        outputs = (store.output for store in statement.stores)
        return self._not_empty({(each.target, each.box): each for each in outputs}.values())

    def _not_empty(self, stores: Iterable[Store]) -> Iterator[tuple[Store, Spans]]:
        for store in stores:
            spans = tuple((self.number(r.start), self.number(r.stop)) for r in store.box)
            if all(start < stop for start, stop in spans):
                yield store, spans

    def needed(self, stores: list[tuple[Store, Spans]]) -> dict[Ref, Spans]:
        """Return the box of each value that these stores need, in the order of the rows."""
        return self.boxes(self._needs(stores))

    def boxes(self, needs: dict[Ref, Need]) -> dict[Ref, Spans]:
        """Return the hull of each need that is not empty."""
        return {ref: self._box(ref, need) for ref, need in needs.items() if need}

    def hard(self, stores: list[tuple[Store, Spans]]) -> Iterator[tuple[Ref, Spans, Dims]]:
        """Yield the boxes that must exist, and along which dimensions a displacement reads them.

        What reaches the stores through a side of `where` need not exist.
        """
        areas = self.walk.areas
        for ref, need in self._needs(stores).items():
            for (_, loose), part in areas.kinds(areas.hard(need)).items():
                yield ref, self._box(ref, part), loose

    def _needs(self, stores: list[tuple[Store, Spans]]) -> dict[Ref, Need]:
        areas = self.walk.areas
        seeds = [(s.value, areas.number(Area(_constant(s.box, spans)))) for s, spans in stores]
        return self.walk.from_seeds(seeds)

    def _box(self, ref: Ref, need: Need) -> Spans:
        return tuple(map(_ends, self.walk.areas.of(self.program.values[ref].dims, need)))


def _value_of(symbol: Symbol, arguments: Arguments) -> int:
    match symbol:
        case ScalarSymbol():
            return int(arguments[symbol.name])
        case TableBound():
            start, stop = (int(str(each)) for each in (symbol.start, symbol.stop))
            return extreme(arguments[symbol.table], symbol.end, start, stop, symbol.slots)
        case DomainSymbol():
            field: Memory = arguments[symbol.field]
            axis = field.dims.index(symbol.dim)
            return int(field.starts[axis] + (field.shape[axis] if symbol.end == "stop" else 0))
        case PatchBound() | Stride():
            raise TypeError("Only loops have patches and strides.")


def _constant(box: Ranges, spans: Spans) -> Ranges:
    return tuple(
        Range(each.dim, Const(start), Const(stop))
        for each, (start, stop) in zip(box, spans, strict=True)
    )


def _ends(each: Range) -> tuple[int, int]:
    assert isinstance(each.start, Const)
    assert isinstance(each.stop, Const)
    return each.start.value, each.stop.value
