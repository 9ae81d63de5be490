"""Fields along slots, as transposed tables list them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.runtime.process.errors import MissingOffsetError

from ...dimensions import E2V, E2VDim, Edge, K, Koff, Vertex

ENTRIES = np.array([[0, 1], [1, 3], [0, -1]])  # nothing has vertex 2 for an end
LISTED = [[(0, 0), (2, 0)], [(0, 1), (1, 0)], [], [(1, 1)]]


def table():
    return ff.as_connectivity([Edge, E2VDim], Vertex, ENTRIES, skip_value=-1)


def test_values_lie_where_the_transposed_table_lists_them():
    values = np.arange(6.0).reshape(3, 2) + 1.0
    weights = ff.as_field([Edge, E2VDim], values)

    found = ff.transposed_field(weights, E2V, {"E2V": table()})

    expected = [[values[at] for at in own] + [0.0] * (2 - len(own)) for own in LISTED]
    assert [dim.value for dim in found.dims] == ["Vertex", "E2V_t"]
    assert_array_equal(found.asnumpy(), expected)
    assert found.ndarray.strides[0] == 8  # rows are columns in memory, as those of the table


def test_levels_stay_and_indices_begin_where_they_did():
    values = np.arange(24.0).reshape(3, 2, 4)
    weights = ff.as_field({Edge: 3, E2VDim: 2, K: (5, 9)}, values)

    found = ff.transposed_field(weights, E2V, {"E2V": table()})

    assert found.domain == ff.domain({Vertex: 4, found.dims[1]: 2, K: (5, 9)})
    for row, own in enumerate(LISTED):
        for place, at in enumerate(own):
            assert_array_equal(found.asnumpy()[row, place], values[at])


def test_values_of_rows_that_a_field_lacks_are_zero():
    weights = ff.as_field({Edge: (1, 3), E2VDim: 2}, [[1.0, 2.0], [3.0, 4.0]])

    found = ff.transposed_field(weights, E2V, {"E2V": table()})

    assert found.asnumpy().tolist() == [[0.0, 3.0], [0.0, 1.0], [0.0, 0.0], [2.0, 0.0]]


def test_a_field_without_slots_is_refused():
    with pytest.raises(ArgumentError, match=r"slots of 'E2V', got one on \(Edge\)"):
        ff.transposed_field(ff.zeros({Edge: 3}), E2V, {"E2V": table()})


def test_a_shift_has_no_slots():
    with pytest.raises(ArgumentError, match="slots of 'Koff'"):
        ff.transposed_field(ff.zeros({K: 3}), Koff, {"E2V": table()})


def test_a_table_that_is_not_there_is_named():
    weights = ff.zeros({Edge: 3, E2VDim: 2})

    with pytest.raises(MissingOffsetError, match="'E2V'"):
        ff.transposed_field(weights, E2V, {"V2E": table()})
