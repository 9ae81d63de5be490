"""Symbolic integers: bounds of domains as expressions in scalar arguments and domains of fields.

Every function keeps a normal form, so that common equal bounds are equal values. A sum is a list of
terms with integer factors, sorted by text, with at most one constant at the end. Minima and maxima
are flat, keep one of the arguments that differ by a constant, and absorb an added constant. Bounds
are mathematical integers: they do not wrap where a scalar expression would.

`bound_nodes` defines the values; other modules import both from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Final, Literal

from .bound_nodes import (
    Apply,
    Bound,
    Const,
    DomainSymbol,
    Operation,
    PatchBound,
    PatchMember,
    PatchOrder,
    Range,
    Ranges,
    ScalarSymbol,
    Symbol,
    TableBound,
    Term,
    arguments,
    arguments_of,
    is_long,
    key_of,
    parts,
    set_once,
)

__all__ = [
    "Apply", "Bound", "Const", "DomainSymbol", "Operation", "PatchBound", "PatchMember",
    "PatchOrder", "Range", "Ranges", "ScalarSymbol", "Symbol", "TableBound", "add", "arguments",
    "difference", "end_by_tables", "end_of", "evaluate", "floor_divide", "greatest", "hull",
    "is_at_least", "is_empty", "is_empty_box", "is_long", "key_of", "least", "maximum", "minimum",
    "modulo", "multiply", "of_any_slot", "parts", "subtract", "table_range", "truncate_divide",
]  # fmt: skip

MOST_ARGUMENTS: Final = 16  # a longer minimum stays one argument of the next
_REMEMBERED: Final = 4096  # sums, extremes, ranges: a program asks for few, each many times
DEEPEST: Final = 3  # a deeper nest of minima and maxima absorbs no constants
COMPUTE: Final[Mapping[Operation, Callable[[list[int]], int]]] = {
    "add": sum,
    "mul": prod,
    "floordiv": lambda args: args[0] // args[1] if args[1] else 0,
    "mod": lambda args: args[0] % args[1] if args[1] else 0,
    "min": min,
    "max": max,
}


@lru_cache(maxsize=_REMEMBERED)
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
    if len(kept) > 1:  # most have one, and to name it takes long
        kept.sort(key=_text_of_term)
    return _join(tuple(kept), our_constant + their_constant)


def subtract(left: Bound, right: Bound | int) -> Bound:
    """Return the difference in normal form.

    >>> n, m = ScalarSymbol("n"), ScalarSymbol("m")
    >>> str(subtract(n, m)), str(subtract(add(n, m), m))
    ('mul(m, -1) + n', 'n')
    """
    return add(left, -right if isinstance(right, int) else multiply(right, -1))


def multiply(left: Bound, right: Bound | int) -> Bound:
    """Return the product; distribute a constant factor over a sum."""
    other = Const(right) if isinstance(right, int) else right
    if isinstance(left, Const):
        left, other = other, left
    if not isinstance(other, Const):
        return Apply("mul", tuple(sorted((left, other), key=key_of)))
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
    """Return the quotient rounded toward zero, as operations that a plan can compute.

    >>> str(truncate_divide(Const(-5), Const(2))), str(truncate_divide(Const(5), Const(-2)))
    ('-2', '-2')
    """
    ceiling = multiply(floor_divide(multiply(left, -1), right), -1)
    return maximum(floor_divide(left, right), minimum(Const(0), ceiling))


def minimum(left: Bound, right: Bound) -> Bound:
    """Return the smaller bound; decide now if the two differ by a constant."""
    return _extreme("min", (left, right))


def maximum(left: Bound, right: Bound) -> Bound:
    """Return the larger bound; decide now if the two differ by a constant."""
    return _extreme("max", (left, right))


def least(bounds: Iterable[Bound]) -> Bound:
    """Return the smallest of one or more bounds, in time linear in their number."""
    return _extreme("min", tuple(bounds))


def greatest(bounds: Iterable[Bound]) -> Bound:
    """Return the largest of one or more bounds, in time linear in their number."""
    return _extreme("max", tuple(bounds))


def difference(left: Bound, right: Bound) -> int | None:
    """Return `left - right` if it is a known integer, else None."""
    (left_terms, left_constant), (right_terms, right_constant) = _split(left), _split(right)
    return left_constant - right_constant if left_terms == right_terms else None


def end_of(bound: Bound) -> Literal["start", "stop"] | None:
    """Return which end of fields a bound follows; None if it follows both or none.

    >>> from fieldforge import Dimension
    >>> u, v = (DomainSymbol("stop", name, Dimension("I")) for name in "uv")
    >>> end_of(minimum(add(u, -1), v)), end_of(Const(3))
    ('stop', None)
    """
    ends = {part.end for part in parts(bound) if isinstance(part, DomainSymbol)}
    return ends.pop() if len(ends) == 1 else None


def end_by_tables(bound: Bound) -> Literal["start", "stop"] | None:
    """Return which end a bound follows that tables give: the lowest entry, or one past the largest.

    >>> lowest = table_range("E2C", Const(0), ScalarSymbol("n"))[0]
    >>> end_by_tables(maximum(lowest, ScalarSymbol("m"))), end_by_tables(ScalarSymbol("m"))
    ('start', None)
    """
    found: set[Literal["start", "stop"]] = set()
    pending, by_table = [bound], False
    while pending:
        part = pending.pop()
        match part:
            case TableBound():
                found.add("start" if part.end == "lowest" else "stop")
                by_table = True
            case DomainSymbol():
                found.add(part.end)
            case Apply(op="add" | "min" | "max"):
                pending += part.args  # products are gates of what may be empty
    return found.pop() if by_table and len(found) == 1 else None


def is_empty(start: Bound, stop: Bound) -> bool:
    """Tell whether a range is known to be empty.

    >>> n, m = ScalarSymbol("n"), ScalarSymbol("m")
    >>> is_empty(maximum(n, m), minimum(n, Const(9))), is_empty(n, m)
    (True, False)
    """
    return is_at_least(start, stop)


def is_at_least(left: Bound, right: Bound) -> bool:
    """Tell whether `left >= right` is known, also for minima and maxima of several bounds.

    >>> n, m = ScalarSymbol("n"), ScalarSymbol("m")
    >>> is_at_least(minimum(n, m), minimum(n, m)), is_at_least(n, minimum(n, m))
    (True, True)
    """
    pairs = product(arguments_of("max", left), arguments_of("min", right))
    counts = (difference(one, other) for one, other in ((left, right), *pairs))
    return any(count is not None and count >= 0 for count in counts)


def is_empty_box(box: Ranges) -> bool:
    """Tell whether a box is known to have no points."""
    return any(is_empty(side.start, side.stop) for side in box)


def hull(boxes: Sequence[Ranges]) -> Ranges:
    """Return the smallest box around one or more boxes over the same dimensions."""
    return tuple(
        Range(axis[0].dim, least(r.start for r in axis), greatest(r.stop for r in axis))
        for axis in zip(*boxes, strict=True)
    )


@lru_cache(maxsize=_REMEMBERED)
def table_range(
    table: str, start: Bound, stop: Bound, slots: tuple[int, ...] = ()
) -> tuple[Bound, Bound]:
    """Return the range of the valid entries of some slots (of all if none) in a range of rows."""
    rows = difference(stop, start)
    if rows is not None and rows <= 0:
        return Const(0), Const(0)
    lowest = TableBound("lowest", table, start, stop, slots)
    return lowest, TableBound("beyond", table, start, stop, slots)


def of_any_slot(left: Range, right: Range) -> Range | None:
    """Return the range of what two slots of the same rows of one table name, None for others.

    It is exact where one of the slots has no valid entry; a minimum of both bounds is not.
    """
    one, other = left.start, right.start
    if not (isinstance(one, TableBound) and isinstance(other, TableBound)):
        return None
    rows = one.table, one.start, one.stop
    slots = tuple(sorted({*one.slots, *other.slots})) if one.slots and other.slots else ()
    stops = tuple(table_range(*rows, each.slots)[1] for each in (one, other))
    if rows != (other.table, other.start, other.stop) or (left.stop, right.stop) != stops:
        return None
    return Range(left.dim, *table_range(*rows, slots))


def evaluate(
    bound: Bound, value_of: Callable[[Symbol], int], known: dict[Bound, int] | None = None
) -> int:
    """Return the integer value of `bound`, given the values of its symbols.

    `value_of` receives the bound of a table with constant rows. Values of all parts are looked up
    in `known` and added to it.

    >>> evaluate(add(ScalarSymbol("n"), 2), {ScalarSymbol("n"): 5}.__getitem__)
    7
    """
    values: dict[Bound, int] = {} if known is None else known
    waiting = [bound]
    while waiting:
        part = waiting[-1]
        missing = [arg for arg in arguments(part) if arg not in values]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        match part:
            case Const():
                value = part.value
            case Apply():
                value = COMPUTE[part.op]([values[arg] for arg in part.args])
            case TableBound():
                start, stop = (Const(values[arg]) for arg in arguments(part))
                value = value_of(TableBound(part.end, part.table, start, stop, part.slots))
            case _:
                value = value_of(part)
        values[part] = value
    return values[bound]


@lru_cache(maxsize=_REMEMBERED)
def _extreme(op: Literal["min", "max"], bounds: tuple[Bound, ...]) -> Bound:
    found: dict[tuple[Term, ...], tuple[int, Bound]] = {}
    for bound in bounds:
        args = arguments_of(op, bound)
        for arg in args if len(args) <= MOST_ARGUMENTS else (bound,):
            terms, constant = _split(arg)
            best = found.setdefault(terms, (constant, arg))[0]
            if constant < best if op == "min" else constant > best:
                found[terms] = (constant, arg)
    if len(found) == 1:
        return next(iter(found.values()))[1]
    order = sorted(found, key=lambda terms: [_text_of_term(term) for term in terms])
    return Apply(op, tuple(found[terms][1] for terms in order))


def _split(bound: Bound) -> tuple[tuple[Term, ...], int]:
    """Return terms and constant; bounds that differ by a constant have equal terms."""
    if isinstance(bound, Const):
        return (), bound.value
    if not isinstance(bound, Apply):
        return ((bound, 1),), 0
    if bound.split is None:
        set_once(bound, "split", _split_operation(bound))
    assert bound.split is not None  # checked above
    return bound.split


def _split_operation(bound: Apply) -> tuple[tuple[Term, ...], int]:
    if bound.op in ("min", "max"):
        if bound.depth > DEEPEST:
            return ((bound, 1),), 0
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
        only = terms[0][0]
        if not constant:
            return only
        if isinstance(only, Apply) and only.op in ("min", "max") and only.depth <= DEEPEST:
            return Apply(only.op, tuple(add(arg, constant) for arg in only.args))
    summands = [
        term if factor == 1 else Apply("mul", (term, Const(factor))) for term, factor in terms
    ]
    if constant or not summands:
        summands.append(Const(constant))
    return summands[0] if len(summands) == 1 else Apply("add", tuple(summands))


def _text_of_term(term: Term) -> tuple[str, int]:
    return key_of(term[0]), term[1]
