"""Sections 1.1, 1.2 and 1.5: dimensions as names and as operands."""

import copy
import operator
import pickle

import numpy as np
import pytest

from fieldforge.runtime.language.dimension import (
    Dimension,
    DimensionKind,
    check_dims,
    flip_staggered,
    promote_dims,
)
from fieldforge.runtime.language.domain import Domain, Infinity, UnitRange

from ...dimensions import I, J, K

V2E = Dimension("V2E", kind=DimensionKind.LOCAL)
E2C = Dimension("E2C", kind=DimensionKind.LOCAL)


def test_1_1_equal_name_and_kind_is_the_same_dimension():
    assert Dimension("I") is I
    assert Dimension("I") == I
    assert (J == I, I != J, flip_staggered(I) == I) == (False, True, False)
    assert Dimension("I", DimensionKind.VERTICAL) != I
    assert {I: 1}[Dimension("I")] == 1
    assert pickle.loads(pickle.dumps(K)) is K
    assert copy.deepcopy(I) is I


def test_1_1_equality_of_dimensions_is_a_plain_bool():
    assert (I == J) is False
    assert (I != J) is True
    assert (I == "I") is False
    assert (I == None) is False  # noqa: E711 - that is the test


def test_1_1_a_dimension_shows_name_and_kind():
    assert str(K) == "K[vertical]"
    assert str(DimensionKind.LOCAL) == "local"
    assert DimensionKind("horizontal") is DimensionKind.HORIZONTAL


def test_1_1_a_dimension_cannot_be_changed():
    with pytest.raises(AttributeError, match="immutable"):
        I.value = "J"
    with pytest.raises(AttributeError, match="immutable"):
        del I.value


@pytest.mark.parametrize(
    ("region", "start", "stop"),
    [
        (I < 3, Infinity.NEGATIVE, 3),
        (I <= 3, Infinity.NEGATIVE, 4),
        (I > 3, 4, Infinity.POSITIVE),
        (I >= 3, 3, Infinity.POSITIVE),
        (I == 3, 3, 4),
        (operator.gt(3, I), Infinity.NEGATIVE, 3),
        (operator.lt(3, I), 4, Infinity.POSITIVE),
        (operator.eq(3, I), 3, 4),
        (np.int32(3) < I, 4, Infinity.POSITIVE),
        (operator.ge(I, np.int32(3)), 3, Infinity.POSITIVE),
    ],
)
def test_1_1_a_comparison_with_an_integer_is_a_domain(region, start, stop):
    assert region == Domain(dims=(I,), ranges=(UnitRange(start, stop),))


def test_1_1_unequal_to_an_integer_is_two_parts_and_refused():
    with pytest.raises(NotImplementedError, match="two disjoint parts"):
        I != 3  # noqa: B015 - that is the test


def test_1_1_comparison_with_anything_else_is_refused():
    with pytest.raises(TypeError):
        I < 2.5  # noqa: B015 - that is the test
    with pytest.raises(TypeError):
        I < J  # noqa: B015 - that is the test


def test_1_2_promotion_is_the_union_in_canonical_order():
    assert promote_dims((J, K), (I,), (V2E, K)) == (I, J, V2E, K)
    assert promote_dims() == ()
    assert promote_dims((flip_staggered(I), J), (K,)) == (flip_staggered(I), J, K)


def test_1_2_dimensions_out_of_order_are_refused():
    with pytest.raises(ValueError, match="are not ordered correctly, expected") as caught:
        promote_dims((I, J), (K, I))
    assert str(caught.value) == (
        "Dimensions 'K[vertical], I[horizontal]' are not ordered correctly, "
        "expected 'I[horizontal], K[vertical]'."
    )


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ((E2C, V2E), "more than one local dimension"),
        ((I, flip_staggered(I)), "staggered counterpart"),
        ((I, I), "name a dimension twice"),
    ],
)
def test_1_2_dimensions_that_no_field_can_have_are_refused(dims, message):
    with pytest.raises(ValueError, match=message):
        check_dims(dims)


def test_1_2_promotion_may_not_bring_two_local_dimensions_together():
    with pytest.raises(ValueError, match="more than one local dimension"):
        promote_dims((V2E,), (E2C,))
