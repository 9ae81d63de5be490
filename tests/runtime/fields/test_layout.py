import itertools

import numpy as np
import pytest

from fieldforge.runtime.fields.layout import ALIGNMENT, PAGE, allocate, memory_order, padded_strides
from fieldforge.runtime.language.dimension import Dimension, DimensionKind

I, J, V = Dimension("I"), Dimension("J"), Dimension("V")
K = Dimension("K", DimensionKind.VERTICAL)
L = Dimension("V2E", DimensionKind.LOCAL)


@pytest.mark.parametrize(
    ("dims", "order"),
    [
        ((), ()),
        ((I,), (0,)),
        ((K,), (0,)),
        ((I, J), (0, 1)),
        ((I, J, K), (0, 1, 2)),
        ((K, J, I), (1, 2, 0)),
        ((V, K), (1, 0)),
        ((K, V), (0, 1)),
        ((V, L), (1, 0)),
        ((V, L, K), (2, 1, 0)),
    ],
)
def test_the_first_horizontal_of_several_is_contiguous_and_else_the_column(dims, order):
    assert memory_order(dims) == order


def test_rows_are_padded_to_whole_cache_lines():
    assert padded_strides((3, 2, 4), (0, 1, 2), itemsize=8) == (8, 64, 128)
    assert padded_strides((100, 65), (1, 0), itemsize=4) == (320, 4)
    assert padded_strides((5,), (0,), itemsize=8) == (8,)
    assert padded_strides((1, 5), (0, 1), itemsize=8) == (8, 8)


def test_strides_need_more_than_32_bits_for_large_shapes():
    assert padded_strides((4096, 4096, 1000), (0, 1, 2), itemsize=8)[2] == 4096 * 4096 * 8


@pytest.mark.parametrize("index", [(0, 0, 0), (1, 0, 0), (3, 2, 1)])
def test_every_row_is_aligned_at_the_aligned_index(index):
    array = allocate((11, 5, 3), (I, J, K), np.dtype(np.float32), aligned_index=index)

    start = array.__array_interface__["data"][0]
    for row in itertools.product(range(5), range(3)):
        place = (index[0], *row)
        address = start + sum(i * s for i, s in zip(place, array.strides, strict=True))
        assert address % 64 == 0


def test_elements_do_not_overlap():
    array = allocate((7, 3, 2), (I, J, K), np.dtype(np.float64))

    array[...] = np.arange(42).reshape(7, 3, 2)

    assert np.array_equal(array, np.arange(42).reshape(7, 3, 2))


def test_zeroed_memory_is_zero_and_empty_shapes_are_allowed():
    assert not allocate((9, 9), (I, J), np.dtype(np.int32), zeroed=True).any()
    assert allocate((0, 4), (I, J), np.dtype(np.int32)).shape == (0, 4)
    assert allocate((), (), np.dtype(bool)).shape == ()


def test_large_arrays_begin_at_different_places_of_a_page():
    first, second = (
        allocate((2, 1 << 18), (I, J), np.dtype(np.float64), aligned_index=(1, 3)) for _ in "ab"
    )

    places = {array.ctypes.data % PAGE for array in (first, second)}
    assert len(places) == 2
    assert all(array[1:, 3:].ctypes.data % ALIGNMENT == 0 for array in (first, second))
    assert (first.strides, first.shape) == (second.strides, second.shape)
