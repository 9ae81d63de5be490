"""Read dimensions, bounds and boxes from a listing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal as OneOf, TypeAlias, get_args

from ...runtime.language import Dimension, DimensionKind
from .bounds import (
    Apply,
    Bound,
    Const,
    DomainSymbol,
    Operation,
    PatchBound,
    PatchOrder,
    Range,
    Ranges,
    ScalarSymbol,
    TableBound,
)
from .dataflow import Side
from .listing_line import BOUND, INTEGER, Line

OPERATIONS: Final[Mapping[str, Operation]] = {
    str(op): op for op in get_args(Operation) if op != "add"
}
TABLE_ENDS: Final[Mapping[str, OneOf["lowest", "beyond"]]] = {
    "lowest": "lowest",
    "beyond": "beyond",
}

NUMBERS: Final[Mapping[str, OneOf["address", "patches", "shared", "size"]]] = {
    "address": "address",
    "patches": "patches",
    "shared": "shared",
    "size": "size",
}

Function: TypeAlias = Operation | tuple[OneOf["lowest", "beyond"], str, tuple[int, ...]]


class BoundReader:
    """Read parts of a listing that refer to dimensions by label and to some bounds by name.

    So they do to `orders` of patches.
    """

    def __init__(self) -> None:
        self.dims: dict[str, Dimension] = {}
        self.orders: dict[str, PatchOrder] = {}
        self._bounds: list[Bound] = []

    def dim(self, line: Line) -> Dimension:
        """Read a declared dimension."""
        label = line.name()
        if label not in self.dims and line.accept("["):
            label = f"{label}[{line.name()}]"
            line.expect("]")
        return self.dims.get(label) or line.fail("a dimension that is declared")

    def declare(self, line: Line) -> None:
        """Read the declaration of a dimension: its label and its kind."""
        name = line.name()
        label, kind = name, None
        if line.accept("["):
            kind = line.name()
            line.expect("]")
            label = f"{name}[{kind}]"
        last = line.name()
        if label in self.dims or kind not in (None, last):
            line.fail("another dimension")
        self.dims[label] = Dimension(name, DimensionKind(last))
        line.end()

    def define(self, line: Line) -> None:
        """Read the definition of a named bound; its name is its number."""
        line.expect(f"${len(self._bounds)} =")
        self._bounds.append(self.bound(line))
        line.end()

    def sides(self, line: Line) -> Iterator[tuple[Side, ...]]:
        """Read the boxes of a region, each in brackets."""
        while line.accept("["):
            yield tuple(line.several("]", lambda: self._side(line)))

    def _side(self, line: Line) -> Side:
        dim = self.dim(line)
        line.expect(":")
        start = None if line.comes("..") else self.bound(line)
        line.expect("..")
        stop = None if line.comes(",") or line.comes("]") else self.bound(line)
        return Side(dim, start, stop)

    def box(self, line: Line) -> Ranges:
        """Read the ranges of a box."""
        return () if line.accept("()") else tuple(line.listed(lambda: self.range(line)))

    def range(self, line: Line) -> Range:
        """Read the range of one dimension."""
        dim = self.dim(line)
        line.expect(":")
        start = self.bound(line)
        line.expect("..")
        return Range(dim, start, self.bound(line))

    def bound(self, line: Line) -> Bound:
        """Read a sum; open functions wait on a stack, each with its terms."""
        waiting: list[tuple[Function, list[Bound], list[Bound]]] = []
        terms: list[Bound] = []
        while True:
            atom = self._atom(line)
            if isinstance(atom, str | tuple):
                waiting.append((atom, [], terms))
                terms = []
                continue
            terms.append(atom)
            while not line.accept("+"):
                value = terms[0] if len(terms) == 1 else Apply("add", tuple(terms))
                if not waiting:
                    return value
                function, args, outer = waiting[-1]
                args.append(value)
                if line.accept(","):
                    terms = []
                    break
                line.expect(")")
                waiting.pop()
                terms = [*outer, _applied(function, args, line)]

    def _atom(self, line: Line) -> Bound | Function:
        """Read a constant, a symbol, or a function and the bracket that opens its arguments."""
        number = line.match(INTEGER)
        if number is not None:
            return Const(int(number))
        named = line.match(BOUND)
        if named is not None:
            place = int(named.removeprefix("$"))
            return self._bounds[place] if place < len(self._bounds) else line.fail("a known bound")
        plain = not line.comes('"')
        name = line.name()
        if not plain or not line.accept("("):
            return ScalarSymbol(name)
        if name in OPERATIONS:
            return OPERATIONS[name]
        if name in TABLE_ENDS:
            table = line.name()
            slots = tuple(line.several("]", line.integer)) if line.accept("[") else ()
            line.expect(",")
            return TABLE_ENDS[name], table, slots
        if name in NUMBERS:
            order = self.orders.get(line.name()) or line.fail("an order that is declared")
            line.expect(")")
            return PatchBound(NUMBERS[name], order)
        end: OneOf["start", "stop"] = "start" if name == "start" else "stop"
        if name != end:
            line.fail("a function of bounds before its arguments")
        field = line.name()
        line.expect(",")
        dim = self.dim(line)
        line.expect(")")
        return DomainSymbol(end, field, dim)


def _applied(function: Function, args: list[Bound], line: Line) -> Bound:
    if isinstance(function, str):
        return Apply(function, tuple(args))
    if len(args) != 2:
        line.fail("two rows of a table")
    end, table, slots = function
    return TableBound(end, table, args[0], args[1], slots)
