"""Section 1.3: domains."""

import pickle

import pytest

from fieldforge.runtime.language.domain import (
    Domain,
    Infinity,
    NamedRange,
    UnitRange,
    domain,
    named_range,
)

from ...dimensions import I, J, K

BOX = domain({I: (1, 5), J: 3, K: (0, 2)})


def test_1_3_a_domain_is_built_in_many_ways():
    pairs = [NamedRange(I, UnitRange(1, 5)), NamedRange(J, UnitRange(0, 3))]
    expected = domain({I: (1, 5), J: 3})

    assert Domain(*pairs) == expected
    assert Domain(dims=(I, J), ranges=(UnitRange(1, 5), UnitRange(0, 3))) == expected
    assert domain(pairs) == expected
    assert domain(((I, (1, 5)), (J, 3))) == expected
    assert domain(expected) is expected
    assert domain({I: range(1, 5), J: None})[J].unit_range == UnitRange.infinite()
    assert domain(pairs[0]) == domain({I: (1, 5)})


def test_1_3_named_range_takes_a_pair():
    assert named_range((I, 4)) == NamedRange(I, UnitRange(0, 4))
    assert str(named_range((I, 4))) == "I[horizontal]=(0:4)"


def test_1_3_a_dimension_may_occur_once():
    with pytest.raises(NotImplementedError, match="each dimension once"):
        domain([(I, 3), (I, 4)])


@pytest.mark.parametrize("wrong", [3, "IJ", [I, J], {"I": 3}, [(I, "x")]])
def test_1_3_what_is_no_domain_is_refused(wrong):
    with pytest.raises(ValueError, match="Expected"):
        domain(wrong)


def test_1_3_constructor_needs_as_many_ranges_as_dims():
    with pytest.raises(ValueError, match="a range for each dimension"):
        Domain(dims=(I, J), ranges=(UnitRange(0, 1),))


def test_1_3_the_order_of_dimensions_is_kept_and_not_checked():
    assert domain({K: 2, I: 3}).dims == (K, I)


def test_1_3_members():
    assert BOX.dims == (I, J, K)
    assert BOX.ranges == (UnitRange(1, 5), UnitRange(0, 3), UnitRange(0, 2))
    assert (BOX.ndim, BOX.shape, BOX.size, len(BOX)) == (3, (4, 3, 2), 24, 3)
    assert Domain().shape == ()
    assert Domain().size == 1
    assert (I < 3).size is None
    assert Domain.is_finite(BOX)
    assert not Domain.is_finite(I < 3)
    assert domain({I: (3, 3), J: 2}).is_empty()
    assert not BOX.is_empty()
    assert str(domain({I: (1, 5)})) == "Domain(I[horizontal]=(1:5))"


def test_1_3_a_domain_is_a_sequence_of_named_ranges():
    assert BOX[0] == NamedRange(I, UnitRange(1, 5))
    assert BOX[-1] == NamedRange(K, UnitRange(0, 2))
    assert BOX[1:] == domain({J: 3, K: 2})
    assert [dim for dim, _ in BOX] == [I, J, K]
    assert BOX[J] == NamedRange(J, UnitRange(0, 3))
    assert I in BOX
    assert NamedRange(J, UnitRange(0, 3)) in BOX
    assert hash(BOX) == hash(domain(dict(BOX)))
    assert pickle.loads(pickle.dumps(BOX)) == BOX


def test_1_3_an_absent_dimension_is_a_key_error():
    with pytest.raises(KeyError, match="No dimension 'K"):
        (I < 3)[K]


def test_1_3_a_union_joins_ranges_that_touch():
    assert domain({I: (0, 3)}) | domain({I: (3, 5)}) == domain({I: (0, 5)})
    assert (I < 4) | (I > 2) == domain({I: None})
    assert domain({I: (3, 3)}) | domain({I: (5, 7)}) == domain({I: (5, 7)})


@pytest.mark.parametrize("other", [I == 5, J == 1, domain({I: 1, J: 1})])
def test_1_3_any_other_union_is_not_implemented(other):
    with pytest.raises(NotImplementedError):
        domain({I: (0, 3)}) | other


def test_1_3_slice_at_cuts_relative_to_the_start():
    assert BOX.slice_at[1:-1, :, 1:] == domain({I: (2, 4), J: 3, K: (1, 2)})
    assert domain({I: (1, 5)}).slice_at[2:] == domain({I: (3, 5)})
    with pytest.raises(ValueError, match="Expected 3 slices"):
        BOX.slice_at[1:-1]
    with pytest.raises(ValueError, match="Expected slices"):
        BOX.slice_at[1, 2, 3]


def test_1_3_dim_index():
    assert BOX.dim_index(K) == 2
    assert (I < 3).dim_index(K) is None
    with pytest.raises(ValueError, match="No dimension 'K"):
        (I < 3).dim_index(K, allow_missing=False)


def test_1_3_pop_insert_and_replace_return_new_domains():
    ij = domain({I: (1, 5), J: 3})
    k = NamedRange(K, UnitRange(0, 2))

    assert BOX.pop(K) == BOX.pop(2) == BOX.pop() == ij
    assert ij.insert(J, k) == ij.insert(1, k) == domain({I: (1, 5), K: 2, J: 3})
    assert ij.insert(2, k) == BOX
    assert ij.replace(J, k) == ij.replace(-1, k) == domain({I: (1, 5), K: 2})
    assert ij == domain({I: (1, 5), J: 3})
    with pytest.raises(IndexError, match="outside"):
        ij.replace(2, k)


def test_1_3_infinity_can_be_imported_beside_domains():
    assert (I > 2)[I].unit_range.stop is Infinity.POSITIVE
