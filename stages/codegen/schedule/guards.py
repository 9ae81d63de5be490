"""Guards: the conditions under which a value is used, so that no load happens without need.

A guard is in disjunctive form: alternatives, each a list of tests of indices that must all hold.
Regions create guards; a value that both branches of a region use has no guard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import bounds, dataflow
from ...ir.bounds import Bound, Const, Range
from ...lower.regions import Boxes
from .places import OWN, Coord


@classes.frozen
class Beyond:
    """Whether an index (the loop's own if `base` is `OWN`) is `bound` or more."""

    dim: Dimension
    base: int
    bound: Bound


@classes.frozen
class InPart:
    """Whether a part of the innermost loop has a point at all."""

    part: int


Test: TypeAlias = Beyond | InPart
Case: TypeAlias = tuple[tuple[Test, bool], ...]  # tests and the results that they must have
Guard: TypeAlias = tuple[Case, ...]

ALWAYS: Final[Guard] = ((),)
NEVER: Final[Guard] = ()
MOST_CASES: Final = 12
RIMMED: Final = 3  # the parts of a loop with a rim on each side


def cases_in(boxes: Boxes, coords: Mapping[Dimension, tuple[Dimension, Coord]]) -> Guard:
    """Return the guard under which a place lies in any of the boxes, which do not overlap.

    `coords` are the coordinates along each dimension, with the loop that they follow.
    """
    return tuple(
        tuple(test for side in box for test in _tests(side, *coords[side.dim])) for box in boxes
    )


def _tests(side: dataflow.Side, dim: Dimension, coord: Coord) -> list[tuple[Test, bool]]:
    base, offset = coord
    return [
        (Beyond(dim, base, bounds.add(end, -offset)), beyond)
        for end, beyond in ((side.start, True), (side.stop, False))
        if end is not None
    ]


def decided(guard: Guard, answer: Callable[[Test], bool | None]) -> Guard:
    """Return the guard without the tests whose answer is known."""
    cases = []
    for case in guard:
        answers = [answer(test) for test, _ in case]
        if all(
            known is None or known == wanted
            for known, (_, wanted) in zip(answers, case, strict=True)
        ):
            cases.append(
                tuple(each for known, each in zip(answers, case, strict=True) if known is None)
            )
    return ALWAYS if () in cases else tuple(cases)


def both(left: Guard, right: Guard) -> Guard | None:
    """Return the conjunction of two guards; None if it has too many alternatives."""
    if ALWAYS in (left, right):
        return right if left == ALWAYS else left
    result = NEVER
    for one in left:
        for other in right:
            case = dict(one)
            if all(case.setdefault(test, wanted) == wanted for test, wanted in other):
                more = either(result, (tuple(case.items()),))
                if more is None:
                    return None
                result = more
    return result


def either(left: Guard, right: Guard) -> Guard | None:
    """Return the disjunction of two guards; None if it has too many alternatives.

    >>> K, n = Dimension("K"), bounds.ScalarSymbol("n")
    >>> below = (((Beyond(K, OWN, n), False),),)
    >>> above = (((Beyond(K, OWN, n), True),),)
    >>> either(below, above) == ALWAYS
    True
    """
    if left in (right, ALWAYS):
        return left
    cases = list(left)
    pending = list(reversed(right))
    while pending:
        case = pending.pop()
        mine = set(case)
        if any(set(other) <= mine for other in cases):
            continue
        cases = [other for other in cases if not mine <= set(other)]
        twin = next((other for other in cases if _differ_in_one(mine, set(other))), None)
        if twin is None:
            cases.append(case)
        else:
            cases.remove(twin)
            pending.append(tuple(each for each in case if each in twin))
    return tuple(cases) if len(cases) <= MOST_CASES else None


def _differ_in_one(left: set[tuple[Test, bool]], right: set[tuple[Test, bool]]) -> bool:
    tests, others = ([test for test, _ in rest] for rest in (left - right, right - left))
    return len(tests) == 1 and tests == others


# --- parts of the innermost loop --------------------------------------------------------------


@classes.frozen
class LoopPart:
    """A part of the innermost loop, and the tests whose answer it fixes."""

    range: Range
    known: Mapping[Beyond, bool]

    def answer(self, test: Test) -> bool | None:
        """Return the answer of a test in this part; None if it is unknown."""
        if not isinstance(test, Beyond) or test.base != OWN or test.dim is not self.range.dim:
            return None
        if test in self.known:
            return self.known[test]
        for other, is_beyond in self.known.items():
            ahead = bounds.difference(test.bound, other.bound)
            if ahead is not None and (ahead <= 0 if is_beyond else ahead >= 0):
                return is_beyond
        return None


def answer_from(ranges: Mapping[Dimension, Range], test: Test) -> bool | None:
    """Return the answer of a test for all iterations; None if it is unknown."""
    if not isinstance(test, Beyond) or test.base != OWN or test.dim not in ranges:
        return None
    range_ = ranges[test.dim]
    ahead = bounds.difference(range_.start, test.bound)
    if ahead is not None and ahead >= 0:
        return True
    left = bounds.difference(range_.stop, test.bound)
    return False if left is not None and left <= 0 else None


def within(range_: Range, case: Case) -> Range:
    """Return the iterations of a loop in which tests have some results, or more."""
    start, stop = range_.start, range_.stop
    for test, beyond in case:
        if isinstance(test, Beyond) and test.base == OWN and test.dim is range_.dim:
            start = bounds.maximum(start, test.bound) if beyond else start
            stop = stop if beyond else bounds.minimum(stop, test.bound)
    return Range(range_.dim, start, stop)


def parts_of(range_: Range, tests: Sequence[Beyond], most: int) -> tuple[LoopPart, ...]:
    """Cut a loop so that tests have one answer in each part, if `most` parts or fewer suffice.

    Otherwise, and where the order of two bounds is unknown, so that there would be a part for every
    possible order, the loop has three parts: the inner one, on which every test has its usual
    answer, and a rim on each side, which answers no test.
    """
    parts: tuple[LoopPart, ...] = (LoopPart(range_, {}),)
    for test in tests:
        parts = tuple(half for part in parts for half in _halves(part, test))
        if len(parts) > most:
            return _rimmed(range_, tests)
    return parts if len(parts) <= max(RIMMED, len(tests) + 1) else _rimmed(range_, tests)


def _rimmed(range_: Range, tests: Sequence[Beyond]) -> tuple[LoopPart, ...]:
    """Cut a loop into the indices at which all tests have their usual answer, and the others."""
    known = {test: _is_usual(range_, test) for test in tests}
    usual = within(range_, tuple(known.items()))
    low = bounds.minimum(usual.start, range_.stop)
    high = bounds.maximum(low, usual.stop)
    dim, start, stop = range_.dim, range_.start, range_.stop
    parts = (
        LoopPart(Range(dim, start, low), {}),
        LoopPart(Range(dim, low, high), known),
        LoopPart(Range(dim, high, stop), {}),
    )
    return tuple(part for part in parts if not bounds.is_empty_box((part.range,)))


def _is_usual(range_: Range, test: Beyond) -> bool:
    """Tell whether most indices are beyond a bound: it lies near the start, or is a number.

    One that is not known to lie near either is taken for what it is in its own field.
    """
    ahead = bounds.difference(test.bound, range_.start)
    left = bounds.difference(range_.stop, test.bound)
    if ahead is not None and left is not None:
        return ahead <= left
    end = bounds.end_of(test.bound) or bounds.end_by_tables(test.bound)
    if ahead is None is left and end is not None:
        return end == "start"
    return isinstance(test.bound, Const) if ahead is None is left else ahead is not None


def _halves(part: LoopPart, test: Beyond) -> list[LoopPart]:
    known = part.answer(test)
    halves = [
        LoopPart(within(part.range, ((test, beyond),)), {**part.known, test: beyond})
        for beyond in (False, True)
        if known in (None, beyond)
    ]
    return [half for half in halves if not bounds.is_empty_box((half.range,))]
