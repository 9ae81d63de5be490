import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.runtime.fields.field import make

from .executions import agree

I, J = ff.Dimension("I"), ff.Dimension("J")

pytestmark = pytest.mark.needs_compiler

# Our own constructors make I the contiguous one of these two dimensions.


@ff.field_operator(backend=None)
def next_row(a: Field[Dims[I, J], float64]) -> Field[Dims[I, J], float64]:
    return a(J + 1)


def row(start, array):
    """Make a field of one point along I, which begins at `start`; the array is not copied."""
    return make(array, ff.domain({I: (start, start + 1), J: (0, array.shape[1])}))


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda wide: wide[:1, :5], id="part-of-a-larger-array"),
        pytest.param(lambda wide: wide[:1, :10:2], id="gaps"),
        pytest.param(lambda wide: wide[::-1, ::-1][:1, :5], id="backwards"),
    ],
)
@pytest.mark.parametrize("start", [0, 3, -2])
def test_axis_of_one_element_may_have_any_stride(view, start):
    def arguments():
        a = view(np.arange(20.0).reshape(2, 10))
        return {"a": row(start, a), "out": row(start, np.zeros((1, 4)))}

    meant = agree(next_row, arguments)

    assert meant["out"].tolist() == view(np.arange(20.0).reshape(2, 10))[:, 1:].tolist()


def test_output_of_one_element_along_the_contiguous_dimension_is_written_in_its_place():
    wide = np.zeros((2, 12))

    def arguments():
        wide[...] = 0.0
        return {"a": row(5, np.arange(5.0).reshape(1, 5)), "out": row(5, wide[:1, 2:10:2])}

    agree(next_row, arguments)

    assert wide[0].tolist() == [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0, 0]
    assert not wide[1].any()
