import numpy as np
import pytest

from fieldforge.runtime.fields.constructors import as_field
from fieldforge.runtime.fields.indexing import resolve
from fieldforge.runtime.language.domain import Domain, NamedRange, domain
from fieldforge.runtime.language.ranges import UnitRange
from fieldforge.runtime.process.errors import IndexOutOfBounds

from ...dimensions import I, J, K

BOX = Domain((I, (2, 7)), (J, (0, 3)))


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, {J: (0, 3)}),
        (-1, {J: (0, 3)}),
        ((1, -3), {}),
        (slice(1, 3), {I: (3, 5), J: (0, 3)}),
        ((slice(None), slice(-2, None)), {I: (2, 7), J: (1, 3)}),
        ((..., 0), {I: (2, 7)}),
        ((slice(1, -1), ...), {I: (3, 6), J: (0, 3)}),
        ((..., slice(1, 2), slice(None)), {I: (3, 4), J: (0, 3)}),
        (..., {I: (2, 7), J: (0, 3)}),
        ((), {I: (2, 7), J: (0, 3)}),
        (slice(5, 5), {I: 0, J: (0, 3)}),
        (slice(3, 1), {I: 0, J: (0, 3)}),
        (np.int64(1), {J: (0, 3)}),
    ],
)
def test_9_2_relative_indices_count_from_the_first_element(index, expected):
    places, left = resolve(BOX, index)

    assert left == domain(expected)
    assert np.empty(BOX.shape)[places].shape == left.shape


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (I(3), {J: (0, 3)}),
        (slice(I(3), I(5)), {I: (3, 5), J: (0, 3)}),
        (slice(None, I(5)), {I: (2, 5), J: (0, 3)}),
        (slice(J(1), None), {I: (2, 7), J: (1, 3)}),
        ((J(1), I(6)), {}),
        ((slice(J(1), J(2)), I(6)), {J: (1, 2)}),
        (NamedRange(J, UnitRange(1, 3)), {I: (2, 7), J: (1, 3)}),
        ((NamedRange(J, UnitRange(1, 3)), I(2)), {J: (1, 3)}),
        (Domain((J, (0, 2)), (I, (4, 6))), {I: (4, 6), J: (0, 2)}),
        (Domain((I, (4, 4))), {I: 0, J: (0, 3)}),
    ],
)
def test_9_2_absolute_indices_name_their_dimension(index, expected):
    places, left = resolve(BOX, index)

    assert left == domain(expected)
    assert np.empty(BOX.shape)[places].shape == left.shape


@pytest.mark.parametrize(
    ("index", "says"),
    [
        (5, "Index 5 of dimension 'I.*' is outside"),
        (-6, "Index -6"),
        (slice(0, 6), "Slice '0:6'"),
        (slice(-6, None), "Slice '-6:'"),
        ((0, 0, 0), "Too many indices"),
        (slice(0, 4, 2), "step of a slice must be 1"),
        ((..., ...), "at most once"),
        (1.5, "Expected an integer"),
        (True, "Expected an integer"),
        (I(1), "Index 1"),
        (I(7), "Index 7"),
        (slice(I(1), I(3)), r"Range \(1:3\)"),
        (K(0), "no dimension 'K"),
        ((I(3), I(4)), "indexed twice"),
        ((I(3), 1), "cannot be mixed"),
        (slice(I(3), J(4)), "indices of one dimension"),
        (slice(I(3), 4), "indices of one dimension"),
        (slice(I(3), I(5), 2), "step of a slice must be 1"),
        (Domain((I, (0, 3))), r"Range \(0:3\)"),
        (NamedRange(I, UnitRange.infinite()), "outside"),
    ],
)
def test_9_2_nothing_is_ever_clipped(index, says):
    with pytest.raises(IndexOutOfBounds, match=says):
        resolve(BOX, index)


def test_an_index_out_of_bounds_is_an_index_error():
    with pytest.raises(IndexError):
        resolve(BOX, 9)


def test_9_2_relative_indexing_agrees_with_numpy_everywhere():
    data = np.arange(15).reshape(5, 3)
    field = as_field(BOX, data)
    for start in range(-5, 6):
        for stop in range(-5, 6):
            assert np.array_equal(field[start:stop].asnumpy(), data[start:stop])
