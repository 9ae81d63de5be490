import math
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fieldforge.runtime.language.operations import apply, cast, literal

INTEGERS = [np.dtype(name) for name in ("int8", "uint8", "int32", "uint32", "int64", "uint64")]
SIGNED = [dtype for dtype in INTEGERS if dtype.kind == "i"]


@pytest.fixture(autouse=True)
def _no_warning_ever():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def wrap(value, dtype):
    """The integer `value` modulo the size of `dtype`, by Python arithmetic."""
    bits = dtype.itemsize * 8
    value %= 2**bits
    return value - 2**bits if dtype.kind == "i" and value >= 2 ** (bits - 1) else value


def corners(dtype):
    info = np.iinfo(dtype)
    values = (info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 3, 7, info.max - 1, info.max)
    return sorted({value for value in values if info.min <= value <= info.max})


def pairs(dtype):
    values = corners(dtype)
    left = np.array([a for a in values for _ in values], dtype)
    right = np.array([b for _ in values for b in values], dtype)
    return left, right


def truncated(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return 0 if b == 0 else a - b * truncated(a, b)


PYTHON = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": truncated,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "fmod": remainder,
    "minimum": min,
    "maximum": max,
}


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", sorted(PYTHON))
def test_3_4_integer_arithmetic_is_that_of_python_wrapped_to_the_type(op, dtype):
    left, right = pairs(dtype)

    result = apply(op, left, right)

    expected = [wrap(PYTHON[op](int(a), int(b)), dtype) for a, b in zip(left, right, strict=True)]
    assert result.dtype == dtype
    assert result.tolist() == expected


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", sorted(PYTHON))
def test_3_4_scalars_have_the_values_of_arrays(op, dtype):
    left, right = pairs(dtype)
    arrays = apply(op, left, right)

    scalars = [apply(op, a, b) for a, b in zip(left, right, strict=True)]

    assert all(isinstance(scalar, dtype.type) for scalar in scalars)
    assert scalars == arrays.tolist()


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_3_4_integer_power_wraps_and_takes_negative_exponents(dtype):
    left, right = pairs(dtype)

    result = apply("pow", left, right)

    def power(a, b):
        if b >= 0:
            return pow(a, b, 2**64)
        return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)

    expected = [wrap(power(int(a), int(b)), dtype) for a, b in zip(left, right, strict=True)]
    assert result.dtype == dtype
    assert result.tolist() == expected


def test_3_4_power_keeps_the_type_of_its_base():
    base = np.array([1.5, 2.0], np.float32)

    result = apply("pow", base, np.int32(2))

    assert result.dtype == np.float32
    assert result.tolist() == [2.25, 4.0]
    assert apply("pow", np.int32(2), np.float64(0.5)) == 1
    assert apply("pow", np.int32(2), np.float64(0.5)).dtype == np.int32


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_3_4_negation_and_absolute_value_wrap(dtype):
    values = np.array(corners(dtype), dtype)

    assert apply("neg", values).tolist() == [wrap(-int(v), dtype) for v in values]
    assert apply("abs", values).tolist() == [wrap(abs(int(v)), dtype) for v in values]


def test_3_4_division_of_floats_by_zero_is_ieee():
    result = apply("div", np.array([1.0, -1.0, 0.0]), np.float64(0.0))

    np.testing.assert_array_equal(result, [np.inf, -np.inf, np.nan])


@given(st.floats(allow_nan=False, width=64), st.floats(allow_nan=False, width=64))
def test_3_4_float_floordiv_and_mod_follow_the_documented_steps(a, b):
    def floordiv(a, b):
        a, b = np.float64(a), np.float64(b)
        if b == 0:
            return a / b
        r = np.fmod(a, b)
        q = (a - r) / b - (r != 0 and (r < 0) != (b < 0))
        if q == 0:
            return np.copysign(0.0, a / b)
        return np.floor(q) + (q - np.floor(q) > 0.5)

    result = apply("floordiv", np.float64(a), np.float64(b))

    with np.errstate(all="ignore"):
        expected = floordiv(a, b)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 16, 33])
def test_4_minimum_and_maximum_propagate_nan_and_take_the_second_of_two_zeros(dtype, count):
    for a, b in [(0.0, -0.0), (-0.0, 0.0), (np.nan, 1.0), (1.0, np.nan), (np.nan, -np.inf)]:
        left, right = np.full(count, a, dtype), np.full(count, b, dtype)
        for op, first in (("minimum", left < right), ("maximum", left > right)):
            expected = np.where(first | np.isnan(left), left, right)

            result = apply(op, left, right)

            np.testing.assert_array_equal(result, expected)
            finite = ~np.isnan(expected)
            assert (np.signbit(result) == np.signbit(expected))[finite].all()


def test_4_fmod_has_the_sign_of_the_dividend():
    result = apply("fmod", np.array([7.5, -7.5, 7.5]), np.array([2.0, 2.0, -2.0]))

    assert result.tolist() == [1.5, -1.5, 1.5]


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_4_float_to_integer_truncates_saturates_and_takes_nan_for_zero(source, target):
    info = np.iinfo(target)
    values = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 1e30, -1e30, np.inf, -np.inf, np.nan]
    values += [float(info.max), float(info.min), float(info.max) + 1, float(info.min) - 1]
    values = np.array(values, source)

    result = apply("cast", values, dtype=str(target))

    def expected(value):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return info.max if value > 0 else info.min
        return min(max(math.trunc(value), info.min), info.max)

    assert result.dtype == target
    assert result.tolist() == [expected(float(value)) for value in values]
    assert [int(apply("cast", value, dtype=str(target))) for value in values] == result.tolist()


def test_4_cast_between_integers_wraps_and_to_bool_compares_with_zero():
    assert apply("cast", np.int32(300), dtype="int8") == 44
    assert apply("cast", np.int32(-1), dtype="uint64") == 2**64 - 1
    assert apply("cast", np.array([0.0, -0.0, 0.5, np.nan]), dtype="bool").tolist() == [0, 0, 1, 1]
    assert apply("cast", np.array([True, False]), dtype="float32").tolist() == [1.0, 0.0]
    assert np.isinf(apply("cast", np.float64(1e300), dtype="float32"))
    array = np.arange(3)
    assert cast(array, array.dtype) is array


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_4_gamma_is_the_gamma_function_with_the_limits_of_c(dtype):
    values = np.array([1, 5, 0.5, 0.0, -0.0, -1, -1.5, 1e4, np.inf, -np.inf, np.nan], dtype)

    result = apply("gamma", values)

    inf, nan = np.inf, np.nan
    expected = [1, 24, math.gamma(0.5), inf, -inf, nan, math.gamma(-1.5), inf, inf, nan, nan]
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.array(expected, dtype))
    assert apply("gamma", dtype(5)) == 24
    assert apply("gamma", -np.finfo(dtype).smallest_subnormal) == -inf
    assert isinstance(apply("gamma", dtype(5)), dtype)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "arccos", "cbrt", "tanh", "floor"])
def test_4_math_keeps_float32_and_never_warns(name):
    values = np.array([-2.0, 0.0, 0.5, 1e30], np.float32)

    result = apply(name, values)

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(result, getattr(np, name)(values))
    assert result.dtype == np.float32


def test_2_1_python_numbers_have_the_types_of_the_language():
    assert type(literal(True)) is np.bool_
    assert type(literal(-(2**31))) is np.int32
    assert type(literal(2**31)) is np.int64
    assert type(literal(1.0)) is np.float64
    assert type(literal(np.uint8(3))) is np.uint8
    with pytest.raises(ValueError, match="does not fit"):
        literal(2**63)
