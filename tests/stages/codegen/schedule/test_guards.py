from itertools import product

import pytest
from hypothesis import given, strategies as st

from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.stages.codegen.schedule.guards import (
    ALWAYS,
    NEVER,
    Beyond,
    Guard,
    both,
    decided,
    either,
    parts_of,
)
from fieldforge.stages.codegen.schedule.needs import box_of, inside, need_of, outside_of
from fieldforge.stages.codegen.schedule.places import OWN
from fieldforge.stages.ir.bounds import evaluate
from fieldforge.stages.ir.dataflow import (
    Const,
    Range,
    ScalarSymbol,
    Side,
    add,
    minimum,
    table_range,
)
from fieldforge.stages.ir.gates import FAR

K, C = Dimension("K", DimensionKind.VERTICAL), Dimension("C")
TESTS = [Beyond(K, OWN, ScalarSymbol(name)) for name in "nml"]
cases = st.lists(
    st.dictionaries(st.sampled_from(TESTS), st.booleans()).map(lambda each: tuple(each.items())),
    max_size=4,
).map(tuple)


def holds(guard: Guard, answers: dict[Beyond, bool]) -> bool:
    return any(all(answers[test] == wanted for test, wanted in case) for case in guard)  # type: ignore[index]


@given(cases, cases)
def test_guards_join_as_logic_does(left: Guard, right: Guard) -> None:
    for values in product([False, True], repeat=3):
        answers = dict(zip(TESTS, values, strict=True))
        joined, met = either(left, right), both(left, right)
        assert joined is not None
        assert met is not None
        assert holds(joined, answers) == (holds(left, answers) or holds(right, answers))
        assert holds(met, answers) == (holds(left, answers) and holds(right, answers))
        assert holds(decided(left, answers.get), answers) == holds(left, answers)  # type: ignore[arg-type]
        assert decided(left, answers.get) in (ALWAYS, NEVER)  # type: ignore[arg-type]


@given(st.lists(st.integers(-3, 12), min_size=1, max_size=3), st.integers(0, 3), st.integers(3, 9))
def test_parts_cover_a_loop_once_and_what_they_know_is_so(
    bounds: list[int], a: int, b: int
) -> None:
    names = dict(zip("nml", bounds, strict=False))
    tests = [Beyond(K, OWN, ScalarSymbol(name)) for name in names]
    tests += [Beyond(K, OWN, add(ScalarSymbol("n"), 1))]
    parts = parts_of(Range(K, Const(a), Const(b)), tests, 99)

    def value(symbol: object) -> int:
        assert isinstance(symbol, ScalarSymbol)
        return names[symbol.name]

    seen = []
    for part in parts:
        for i in range(evaluate(part.range.start, value), evaluate(part.range.stop, value)):
            seen.append(i)
            for test in tests:
                assert part.answer(test) in (None, i >= evaluate(test.bound, value))
    assert sorted(seen) == list(range(a, b))


def test_bounds_whose_order_is_known_take_one_part_more_each() -> None:
    tests = [Beyond(K, OWN, add(ScalarSymbol("n"), i)) for i in (3, 0, 5)]
    parts = parts_of(Range(K, Const(0), ScalarSymbol("m")), tests, 99)
    assert len(parts) == 4
    assert all(part.answer(test) is not None for part in parts for test in tests)


@pytest.mark.parametrize("count", [3, 12])
def test_bounds_of_unknown_order_leave_an_inner_part_and_two_rims(count: int) -> None:
    low = [Beyond(K, OWN, Const(i)) for i in range(count)]
    high = [Beyond(K, OWN, add(ScalarSymbol("n"), -i)) for i in range(count)]

    below, inner, above = parts_of(Range(K, ScalarSymbol("a"), ScalarSymbol("b")), [*low, *high], 9)

    assert all(inner.answer(test) is True for test in low)
    assert all(inner.answer(test) is False for test in high)
    assert not below.known
    assert not above.known


def test_the_inner_part_lies_between_bounds_near_the_ends() -> None:
    first, last = ScalarSymbol("a"), ScalarSymbol("b")
    tests = [Beyond(K, OWN, add(first, 1)), Beyond(K, OWN, add(last, -2))]
    tests.append(Beyond(K, OWN, add(last, -1)))

    _, inner, _ = parts_of(Range(K, first, last), tests, 9)

    assert [inner.answer(test) for test in tests] == [True, False, False]


sides = st.tuples(st.integers(-1, 6) | st.none(), st.integers(-1, 6) | st.none())


@given(st.lists(st.tuples(sides, sides), max_size=3))
def test_what_is_outside_of_boxes_is_covered_once(given: list[tuple[object, object]]) -> None:
    boxes = tuple(
        tuple(
            Side(dim, *(None if end is None else Const(end) for end in ends))  # type: ignore[attr-defined]
            for dim, ends in zip((C, K), box, strict=True)
        )
        for box in given
    )
    outer = outside_of(boxes)
    assert outer is not None

    def count(where: tuple[tuple[Side, ...], ...], point: dict[Dimension, int]) -> int:
        return sum(
            all(
                (side.start is None or point[side.dim] >= side.start.value)  # type: ignore[union-attr]
                and (side.stop is None or point[side.dim] < side.stop.value)  # type: ignore[union-attr]
                for side in box
            )
            for box in where
        )

    for c, k in product(range(-2, 8), repeat=2):
        point = {C: c, K: k}
        assert count(outer, point) == (0 if count(boxes, point) else 1)


def test_a_need_that_is_empty_at_the_call_changes_no_hull() -> None:
    need = need_of((Range(C, Const(0), Const(5)), Range(K, Const(0), Const(9))))
    n = ScalarSymbol("n")
    boxes = ((Side(K, None, n),), (Side(K, add(n, 1), None),))
    (c, k) = box_of(inside(need, boxes), (C, K))
    for value, expected in ((0, (1, 9)), (8, (0, 8)), (4, (0, 9)), (-5, (0, 9))):

        def symbol(_: object, value: int = value) -> int:
            return value

        assert (evaluate(k.start, symbol), evaluate(k.stop, symbol)) == expected
    (c, k) = box_of(inside(need, boxes[:1]), (C, K))
    assert evaluate(c.start, lambda _: 0) >= FAR > evaluate(c.stop, lambda _: 0)
    assert evaluate(c.start, lambda _: 1) == 0


def test_bounds_that_tables_give_are_near_the_end_that_they_name() -> None:
    first, last = ScalarSymbol("a"), ScalarSymbol("b")
    low, high = table_range("C2E", Const(0), ScalarSymbol("n"))
    tests = [Beyond(C, OWN, minimum(low, ScalarSymbol("m"))), Beyond(C, OWN, high)]

    _, inner, _ = parts_of(Range(C, first, last), [*tests, Beyond(C, OWN, last)], 1)

    assert [inner.answer(test) for test in tests] == [True, False]
