"""The values of the operations that NumPy lacks or computes otherwise, on arrays and scalars.

* integers: `add sub mul neg abs` and the products inside `pow` wrap; `div` truncates
  toward zero, `floordiv` rounds down, `mod` has the sign of the divisor, `fmod` that of
  the dividend; all four give 0 where the divisor is 0, and for MIN/-1 `div` and
  `floordiv` give MIN, `mod` and `fmod` give 0;
* integer `pow` with a negative exponent is 0, except 1 for the base 1 and 1 or -1 for the base -1;
* the result of `pow` has the type of the base: a float base takes its exponent in its own
  type, an integer base with a float exponent is computed in float64 and cast back;
* float `div` is IEEE; `fmod` is C's; `mod` is `r = fmod(a, b)`, plus `b` where `r` is not 0 and its
  sign is not that of `b`; a zero result has the sign of `b`; `floordiv` is `a / b` where `b` is 0,
  else `q = (a - fmod(a, b)) / b`, minus 1 where `mod` added `b`, then `floor(q)`, plus 1 where
  `q - floor(q) > 0.5`; a zero `q` has the sign of `a / b`;
* `minimum(a, b)` is `a` if `a < b` or `a` is NaN, else `b`; `maximum(a, b)` is `a` if `a > b`
  or `a` is NaN, else `b`: NaN propagates, of two zeros the second is taken;
* `cast`: float to integer truncates, what lies outside saturates at the nearest end, NaN gives 0;
  integer to integer wraps; anything to bool is `!= 0` (NaN is true); float64 to float32 rounds;
* float32 stays float32; `gamma` is the gamma function: NaN at negative integers and
  -inf, and at -0.0 and 0.0 the infinity of that sign.

Nothing here raises for a value, warns or prints.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any  # a NumPy or CuPy array, or a NumPy scalar


def cast(value: Array, dtype: np.dtype[Any]) -> Array:
    """Convert to `dtype`, with a defined result for every value."""
    source = value.dtype
    if source == dtype:
        return value
    if source.kind != "f" or dtype.kind not in "iu":
        return value.astype(dtype)
    return _float_to_integer(value, dtype)


def _is_integral(value: Array) -> bool:
    """Tell whether the elements are integers (bools are not)."""
    return value.dtype.kind in "iu"


def _float_to_integer(value: Array, dtype: np.dtype[Any]) -> Array:
    bounds = np.iinfo(dtype)
    # both limits are powers of two (or 0), hence exact in float32 too
    low, high = value.dtype.type(bounds.min), value.dtype.type(2.0 ** math.log2(bounds.max + 1))
    whole = np.trunc(value)
    inside = (whole >= low) & (whole < high)
    result = whole.astype(dtype)
    if np.all(inside):
        return result
    result = np.where(inside, result, dtype.type(0))
    result = np.where(whole < low, dtype.type(bounds.min), result)
    return np.where(whole >= high, dtype.type(bounds.max), result)[()]


def divide(left: Array, right: Array) -> Array:
    """Divide: integers truncate toward zero, floats follow IEEE 754."""
    if not (_is_integral(left) and _is_integral(right)):
        return np.true_divide(left, right)
    quotient = np.floor_divide(left, right)
    if quotient.dtype.kind == "u":
        return quotient
    # the floor lies one below the truncated quotient where signs differ and a remainder is left
    inexact = (left - quotient * right != 0) & ((left < 0) != (right < 0)) & (right != 0)
    return quotient + inexact.astype(quotient.dtype)


def _float_power(base: Array, exponent: Array) -> Array:
    # `np.power` takes a square root where the exponent is 0.5, which differs at -inf and -0.0
    powers: Array = np.float_power(base, exponent)
    return powers.astype(base.dtype)


def power(base: Array, exponent: Array) -> Array:
    """Raise to a power; the result has the dtype of the base."""
    if not _is_integral(base):
        if base.dtype.kind == "f" and exponent.dtype != base.dtype:
            exponent = exponent.astype(base.dtype)
        return _float_power(base, exponent)
    if not _is_integral(exponent):
        powers = _float_power(base.astype(np.float64), exponent.astype(np.float64))
        return cast(powers, base.dtype)
    # modulo 2**64 every integer type agrees, so mixed types and wrapping need no cases
    low = base.astype(np.uint64)
    result: Array = np.power(low, np.maximum(exponent, 0).astype(np.uint64)).astype(base.dtype)
    if exponent.dtype.kind == "u" or np.all(exponent >= 0):
        return result
    one, zero = base.dtype.type(1), base.dtype.type(0)
    result = select(exponent < 0, select(base == 1, one, zero), result)
    if base.dtype.kind == "i":
        sign = select(exponent % 2 == 0, one, -one)
        result = select((exponent < 0) & (base == -1), sign, result)
    return result


def select(condition: Array, then: Array, otherwise: Array) -> Array:
    """Take `then` where the condition holds, else `otherwise`."""
    chosen: Array = np.where(condition, then, otherwise)
    return chosen[()]  # a scalar where all operands are scalars


def fused_multiply_add(left: Array, right: Array, more: Array) -> Array:
    """Return `left * right + more`, rounded once."""
    # NumPy has no such function; one element after another is slow, and exact
    name = "fma" if left.dtype == np.float64 else "fmaf"
    fused = np.frompyfunc(_c_function(name), 3, 1)(left, right, more)
    result: Array = np.asarray(fused).astype(left.dtype)[()]
    return result


@functools.cache
def _c_function(name: str) -> Callable[..., float]:
    import ctypes

    real = ctypes.c_double if name == "fma" else ctypes.c_float
    function = getattr(ctypes.CDLL(None), name)
    function.restype, function.argtypes = real, [real] * 3
    return function  # type: ignore[no-any-return]


def gamma(value: Array) -> Array:
    """Return the gamma function."""
    if isinstance(value, np.generic):
        return value.dtype.type(_gamma_of(float(value)))
    numbers = value.ravel().tolist()
    result = np.array([_gamma_of(number) for number in numbers], dtype=value.dtype)
    return result.reshape(value.shape)


def _gamma_of(value: float) -> float:
    if value == 0:
        return math.copysign(math.inf, value)
    if value == -math.inf or (value < 0 and value == math.floor(value)):
        return math.nan
    try:
        return math.gamma(value)
    except OverflowError:  # how Python spells the infinity of C, which is negative just below 0
        return math.copysign(math.inf, value)
