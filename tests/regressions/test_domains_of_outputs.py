"""Outputs of other sizes that an operator writes on one `domain=`."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64

I = ff.Dimension("I")


@ff.field_operator
def twice(a: Field[Dims[I], float64]) -> tuple[Field[Dims[I], float64], Field[Dims[I], float64]]:
    return a + 1.0, a * 2.0


@pytest.mark.needs_compiler
def test_outputs_of_other_sizes_may_share_a_domain():
    a = ff.as_field((I,), np.arange(9.0))
    small, large = ff.zeros({I: 5}), ff.zeros({I: 9})

    twice.with_backend(ff.cpu)(a, out=(small, large), domain={I: (1, 4)})

    np.testing.assert_array_equal(small.asnumpy(), [0.0, 2.0, 3.0, 4.0, 0.0])
    np.testing.assert_array_equal(large.asnumpy(), [0.0, 2.0, 4.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0])
