"""Examples that are measured: the benchmark's programs and kernels do one arithmetic."""

import pytest
from cases import diffusion, laplacians, precipitation, tridiagonal, vertical_advection

from .measured import assert_all_agree

MEASURED = (diffusion, laplacians, precipitation, tridiagonal, vertical_advection)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("make", [each for case in MEASURED for each in case.CASES])
def test_embedded_compiled_numpy_and_every_kernel_give_the_same_bits(make, dtype, cpu):
    assert_all_agree(make(dtype, 0.08), dtype, cpu)
