"""Section 1.3: ranges of indices."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fieldforge.runtime.language.ranges import Infinity, UnitRange, unit_range

BOUND = st.integers(-20, 20)
RANGE = st.builds(UnitRange, BOUND, BOUND)


def test_1_3_empty_ranges_normalise():
    assert UnitRange(5, 5) == UnitRange(7, 2) == UnitRange(0, 0)
    assert (UnitRange(7, 2).start, UnitRange(7, 2).stop) == (0, 0)
    assert UnitRange(Infinity.POSITIVE, Infinity.NEGATIVE).is_empty()
    assert (UnitRange(1, 2) & UnitRange(4, 6)) == UnitRange(0, 0)


@given(RANGE, RANGE, st.integers(-5, 5))
def test_1_3_a_range_is_the_set_of_its_indices(a, b, n):
    assert set(a & b) == set(a) & set(b)
    assert [i + n for i in a] == list(a + n)
    assert a - n == a + -n
    assert (a <= b) == (set(a) <= set(b))
    assert (a < b) == (set(a) < set(b))
    assert (a >= b) == (set(a) >= set(b))
    assert (a > b) == (set(a) > set(b))
    assert (a == b) == (set(a) == set(b))
    assert len(a) == len(list(a))


@given(RANGE, st.none() | st.integers(-25, 25), st.none() | st.integers(-25, 25))
def test_1_3_slices_are_those_of_a_sequence(a, start, stop):
    assert list(a[start:stop]) == list(a)[start:stop]


def test_1_3_indexing_counts_from_either_end():
    r = UnitRange(2, 7)

    assert (r[0], r[4], r[-1]) == (2, 6, 6)
    assert 6 in r
    assert 7 not in r
    assert "x" not in r
    with pytest.raises(IndexError, match="outside the range"):
        r[5]
    with pytest.raises(ValueError, match="step 1"):
        r[::2]


def test_1_3_infinite_ranges_know_their_finite_side():
    left = UnitRange(3, Infinity.POSITIVE)

    assert (left.is_left_finite(), left.is_right_finite(), left.is_finite()) == (True, False, False)
    assert UnitRange.is_finite(UnitRange(0, 1))
    assert left[0] == 3
    assert 10**9 in left
    assert left + 2 == UnitRange(5, Infinity.POSITIVE)
    assert UnitRange.infinite() & UnitRange(1, 4) == UnitRange(1, 4)
    assert UnitRange(1, 4) < UnitRange.infinite()
    with pytest.raises(ValueError, match="infinite"):
        left[-1]
    with pytest.raises(ValueError, match="has no length"):
        len(left)
    with pytest.raises(ValueError, match="finite range"):
        list(left)


def test_1_3_a_range_shows_its_bounds():
    assert str(UnitRange(0, 5)) == "(0:5)"
    assert str(UnitRange.infinite()) == "(-inf:inf)"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (UnitRange(1, 2), UnitRange(1, 2)),
        (range(2, 5), UnitRange(2, 5)),
        ((2, 5), UnitRange(2, 5)),
        ((None, 5), UnitRange(Infinity.NEGATIVE, 5)),
        ((2, None), UnitRange(2, Infinity.POSITIVE)),
        (4, UnitRange(0, 4)),
        (np.int32(4), UnitRange(0, 4)),
        (None, UnitRange.infinite()),
    ],
)
def test_1_3_unit_range_takes_many_forms(given, expected):
    assert unit_range(given) == expected


@pytest.mark.parametrize("wrong", [range(0, 5, 2), range(0, 4, 2), "ab", 2.5, (1, 2, 3), (1.5, 2)])
def test_1_3_unit_range_refuses_the_rest(wrong):
    with pytest.raises(ValueError, match="Expected"):
        unit_range(wrong)


def test_1_3_infinity_is_beyond_every_integer():
    assert Infinity.NEGATIVE < -(10**30) < Infinity.POSITIVE
    assert -Infinity.POSITIVE is Infinity.NEGATIVE
    assert Infinity.POSITIVE - 3 is Infinity.POSITIVE
    assert not Infinity.POSITIVE < Infinity.POSITIVE
    assert max(3, Infinity.NEGATIVE) == 3
