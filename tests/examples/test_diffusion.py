"""Horizontal diffusion: the benchmark's program and kernels do one arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from cases import diffusion

import fieldforge as ff

from .measured import assert_same, run

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(params=diffusion.CASES, ids=lambda make: make.__name__)
def make(request):
    return request.param


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_embedded_compiled_numpy_and_every_kernel_give_the_same_bits(make, dtype):
    case = make(dtype, 0.08)

    expected = case.in_numpy()

    assert all(array.dtype == dtype and np.ptp(array) > 0.0 for array in expected.values())
    assert_same(run(case, None), expected)
    assert_same(run(case, ff.cpu), expected)
    for by_hand in case.by_hand.values():
        assert_same(by_hand(), expected)
