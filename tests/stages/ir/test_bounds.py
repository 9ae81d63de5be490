import pytest
from hypothesis import given, strategies as st

from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.ir import bounds
from fieldforge.stages.ir.bounds import Apply, Const, DomainSymbol, Range, ScalarSymbol
from fieldforge.stages.ir.strides import Stride

I, J = Dimension("I"), Dimension("J")
n, m = ScalarSymbol("n"), ScalarSymbol("m")
START = DomainSymbol("start", "u", I)


def test_a_sum_collects_terms_and_keeps_one_constant():
    total = bounds.add(bounds.add(bounds.add(n, 3), m), bounds.add(n, -1))

    assert str(total) == "m + mul(n, 2) + 2"


def test_strides_are_numbers_of_bounds():
    own, other = Stride("u", 1), Stride("v", 1)

    assert str(bounds.add(bounds.multiply(n, own), 1)) == "mul(n, stride(u, 1)) + 1"
    assert bounds.subtract(bounds.add(own, other), other) == own


def test_a_difference_cancels():
    assert bounds.subtract(bounds.add(n, m), bounds.add(m, n)) == Const(0)
    assert bounds.difference(bounds.add(n, 5), bounds.add(n, 2)) == 3
    assert bounds.difference(n, m) is None


def test_extremes_of_bounds_a_constant_apart_are_decided():
    assert bounds.minimum(bounds.add(n, 1), n) == n
    assert bounds.maximum(bounds.add(n, 1), n) == bounds.add(n, 1)
    assert str(bounds.minimum(n, Const(3))) == "min(3, n)"


def test_many_bounds_have_one_extreme():
    many = [bounds.add(ScalarSymbol(f"s{i % 3}"), i) for i in range(300)]

    assert str(bounds.least(many)) == "min(s0, s1 + 1, s2 + 2)"
    assert str(bounds.greatest(many)) == "max(s0 + 297, s1 + 298, s2 + 299)"


@pytest.mark.parametrize(
    ("left", "right", "expected"), [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (5, 0, 0)]
)
def test_division_that_truncates_rounds_toward_zero(left, right, expected):
    symbolic = bounds.truncate_divide(n, m)

    assert bounds.truncate_divide(Const(left), Const(right)) == Const(expected)
    assert bounds.evaluate(symbolic, {n: left, m: right}.__getitem__) == expected


@pytest.mark.parametrize("divisor", [-3, -1, 0, 1, 4])
def test_floor_and_remainder_are_those_of_python_and_zero_for_a_zero_divisor(divisor):
    floor, rest = bounds.floor_divide(n, Const(divisor)), bounds.modulo(n, Const(divisor))

    for value in (-7, 0, 7):
        at = {n: value}.__getitem__
        assert bounds.evaluate(floor, at) == (value // divisor if divisor else 0)
        assert bounds.evaluate(rest, at) == (value % divisor if divisor else 0)


MAKERS = [
    *(bounds.add, bounds.subtract, bounds.multiply, bounds.minimum, bounds.maximum),
    *(bounds.floor_divide, bounds.modulo),
]
BOUNDS = st.recursive(
    st.integers(-9, 9).map(Const) | st.sampled_from([n, m, START]),
    lambda inner: st.builds(
        lambda make, left, right: make(left, right),
        st.sampled_from(MAKERS),
        inner,
        inner,
    ),
    max_leaves=8,
)


@given(BOUNDS, BOUNDS, st.lists(st.integers(-20, 20), min_size=3, max_size=3))
def test_the_normal_form_means_the_same_number(left, right, numbers):
    at = dict(zip((n, m, START), numbers, strict=True)).__getitem__
    ours, theirs = bounds.evaluate(left, at), bounds.evaluate(right, at)

    for make, meaning in (
        (bounds.add, ours + theirs),
        (bounds.subtract, ours - theirs),
        (bounds.multiply, ours * theirs),
        (bounds.minimum, min(ours, theirs)),
        (bounds.maximum, max(ours, theirs)),
    ):
        assert bounds.evaluate(make(left, right), at) == meaning
    apart = bounds.difference(left, right)
    assert apart is None or apart == ours - theirs


def test_a_deep_bound_is_evaluated_without_recursion():
    deep: bounds.Bound = n
    for _ in range(5000):
        deep = Apply("floordiv", (deep, Const(1)))

    assert bounds.evaluate(deep, {n: 3}.__getitem__) == 3


def chain(length: int) -> bounds.Range:
    """Rows of rows of rows: each range stands twice in the next."""
    start, stop = START, n
    for _ in range(length):
        low, high = bounds.table_range("C2C", start, stop)
        start, stop = bounds.minimum(start, low), bounds.maximum(stop, high)
    return Range(I, start, stop)


def test_no_rows_have_no_entries():
    assert bounds.table_range("E2C", n, bounds.add(n, -1)) == (Const(0), Const(0))


def test_a_table_is_asked_for_rows_by_their_numbers():
    low, _ = bounds.table_range("E2C", n, bounds.add(m, 1))
    asked = []

    def value_of(symbol):
        if isinstance(symbol, bounds.TableBound):
            asked.append(str(symbol))
            return 40
        return {n: 3, m: 7}[symbol]

    assert bounds.evaluate(bounds.add(low, 2), value_of) == 42
    assert asked == ["lowest(E2C, 3, 8)"]


def test_bounds_that_share_their_parts_are_handled_once_for_each_part():
    ours, theirs = chain(300), chain(300)  # as trees they have 2**300 leaves

    assert ours == theirs
    assert hash(ours) == hash(theirs)
    assert ours != chain(299)
    assert sum(1 for _ in bounds.parts(ours.start)) < 2000
    assert bounds.evaluate(ours.stop, lambda _: 5) == 5


def test_constants_move_through_a_deep_nest_without_writing_it_anew():
    bound: bounds.Bound = n
    for index in range(300):
        bound = bounds.maximum(bounds.add(bounds.minimum(bound, m), index), START)

    assert bounds.difference(bounds.add(bound, 5), bound) == 5
    assert sum(1 for _ in bounds.parts(bound)) < 2000


def test_a_symbol_without_a_name_has_a_key_too():
    nameless = ScalarSymbol("")

    assert bounds.key_of(bounds.TableBound("lowest", "E2C", nameless, Const(3)))
