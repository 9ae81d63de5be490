"""The tridiagonal solve: it solves the systems."""

import numpy as np
import pytest
from cases import tridiagonal

import fieldforge as ff

from .measured import run

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(params=tridiagonal.CASES, ids=lambda make: make.__name__)
def make(request):
    return request.param


def test_the_solution_solves_the_system(make):
    case = make("float64", 0.08)
    a, b, c, d = (case.arguments[name].asnumpy() for name in "abcd")

    x = run(case, ff.cpu)["x"]

    left = b * x
    left[..., 1:] += a[..., 1:] * x[..., :-1]
    left[..., :-1] += c[..., :-1] * x[..., 1:]
    np.testing.assert_allclose(left, d, rtol=0.0, atol=1e-14)
