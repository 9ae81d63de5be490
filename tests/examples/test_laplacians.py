"""Laplacians: exact for a quadratic field."""

import attrs
import numpy as np
import pytest
from cases import laplacians

import fieldforge as ff

from .measured import run

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(params=laplacians.CASES, ids=lambda make: make.__name__)
def make(request):
    return request.param


def test_the_laplacian_of_a_square_is_two(make):
    case = make("float64", 0.08)
    domain = case.arguments["u"].domain
    place = np.arange(domain.shape[0], dtype=np.float64)[:, None, None]
    square = ff.as_field(domain, np.broadcast_to(place * place, domain.shape), allocator=ff.cpu)

    result = run(attrs.evolve(case, arguments={**case.arguments, "u": square}), ff.cpu)

    np.testing.assert_allclose(result["out"], 2.0, rtol=0.0, atol=1e-11)
