"""Gates: boxes that the call may find empty, as boxes that change no hull."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, reduce
from typing import Final

from ...runtime.language import MOST
from . import bounds
from .bounds import Apply, Bound, Const
from .settled import opened

FAR: Final = 4 * MOST  # beyond any index, also added to one; sums of several do not wrap


def far_unless(ranges: Iterable[tuple[Bound, Bound]]) -> Bound:
    """Return 0 if none of the ranges is empty, else `FAR`.

    A box whose starts grow and whose stops shrink by it begins far after its end if it is empty.

    >>> str(far_unless([(Const(2), Const(5))])), str(far_unless([(Const(2), Const(2))]))
    ('0', '1099511627776')
    """
    there: Bound = Const(1)
    for start, stop in ranges:
        count = bounds.maximum(Const(0), bounds.subtract(stop, start))
        there = bounds.multiply(bounds.minimum(Const(1), count), there)
    return bounds.add(bounds.multiply(there, -FAR), FAR)


@lru_cache(maxsize=4096)
def ungated(bound: Bound) -> Bound:
    """Return a bound without the gates around it: where these are open it is the same.

    Else a start is far beyond it, and a stop far before, so the range between is always a larger
    one. Gates inside of settled parts stay.

    >>> n, m = bounds.ScalarSymbol("n"), bounds.ScalarSymbol("m")
    >>> start = bounds.add(n, far_unless([(n, m)]))
    >>> start == n, ungated(start) == n, ungated(bounds.minimum(start, n)) == n
    (False, True, True)
    """
    bound = opened(bound)
    match bound:
        case Apply(op="min", args=args):
            return bounds.least(map(ungated, args))
        case Apply(op="max", args=args):
            return bounds.greatest(map(ungated, args))
        case Apply(op="add", args=args):
            return opened(reduce(bounds.add, map(_opened_gate, args)))
    return bound


def is_gated(inner: Bound, outer: Bound) -> bool:
    """Tell whether a bound is another one, or that behind more gates.

    A gate moves starts on. Of stops the larger one is told last, as `outer`.

    >>> n, m = bounds.ScalarSymbol("n"), bounds.ScalarSymbol("m")
    >>> start = bounds.add(n, far_unless([(n, m)]))
    >>> is_gated(n, start), is_gated(start, n), is_gated(n, n)
    (True, False, True)
    """
    match opened(inner), opened(outer):
        case _, Apply(op="min", args=args):
            return all(is_gated(inner, each) for each in args)
        case Apply(op="max", args=args), _:
            return all(is_gated(each, outer) for each in args)
    between = bounds.subtract(outer, inner)
    terms = between.args if isinstance(between, Apply) and between.op == "add" else (between,)
    rest = reduce(bounds.add, map(_opened_gate, terms))
    return rest == Const(0) and not any(map(_is_taken_away, terms))


def _is_taken_away(term: Bound) -> bool:
    """Tell whether a term of a sum is that of a gate with the other sign."""
    match term:
        case Apply(op="mul", args=(_, Const(value=far))):
            return far > 0
    return False


def _opened_gate(term: Bound) -> Bound:
    """Return a term of a sum; that of a gate as if none of its ranges is empty."""
    match term:
        case Apply(op="mul", args=(there, Const(value=far))) if not far % FAR:
            return bounds.multiply(_most(there), far)
    return term


def _most(there: Bound) -> Bound:
    """Return the largest value of what a gate multiplies: a minimum of a number, or several."""
    match there:
        case Apply(op="mul", args=args):
            return reduce(bounds.multiply, map(_most, args))
        case Apply(op="min", args=args):
            return next((each for each in args if isinstance(each, Const)), there)
    return there
