"""Horizontal diffusion: the benchmark's program and kernels do one arithmetic."""

from __future__ import annotations

import pytest
from cases import diffusion

from .measured import assert_all_agree

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(params=diffusion.CASES, ids=lambda make: make.__name__)
def make(request):
    return request.param


def test_embedded_compiled_numpy_and_every_kernel_give_the_same_bits(make, dtype, cpu):
    assert_all_agree(make(dtype, 0.08), dtype, cpu)
