"""Saturation adjustment: every way agrees to rounding, and the physics holds."""

import numpy as np
import pytest
from cases import saturation_adjustment

import fieldforge as ff
from fieldforge.examples.saturation_adjustment import HEATING

from .measured import assert_close, run

pytestmark = pytest.mark.needs_compiler
(make,) = saturation_adjustment.CASES

# Exponentials differ in the last bits; cloud water is a difference of numbers twenty times larger.
ULPS = 400.0


def test_embedded_compiled_numpy_and_every_kernel_agree_to_rounding(dtype, cpu):
    case = make(dtype, 0.08)

    expected = case.in_numpy()

    assert 0.3 < np.mean(expected["new_cloud"] > 0.0) < 0.9
    assert_close(run(case, None), expected, ULPS)
    assert_close(run(case, cpu), expected, ULPS)
    for by_hand in case.by_hand.values():
        assert_close(by_hand(), expected, ULPS)


def test_water_and_energy_are_kept_and_clouds_are_saturated():
    case = make("float64", 0.08)
    t, vapour, cloud, density = (
        case.arguments[name].asnumpy() for name in saturation_adjustment.INPUTS
    )

    new = run(case, ff.cpu)

    np.testing.assert_allclose(new["new_vapour"] + new["new_cloud"], vapour + cloud, rtol=1e-14)
    energy = new["new_t"] - HEATING * new["new_cloud"]
    np.testing.assert_allclose(energy, t - HEATING * cloud, rtol=1e-9)
    pressure = 610.78 * np.exp(17.2693882 * (new["new_t"] - 273.16) / (new["new_t"] - 35.86))
    most = pressure / (density * 461.51 * new["new_t"])
    cloudy = new["new_cloud"] > 0.0
    assert cloudy.any()
    assert not cloudy.all()
    np.testing.assert_allclose(new["new_vapour"][cloudy], most[cloudy], rtol=1e-12)
    assert np.all(new["new_vapour"][~cloudy] <= most[~cloudy])
