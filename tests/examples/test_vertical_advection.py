"""Implicit vertical advection: the physics of a column."""

import attrs
import numpy as np
import pytest
from cases import vertical_advection

import fieldforge as ff

from .measured import run

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(params=vertical_advection.CASES, ids=lambda make: make.__name__)
def make(request):
    return request.param


def test_a_uniform_wind_is_not_changed_by_advection(make):
    case = make("float64", 0.08)
    uniform = ff.full(case.arguments["u"].domain, 10.0, allocator=ff.cpu)
    nothing = ff.zeros(uniform.domain, allocator=ff.cpu)
    still = {"u": uniform, "u_before": uniform, "tendency": nothing}

    result = run(attrs.evolve(case, arguments={**case.arguments, **still}), ff.cpu)

    np.testing.assert_allclose(result["new_tendency"], 0.0, atol=1e-12)
