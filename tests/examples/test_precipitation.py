"""Precipitation: no water is lost."""

import attrs
import numpy as np
import pytest
from cases import precipitation

import fieldforge as ff

from .measured import run

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(params=precipitation.CASES, ids=lambda make: make.__name__)
def make(request):
    return request.param


def test_the_water_that_a_column_loses_is_its_precipitation(make):
    case = make("float64", 0.08)
    given = {name: case.arguments[name].asnumpy() for name in precipitation.INPUTS}
    air = given["density"] * given["thickness"]

    new = run(case, ff.cpu)

    before = sum(given[kind] for kind in precipitation.WATER)
    after = sum(new[f"new_{kind}"] for kind in precipitation.WATER)
    lost = np.sum(air * (before - after), axis=-1)
    assert np.all(lost > 0.0)
    np.testing.assert_allclose(lost, precipitation.STEP * new["flux"][..., -1], rtol=1e-10)
    assert all(np.min(new[f"new_{kind}"]) >= -1e-18 for kind in precipitation.WATER)


def test_dry_air_stays_as_it_is(make):
    case = make("float64", 0.08)
    nothing = ff.zeros(case.arguments["t"].domain, allocator=ff.cpu)
    dry = dict.fromkeys(precipitation.WATER[1:], nothing)

    new = run(attrs.evolve(case, arguments={**case.arguments, **dry}), ff.cpu)

    np.testing.assert_array_equal(new["new_t"], case.arguments["t"].asnumpy())
    np.testing.assert_array_equal(new["flux"], 0.0)
