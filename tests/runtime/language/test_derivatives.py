"""The derivatives in the table of operations, against 60 digits and at their edges."""

import mpmath
import numpy as np
import pytest

from fieldforge.runtime.language.active_numbers import ARRAYS
from fieldforge.runtime.language.derivatives import RECIPROCAL
from fieldforge.runtime.language.operation_table import TABLE
from fieldforge.runtime.language.operations import BY_NAME, apply

POINTS = 1000
NOT_YET = {"gamma"}

SLOPES = {  # of one operand: the domain of random points, and the partial derivative
    "neg": ("all", lambda x: -1),
    "abs": ("all", mpmath.sign),
    "sqrt": ("positive", lambda x: 1 / (2 * mpmath.sqrt(x))),
    "cbrt": ("positive", lambda x: 1 / (3 * mpmath.cbrt(x) ** 2)),
    "exp": ("small", mpmath.exp),
    "log": ("positive", lambda x: 1 / x),
    "sin": ("small", mpmath.cos),
    "cos": ("small", lambda x: -mpmath.sin(x)),
    "tan": ("unit", lambda x: 1 / mpmath.cos(x) ** 2),
    "arcsin": ("unit", lambda x: 1 / mpmath.sqrt(1 - x * x)),
    "arccos": ("unit", lambda x: -1 / mpmath.sqrt(1 - x * x)),
    "arctan": ("all", lambda x: 1 / (1 + x * x)),
    "arctanh": ("unit", lambda x: 1 / (1 - x * x)),
    "sinh": ("small", mpmath.cosh),
    "cosh": ("small", mpmath.sinh),
    "tanh": ("small", lambda x: mpmath.sech(x) ** 2),
    "arcsinh": ("huge", lambda x: 1 / mpmath.sqrt(1 + x * x)),
    "arccosh": ("above one", lambda x: 1 / mpmath.sqrt(x * x - 1)),
}
DRAWS = {
    "all": lambda rng: rng.normal(size=POINTS) * 2.0 ** rng.integers(-30, 30, POINTS),
    "huge": lambda rng: rng.normal(size=POINTS) * 2.0 ** rng.integers(-400, 900, POINTS),
    "positive": lambda rng: 2.0 ** rng.uniform(-300, 300, POINTS),
    "small": lambda rng: rng.uniform(-30, 30, POINTS),
    "unit": lambda rng: rng.choice([-1.0, 1.0], POINTS) * (1 - 2.0 ** rng.uniform(-50, 0, POINTS)),
    "above one": lambda rng: 1 + 2.0 ** rng.uniform(-50, 900, POINTS),
}


def slope(op, place, *operands, b=1.0):
    values = [np.asarray(each) for each in operands]
    derivative = BY_NAME[op].derivative
    with np.errstate(all="ignore"):
        result = apply(op, *values)
        ones = np.full_like(result, b)
        return derivative.pull(place, ARRAYS, ones, result, values)


def half_ulps(found, exact):
    """Return the largest distance from exact numbers, in halves of the last place."""
    worst = 0.0
    for value, true in zip(found, exact, strict=True):
        spacing = mpmath.mpf(float(np.spacing(abs(np.float64(float(true))))))
        worst = max(worst, float(abs(mpmath.mpf(float(value)) - true) / spacing * 2))
    return worst


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_no_row_lacks_a_derivative(row):
    if row.name in NOT_YET:
        assert row.derivative is None
        return
    pulls = row.derivative.pulls

    assert len(pulls) in (0, row.arity)
    inactive = row.gives == "bool" or row.name in ("floordiv", "floor", "ceil", "trunc")
    assert inactive == (not pulls and row.derivative.takes_first is None)


def test_every_row_of_one_operand_is_compared_with_60_digits():
    active = {
        row.name
        for row in TABLE
        if row.arity == 1 and row.derivative is not None and row.derivative.pulls
    }

    assert active - {"cast"} == set(SLOPES)


@pytest.mark.parametrize("op", SLOPES)
def test_a_slope_agrees_with_60_digits(op):
    kind, exact = SLOPES[op]
    x = DRAWS[kind](np.random.default_rng(1))

    with mpmath.workdps(60):
        found = half_ulps(slope(op, 0, x), [exact(mpmath.mpf(float(each))) for each in x])

    # exp and the like have an error of their own, which products pass on
    assert found <= 4 + 4 * BY_NAME[op].ulps


