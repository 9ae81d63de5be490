"""Symbolic bounds as postfix programs of the argument plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from ...runtime.plan import Code, Word
from ..ir.bounds import Apply, Bound, Const, DomainSymbol, ScalarSymbol
from ..ir.dataflow import Leaf
from ..ir.strides import Stride


@attrs.frozen
class Symbols:
    """Where symbols stand: leaves by name, and integers that are already computed."""

    leaves: tuple[Leaf, ...]
    places: Mapping[str, int]
    ints: Mapping[Bound | Stride, int]

    @classmethod
    def of(cls, leaves: Sequence[Leaf], ints: Sequence[Bound | Stride]) -> Symbols:
        """Give leaves and integers their numbers, in order."""
        places = {leaf.name: index for index, leaf in enumerate(leaves)}
        return cls(tuple(leaves), places, {source: index for index, source in enumerate(ints)})


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
        elif limit and symbols.ints.get(part, limit) < limit:
            words.append(Word("int", value=symbols.ints[part]))
        elif isinstance(part, Apply):
            # a b op c op: each operation follows its second operand
            first, *others = part.args
            for other in reversed(others):
                pending += [Word(part.op), other]
            pending.append(first)
        else:
            words.append(_word(part, symbols))
    return tuple(words)


def _word(symbol: Const | ScalarSymbol | DomainSymbol | Stride, symbols: Symbols) -> Word:
    match symbol:
        case Const(value=value):
            return Word("const", value=value)
        case ScalarSymbol(name=name):
            return Word("scalar", argument=symbols.places[name])
        case DomainSymbol(end=end, field=name, dim=dim):
            axis = symbols.leaves[symbols.places[name]].dims.index(dim)
            return Word(end, argument=symbols.places[name], axis=axis)
        case Stride(name=name, axis=axis):
            return Word("stride", argument=symbols.places[name], axis=axis)
