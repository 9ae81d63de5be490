"""Functions that are made of several operations, against Python's own."""

import math

import numpy as np
import pytest

from .stencils import interpreted

TEXT = """
def s(a: Field[T], b: Field[T]):
    with computation(PARALLEL), interval(...):
        b = FUNCTION(a)
"""
POINTS = np.concatenate([
    np.linspace(-7.0, 7.0, 1401), np.array([0.0, 1e-300, 1e-10, 0.84375, 1.25, 27.0, 30.0, -30.0]),
    np.array([np.inf, -np.inf]),
])  # fmt: skip


def values(function, points, dtype="float64"):
    a = points.astype(dtype).reshape(-1, 1, 1)
    b = np.zeros_like(a)
    text = TEXT.replace("FUNCTION", function).replace("T]", f"np.{dtype}]")
    interpreted(text, {"a": a, "b": b}, a.shape)
    return b.ravel()


@pytest.mark.parametrize(("function", "meant"), [("erf", math.erf), ("erfc", math.erfc)])
def test_error_functions_err_by_four_units_at_most(function, meant):
    expected = np.array([meant(point) for point in POINTS])

    found = values(function, POINTS)

    assert np.all(np.abs(found - expected) <= 4 * np.spacing(np.abs(expected)))
    assert np.isnan(values(function, np.array([np.nan]))).all()


def test_logarithms_of_ten():
    points = np.geomspace(1e-300, 1e300, 1201)

    expected = np.log10(points)

    errors = np.abs(values("log10", points) - expected)
    assert np.all(errors <= 4 * np.spacing(np.abs(expected)) + 1e-17)


def test_rounding_is_exact():
    points = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, 4503599627370497.5, 1e300])

    assert values("round", points).tolist() == np.round(points).tolist()
    assert values("round_away_from_zero", points[:6]).tolist() == [1, 2, 3, -1, -2, 0]