@pytest.mark.parametrize(
    ("op", "place", "exact"),
    [
        ("add", 0, lambda x, y: mpmath.mpf(1)),
        ("add", 1, lambda x, y: mpmath.mpf(1)),
        ("sub", 0, lambda x, y: mpmath.mpf(1)),
        ("sub", 1, lambda x, y: mpmath.mpf(-1)),
        ("mul", 0, lambda x, y: y),
        ("mul", 1, lambda x, y: x),
        ("div", 0, lambda x, y: 1 / y),
        ("div", 1, lambda x, y: -x / (y * y)),
        ("pow", 0, lambda x, y: y * x ** (y - 1)),
        ("pow", 1, lambda x, y: x**y * mpmath.log(x)),
        ("mod", 0, lambda x, y: mpmath.mpf(1)),
        ("mod", 1, lambda x, y: -mpmath.floor(x / y)),
        ("fmod", 0, lambda x, y: mpmath.mpf(1)),
        ("fmod", 1, lambda x, y: -mpmath.floor(x / y)),
    ],
)
def test_a_slope_of_two_operands_agrees_with_60_digits(op, place, exact):
    rng = np.random.default_rng(2)
    powers = (-120, 120) if op == "div" else (-3, 3)
    x, y = 2.0 ** rng.uniform(*powers, (2, POINTS))

    with mpmath.workdps(60):
        numbers = [(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(x, y, strict=True)]
        found = half_ulps(slope(op, place, x, y), [exact(*each) for each in numbers])

    assert found <= 4 + 8 * BY_NAME[op].ulps


def test_a_quotient_overflows_no_earlier_than_its_slope():
    x, y = np.array([1e200]), np.array([1e180])

    assert slope("div", 1, x, y) == pytest.approx(-1e-160)


@pytest.mark.parametrize(
    ("op", "place", "operands"),
    [
        ("sqrt", 0, (0.0,)),
        ("cbrt", 0, (0.0,)),
        ("div", 0, (0.0, 0.0)),
        ("div", 1, (0.0, 0.0)),
        ("div", 1, (1.0, 0.0)),
        ("log", 0, (0.0,)),
        ("pow", 0, (0.0, 0.0)),
        ("pow", 1, (0.0, 0.0)),
        ("pow", 0, (0.0, 0.5)),
        ("pow", 1, (0.0, 0.5)),
        ("arcsin", 0, (1.0,)),
        ("arccos", 0, (-1.0,)),
        ("arccosh", 0, (1.0,)),
        ("arctanh", 0, (1.0,)),
        ("abs", 0, (0.0,)),
    ],
)
def test_an_infinite_slope_counts_as_zero(op, place, operands):
    assert slope(op, place, *map(np.float64, operands)) == 0.0


@pytest.mark.parametrize(
    ("op", "x", "y", "expected"),
    [
        ("minimum", 1.0, 2.0, (1.0, 0.0)),
        ("minimum", 2.0, 2.0, (0.0, 1.0)),
        ("maximum", 3.0, 2.0, (1.0, 0.0)),
        ("maximum", 2.0, 2.0, (0.0, 1.0)),
    ],
)
def test_the_operand_that_is_taken_gets_all(op, x, y, expected):
    found = tuple(slope(op, place, np.float64(x), np.float64(y)) for place in (0, 1))

    assert found == expected


def test_a_flat_end_keeps_its_digits():
    assert slope("tanh", 0, np.float64(25.0)) == pytest.approx(4 * np.exp(-50.0))
    assert slope("arcsinh", 0, np.float64(1e300)) == 1e-300
    assert slope("arcsinh", 0, np.float32(1e30)) == np.float32(1e-30)
    assert slope("pow", 0, np.float64(0.0), np.float64(1.0)) == 1.0


def test_the_slope_of_a_reciprocal_needs_no_other_division():
    y = np.append(2.0 ** np.random.default_rng(4).uniform(-300, 300, POINTS), 0.0)
    ones = np.ones_like(y)
    with np.errstate(all="ignore"):
        found = RECIPROCAL.pull(1, ARRAYS, ones, ones / y, [ones, y])

    with mpmath.workdps(60):
        exact = [-1 / mpmath.mpf(float(each)) ** 2 for each in y[:-1]]
        assert half_ulps(found[:-1], exact) <= 5
    assert found[-1] == 0.0
