"""Symbolic integers: the bounds of domains, in scalar arguments and in the domains of fields.

Every function keeps the normal form, so that equal bounds of the common kinds are equal
values: a sum is terms with integer factors, sorted by their text, and at most one constant (last);
minima and maxima are flat, keep one argument of those that differ by a constant, and take up the
constant that is added to them. Bounds are mathematical integers: where a scalar expression would
wrap, its bound does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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


@attrs.frozen
class TableBound:
    """The smallest valid entry of a neighbour table in rows `start .. stop`, or one past the largest.

    0 where no entry there is valid. Printed `lowest(E2C, 0, n)`, `beyond(E2C, 0, n)`.
    """

    end: Literal["lowest", "beyond"]
    table: str
    start: Bound
    stop: Bound

    def __str__(self) -> str:
        return f"{self.end}({self.table}, {self.start}, {self.stop})"


Bound: TypeAlias = Const | ScalarSymbol | DomainSymbol | TableBound | Apply


@attrs.frozen
class Range:
    """The indices `start <= i < stop` of one dimension; printed `I: 1 .. n`."""

    dim: Dimension
    start: Bound
    stop: Bound

    def __str__(self) -> str:
        return f"{self.dim.value}: {self.start} .. {self.stop}"


Ranges: TypeAlias = tuple[Range, ...]

Term: TypeAlias = tuple["Bound", int]  # something that is no constant and no sum, and its factor


def add(left: Bound, right: Bound | int) -> Bound:
    """Return the sum in normal form.

    >>> n = ScalarSymbol("n")
    >>> str(add(add(n, 3), -1)), add(add(n, 3), -3) == n
    ('n + 2', True)
    """
    if right == 0 or right == Const(0):
        return left
    (ours, our_constant) = _split(left)
    (theirs, their_constant) = _split(Const(right) if isinstance(right, int) else right)
    factors = dict(ours)
    for term, factor in theirs:
        factors[term] = factors.get(term, 0) + factor
    kept = [(term, factor) for term, factor in factors.items() if factor]
    return _join(tuple(sorted(kept, key=_text_of_term)), our_constant + their_constant)


def subtract(left: Bound, right: Bound | int) -> Bound:
    """Return the difference in normal form.

    >>> n, m = ScalarSymbol("n"), ScalarSymbol("m")
    >>> str(subtract(n, m)), str(subtract(add(n, m), m))
    ('mul(m, -1) + n', 'n')
    """
    return add(left, -right if isinstance(right, int) else multiply(right, -1))


def multiply(left: Bound, right: Bound | int) -> Bound:
    """Return the product; a constant factor is carried into a sum."""
    other = Const(right) if isinstance(right, int) else right
    if isinstance(left, Const):
        left, other = other, left
    if not isinstance(other, Const):
        return Apply("mul", tuple(sorted((left, other), key=str)))
    if other.value == 0:
        return other
    terms, constant = _split(left)
    scaled = tuple((term, factor * other.value) for term, factor in terms)
    return _join(scaled, constant * other.value)


def floor_divide(left: Bound, right: Bound) -> Bound:
    """Return the quotient rounded down; 0 where the divisor is 0."""
    if isinstance(right, Const) and right.value in (0, 1):
        return left if right.value else right
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value // right.value)
    return Apply("floordiv", (left, right))


def modulo(left: Bound, right: Bound) -> Bound:
    """Return the remainder with the sign of the divisor; 0 where the divisor is 0."""
    if isinstance(right, Const) and right.value in (0, 1):
        return Const(0)
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value % right.value)
    return Apply("mod", (left, right))


def truncate_divide(left: Bound, right: Bound) -> Bound:
    """Return the quotient rounded toward zero, made of what a plan can compute.

    >>> str(truncate_divide(Const(-5), Const(2))), str(truncate_divide(Const(5), Const(-2)))
    ('-2', '-2')
    """
    floor = floor_divide(left, right)
    ceiling = multiply(floor_divide(multiply(left, -1), right), -1)
    return maximum(floor, minimum(Const(0), ceiling))


def minimum(left: Bound, right: Bound) -> Bound:
    """Return the smaller bound; decided at once where the two differ by a constant."""
    return _extreme("min", (left, right))


def maximum(left: Bound, right: Bound) -> Bound:
    """Return the larger bound; decided at once where the two differ by a constant."""
    return _extreme("max", (left, right))


def least(bounds: Iterable[Bound]) -> Bound:
    """Return the smallest of one or more bounds, in time linear in their number."""
    return _extreme("min", bounds)


def greatest(bounds: Iterable[Bound]) -> Bound:
    """Return the largest of one or more bounds, in time linear in their number."""
    return _extreme("max", bounds)


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


def parts(bound: Bound) -> Iterator[Bound]:
    """Yield everything inside `bound`, arguments before their operation."""
    stack: list[tuple[Bound, bool]] = [(bound, False)]
    while stack:
        part, ready = stack.pop()
        if ready or not isinstance(part, Apply):
            yield part
        else:
            stack.append((part, True))
            stack += [(arg, False) for arg in reversed(part.args)]


def evaluate(bound: Bound, value_of: Callable[[ScalarSymbol | DomainSymbol], int]) -> int:
    """Return the integer that `bound` stands for, given those of its symbols.

    >>> evaluate(add(ScalarSymbol("n"), 2), {ScalarSymbol("n"): 5}.__getitem__)
    7
    """
    stack: list[int] = []
    for part in parts(bound):
        match part:
            case Const():
                stack.append(part.value)
            case Apply():
                values = stack[-len(part.args) :]
                del stack[-len(part.args) :]
                stack.append(_compute(part.op, values))
            case _:
                stack.append(value_of(part))
    return stack.pop()


def _compute(op: Operation, values: list[int]) -> int:
    match op:
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "add":
            return sum(values)
    left, right = values
    match op:
        case "sub":
            return left - right
        case "mul":
            return left * right
        case "floordiv":
            return left // right if right else 0
        case "mod":
            return left % right if right else 0


def _extreme(op: Literal["min", "max"], bounds: Iterable[Bound]) -> Bound:
    choose = min if op == "min" else max
    constants: dict[tuple[Term, ...], int] = {}
    for bound in bounds:
        for arg in bound.args if isinstance(bound, Apply) and bound.op == op else (bound,):
            terms, constant = _split(arg)
            constants[terms] = choose(constants.get(terms, constant), constant)
    order = sorted(constants, key=lambda terms: [_text_of_term(term) for term in terms])
    kept = tuple(_join(terms, constants[terms]) for terms in order)
    return kept[0] if len(kept) == 1 else Apply(op, kept)


def _split(bound: Bound) -> tuple[tuple[Term, ...], int]:
    """Return terms and constant; the terms are equal for all bounds that differ by a constant."""
    if isinstance(bound, Const):
        return (), bound.value
    if not isinstance(bound, Apply):
        return ((bound, 1),), 0
    if bound.op in ("min", "max"):
        _, constant = _split(bound.args[0])
        shifted = tuple(add(arg, -constant) for arg in bound.args) if constant else bound.args
        return ((Apply(bound.op, shifted), 1),), constant
    terms: list[Term] = []
    constant = 0
    for term in bound.args if bound.op == "add" else (bound,):
        if isinstance(term, Const):
            constant += term.value
        elif isinstance(term, Apply) and term.op == "mul" and isinstance(term.args[1], Const):
            terms.append((term.args[0], term.args[1].value))
        else:
            terms.append((term, 1))
    return tuple(terms), constant


def _join(terms: tuple[Term, ...], constant: int) -> Bound:
    if len(terms) == 1 and terms[0][1] == 1:
        (only, _) = terms[0]
        if isinstance(only, Apply) and only.op in ("min", "max"):
            return Apply(only.op, tuple(add(arg, constant) for arg in only.args))
    summands = [
        term if factor == 1 else Apply("mul", (term, Const(factor))) for term, factor in terms
    ]
    if constant or not summands:
        summands.append(Const(constant))
    return summands[0] if len(summands) == 1 else Apply("add", tuple(summands))


def _text_of_term(term: Term) -> tuple[str, int]:
    return str(term[0]), term[1]
