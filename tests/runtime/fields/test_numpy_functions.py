"""NumPy's functions and reductions on fields agree with those on their arrays."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError, DomainError, IndexOutOfBounds

I, J = ff.Dimension("I"), ff.Dimension("J")
VALUES = np.array([[4.0, -1.0], [9.0, 2.5], [0.25, np.nan]])


@pytest.fixture
def u():
    return ff.as_field({I: (2, 5), J: 2}, VALUES)


@pytest.mark.parametrize("function", [np.maximum, np.arctan2, np.add, np.less, np.power])
def test_functions_of_two_fields_meet_on_the_common_domain(u, function):
    other = ff.full({I: (3, 7), J: 2}, 2.0)

    result = function(u, other)

    assert result.domain == ff.domain({I: (3, 5), J: 2})
    np.testing.assert_array_equal(result.asnumpy(), function(VALUES[1:], 2.0))


def test_numbers_of_numpy_stand_on_both_sides(u):
    for result in (np.float64(2.0) * u, u * np.float64(2.0), np.multiply(2.0, u)):
        np.testing.assert_array_equal(result.asnumpy(), 2.0 * VALUES)
    assert (np.float32(2.0) * ff.ones({I: 2}, ff.float32)).dtype == np.float32
    np.testing.assert_array_equal((np.int64(2) > u).asnumpy(), VALUES < 2)


def test_logic_is_that_of_fields(u):
    mask = u > 1.0

    assert np.invert(mask).asnumpy().tolist() == (~(VALUES > 1.0)).tolist()
    with pytest.raises(NotImplementedError, match="fields of bool"):
        np.invert(u)


@pytest.mark.parametrize("name", ["max", "min", "sum", "mean"])
@pytest.mark.parametrize(("axis", "place"), [(None, None), (I, 0), (J, 1), ((I, J), (0, 1))])
def test_reductions_are_those_of_the_array(u, name, axis, place):
    result = getattr(u, name)(axis=axis)

    expected = getattr(VALUES, name)(axis=place)
    np.testing.assert_array_equal(np.asarray(result), expected)
    if axis in (I, J):
        assert result.domain == u.domain.pop(axis)


def test_numpy_calls_the_reductions(u):
    finite = u[:, 0]

    assert np.max(finite) == 9.0
    assert np.sum(finite) == 13.25
    assert bool(np.any(u > 8.0))
    assert not np.all(u > 8.0)


def test_the_length_is_that_of_the_first_axis(u):
    assert len(u) == 3
    with pytest.raises(TypeError, match="no length"):
        len(u[2, 0])


@pytest.mark.parametrize("mixed", [lambda a, u: a + u, lambda a, u: u + a, np.maximum])
def test_an_array_beside_a_field_is_refused_with_advice(u, mixed):
    with pytest.raises(ArgumentError, match="as_field"):
        mixed(np.ones((3, 2)), u)


def test_what_has_no_meaning_is_refused(u):
    with pytest.raises(ArgumentError, match=r"'np\.add\.reduce'"):
        np.add.reduce(u)
    with pytest.raises(ArgumentError, match="'out='"):
        np.sqrt(u, out=u)
    with pytest.raises(ArgumentError, match=r"'np\.modf'"):
        np.modf(u)
    with pytest.raises(DomainError, match="'K'"):
        u.max(axis=ff.Dimension("K"))


def test_full_slices_stand_beside_named_indices(u):
    assert u[I(3), :].asnumpy().tolist() == [9.0, 2.5]
    assert u[..., J(0)].asnumpy().tolist() == [4.0, 9.0, 0.25]
    with pytest.raises(IndexOutOfBounds, match="mixed"):
        u[I(3), 0]
