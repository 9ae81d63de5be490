"""Symbolic integers: the bounds of domains, in scalar arguments and in the domains of fields.

Every function keeps the normal form: a sum of at most one constant (last) and
terms sorted by their text, nested sums and equal minima and maxima flattened,
so that equal bounds of the common kinds are equal values.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from ...runtime.dimension import Dimension

Operation: TypeAlias = Literal["add", "sub", "mul", "floordiv", "mod", "min", "max"]


@attrs.frozen
class Const:
    """A known integer."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@attrs.frozen
class ScalarSymbol:
    """The value of an integer scalar argument; printed as its name."""

    name: str

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class DomainSymbol:
    """The first index, or one past the last, of a field argument; printed `start(u, I)`."""

    end: Literal["start", "stop"]
    field: str
    dim: Dimension

    def __str__(self) -> str:
        return f"{self.end}({self.field}, {self.dim.value})"


@attrs.frozen
class Apply:
    """An integer operation; printed `max(n, 3)`, `n + -1`, `floordiv(n, 2)`."""

    op: Operation
    args: tuple[Bound, ...]

    def __str__(self) -> str:
        inner = [str(arg) for arg in self.args]
        return " + ".join(inner) if self.op == "add" else f"{self.op}({', '.join(inner)})"


Bound: TypeAlias = Const | ScalarSymbol | DomainSymbol | Apply


@attrs.frozen
class Range:
    """The indices `start <= i < stop` of one dimension; printed `I: 1 .. n`."""

    dim: Dimension
    start: Bound
    stop: Bound

    def __str__(self) -> str:
        return f"{self.dim.value}: {self.start} .. {self.stop}"


Ranges: TypeAlias = tuple[Range, ...]


def add(left: Bound, right: Bound | int) -> Bound:
    """Return the sum in normal form.

    >>> n = ScalarSymbol("n")
    >>> str(add(add(n, 3), -1)), add(add(n, 3), -3) == n
    ('n + 2', True)
    """
    terms: list[Bound] = []
    constant = 0
    for side in (left, Const(right) if isinstance(right, int) else right):
        for term in side.args if isinstance(side, Apply) and side.op == "add" else (side,):
            if isinstance(term, Const):
                constant += term.value
            else:
                terms.append(term)
    terms.sort(key=str)
    if constant or not terms:
        terms.append(Const(constant))
    return terms[0] if len(terms) == 1 else Apply("add", tuple(terms))


def minimum(left: Bound, right: Bound) -> Bound:
    """Return the smaller bound; decided at once where the two differ by a constant."""
    return _extreme("min", left, right)


def maximum(left: Bound, right: Bound) -> Bound:
    """Return the larger bound; decided at once where the two differ by a constant."""
    return _extreme("max", left, right)


def difference(left: Bound, right: Bound) -> int | None:
    """Return `left - right` where it is a known integer, else None."""
    (left_terms, left_constant), (right_terms, right_constant) = _split(left), _split(right)
    return left_constant - right_constant if left_terms == right_terms else None


def hull(left: Ranges, right: Ranges) -> Ranges:
    """Return the smallest box around two boxes over the same dimensions."""
    return tuple(
        Range(a.dim, minimum(a.start, b.start), maximum(a.stop, b.stop))
        for a, b in zip(left, right, strict=True)
    )


def translate(ranges: Ranges, dim: Dimension, offset: int) -> Ranges:
    """Move a box along one of its dimensions."""
    return tuple(
        Range(r.dim, add(r.start, offset), add(r.stop, offset)) if r.dim is dim else r
        for r in ranges
    )


def _extreme(op: Literal["min", "max"], left: Bound, right: Bound) -> Bound:
    apart = difference(left, right)
    if apart is not None:
        return left if (apart <= 0) == (op == "min") else right
    kept: list[Bound] = []
    for side in (left, right):
        for term in side.args if isinstance(side, Apply) and side.op == op else (side,):
            rivals = [(index, difference(term, other)) for index, other in enumerate(kept)]
            close = next(((i, d) for i, d in rivals if d is not None), None)
            if close is None:
                kept.append(term)
            elif (close[1] < 0) == (op == "min"):
                kept[close[0]] = term
    kept.sort(key=str)
    return kept[0] if len(kept) == 1 else Apply(op, tuple(kept))


def _split(bound: Bound) -> tuple[tuple[Bound, ...], int]:
    terms = bound.args if isinstance(bound, Apply) and bound.op == "add" else (bound,)
    constant = sum(term.value for term in terms if isinstance(term, Const))
    return tuple(term for term in terms if not isinstance(term, Const)), constant
