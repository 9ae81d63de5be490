"""Symbolic bounds as postfix programs of the argument plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...runtime.calls.plan import Code, Word
from ...runtime.language.dimension import Dimension
from ...runtime.process import classes
from ..ir.bounds import (
    Apply,
    Bound,
    Const,
    DomainSymbol,
    PatchBound,
    PatchOrder,
    ScalarSymbol,
    TableBound,
)
from ..ir.dataflow import Leaf, Table
from ..ir.settled import is_settled
from ..ir.strides import Stride

NUMBERS: Final = ("address", "patches", "shared", "size")  # in the order of the native core


@classes.frozen
class Symbols:
    """The places of symbols: arguments by name, and integers that are already computed.

    Tables are arguments after the leaves; as memory they are called `table C2E`.
    """

    dims: tuple[tuple[Dimension, ...], ...]
    places: Mapping[str, int]
    ints: Mapping[Bound | Stride, int]

    @classmethod
    def of(
        cls, leaves: Sequence[Leaf], ints: Sequence[Bound | Stride], tables: Sequence[Table] = ()
    ) -> Symbols:
        """Give leaves, tables and integers their numbers, in order."""
        names = [leaf.name for leaf in leaves] + [f"table {table.name}" for table in tables]
        dims = [leaf.dims for leaf in leaves] + [(table.target, table.local) for table in tables]
        places = {name: index for index, name in enumerate(names)}
        return cls(tuple(dims), places, {source: index for index, source in enumerate(ints)})


def code_of(source: Bound | Stride, symbols: Symbols, known: int | None = None) -> Code:
    """Return the program that computes `source`; the first `known` integers may be reused.

    >>> from ..ir.bounds import add
    >>> leaf = Leaf("n", (0,), "scalar", "int32")
    >>> [str(word.op) for word in code_of(add(ScalarSymbol("n"), 1), Symbols.of([leaf], []))]
    ['scalar', 'const', 'add']
    """
    limit = len(symbols.ints) if known is None else known
    words: list[Word] = []
    pending: list[Bound | Stride | Word] = [source]
    while pending:
        part = pending.pop()
        if isinstance(part, Word):
            words.append(part)
        elif limit and not isinstance(part, Const) and symbols.ints.get(part, limit) < limit:
            words.append(Word("int", value=symbols.ints[part]))
        elif not isinstance(part, Stride) and is_settled(part):
            pending.append(part.args[0])
        elif isinstance(part, Apply):
            # a b op c op: each operation follows its second operand
            first, *others = part.args
            for other in reversed(others):
                pending += [Word(part.op), other]
            pending.append(first)
        elif isinstance(part, TableBound):
            table = symbols.places[f"table {part.table}"]
            asked = Word(part.end, argument=table, slots=part.slots)
            pending += [asked, part.stop, part.start]
        else:
            words.append(_word(part, symbols))
    return tuple(words)


def _word(
    symbol: Const | ScalarSymbol | DomainSymbol | PatchBound | Stride, symbols: Symbols
) -> Word:
    match symbol:
        case Const(value=value):  # no field has an index near the ends of 64 bits
            return Word("const", value=min(max(value, -(2**63)), 2**63 - 1))
        case ScalarSymbol(name=name):
            return Word("scalar", argument=symbols.places[name])
        case DomainSymbol(end=end, field=name, dim=dim):
            axis = symbols.dims[symbols.places[name]].index(dim)
            return Word(end, argument=symbols.places[name], axis=axis)
        case PatchBound(number=number, order=order):
            numbers = (NUMBERS.index(number), *_numbers(order, symbols))
            return Word(
                "patches", argument=symbols.places[f"table {order.tables[0]}"], slots=numbers
            )
        case Stride(name=name, axis=axis):
            return Word("stride", argument=symbols.places[name], axis=axis)


def _numbers(order: PatchOrder, symbols: Symbols) -> Iterator[int]:
    """Yield an order as numbers; tables are arguments. `native/patch_lists.cpp` reads them."""

    def place(table: str) -> int:
        return symbols.places[f"table {table}"]

    yield from (order.size, order.portion, order.most, order.percent, len(order.members))
    for member in order.members:
        owner = place(member.owner) if member.owner else -1
        yield from (int(member.fills), member.row_bytes, owner, int(member.leads_back))
        yield member.begins
        yield len(member.readings)
        for filler, way in member.readings:
            yield from (filler, len(way))
            for table, slot in way:
                yield from (place(table), slot)
