import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, astype, broadcast, float32, float64

from .executions import agree

I = ff.Dimension("I")

pytestmark = pytest.mark.needs_compiler


@ff.field_operator(backend=None)
def root(a: Field[Dims[I], float64]) -> Field[Dims[I], float64]:
    return a**0.5


def test_power_of_one_half_is_no_square_root():
    """C's pow(-inf, 0.5) is inf and pow(-0.0, 0.5) is 0.0; those of 'sqrt' are NaN and -0.0."""

    given = {"a": ff.as_field([I], np.array([4.0, -np.inf, -0.0])), "out": ff.zeros({I: 3})}

    meant = agree(root, given)

    assert meant["out"].tolist() == [2.0, np.inf, 0.0]
    assert not np.signbit(meant["out"][2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_compiler_makes_a_power_a_square_root(dtype):
    """GCC's vectoriser takes `sqrt` for a power whose exponent it knows to be 0.5."""
    values = np.tile(np.array([4.0, -np.inf, -0.0, 0.0, -1.0, np.inf, np.nan], dtype), 9)
    single = dtype is np.float32

    @ff.field_operator(backend=None)
    def wide(a: Field[Dims[I], float64], b: float64) -> Field[Dims[I], float64]:
        return a**0.5 + b

    @ff.field_operator(backend=None)
    def narrow(a: Field[Dims[I], float32], b: float64) -> Field[Dims[I], float32]:
        return a ** float32(0.5) + astype(b, float32)

    given = {"a": ff.as_field([I], values), "b": 0.0, "out": ff.zeros({I: values.size}, dtype)}

    strict = ff.cpu.with_options(numerics="strict")
    meant = agree(narrow if single else wide, given, strict)

    np.testing.assert_array_equal(meant["out"][:7], [2.0, np.inf, 0.0, 0.0, np.nan, np.inf, np.nan])


def test_power_of_scalars_is_a_scalar():
    @ff.field_operator(backend=None)
    def fill(a: float64, b: float64) -> Field[Dims[I], float64]:
        return broadcast(a**b, (I,))

    meant = agree(fill, lambda: {"a": 2.0, "b": 3.0, "out": ff.zeros({I: 2})})

    assert meant["out"].tolist() == [8.0, 8.0]
