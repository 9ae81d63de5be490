"""Fields on a GPU that are added to others: the values of the host, by one kernel."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.runtime.calls import device_add

I, J, K = ff.Dimension("I"), ff.Dimension("J"), ff.Dimension("K", ff.DimensionKind.VERTICAL)


@pytest.fixture
def simulated():
    """Use the null platform, whose driver finds what a call does wrong."""
    with gpu.use_platform("null"):
        gpu.null.forget_problems()
        yield ff.gpu
        assert gpu.null.problems() == []
    device_add._kernel.cache_clear()


@pytest.mark.parametrize("domain", [{I: 5}, {I: (-2, 3), J: 7}, {I: 4, J: 3, K: 6}, {I: 0, J: 3}])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_sum_on_the_device_is_that_of_the_host(simulated, domain, dtype):
    target = ff.zeros(domain, dtype=dtype, allocator=simulated)
    one, two = (
        np.random.default_rng(seed).normal(size=target.shape).astype(dtype) for seed in (1, 2)
    )
    target, source = (ff.as_field(domain, each, allocator=simulated) for each in (one, two))

    device_add.add_on_device(target, source)

    np.testing.assert_array_equal(target.asnumpy(), one + two)
    np.testing.assert_array_equal(source.asnumpy(), two)


def test_fields_of_other_layouts_are_added_by_points(simulated):
    domain = {I: 4, J: 3}
    whole = ff.as_field(
        {I: (-1, 6), J: (-2, 5)}, np.arange(49.0).reshape(7, 7), allocator=simulated
    )
    target = ff.zeros(domain, allocator=simulated)
    part = whole[I(0) : I(4), J(0) : J(3)]

    device_add.add_on_device(target, part)

    np.testing.assert_array_equal(target.asnumpy(), np.arange(49.0).reshape(7, 7)[1:5, 2:5])
