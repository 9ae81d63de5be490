"""Sections 4 and 8: `concat_where` without limits, against NumPy on whole arrays."""

import numpy as np
import pytest

from fieldforge.runtime.embedded.builtins import (
    concat_where,
    float64,
)
from fieldforge.runtime.embedded.piecewise_field import PiecewiseField
from fieldforge.runtime.fields.constructors import as_field, zeros
from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.language.annotations import Dims
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.process.errors import (
    ArgumentError,
    EmbeddedExecutionError,
    IndexOutOfBounds,
)

from ...dimensions import I, K
from .decorated import Decorated

IKField = Field[Dims[I, K], float64]


def result_of(operator, *args, shape=(4, 6), dtype=float64):
    out = zeros({I: shape[0], K: shape[1]}, dtype=dtype)
    operator(*args, out=out)
    return out.asnumpy()


@pytest.fixture
def a():
    return np.random.default_rng(1).standard_normal((4, 6))


def test_8_each_branch_needs_data_on_its_own_part_only(a):
    @Decorated
    def joined(low: IKField, high: IKField) -> IKField:
        return concat_where(K < 2, low, high)

    low, high = as_field({I: 4, K: 2}, a[:, :2]), as_field({I: 4, K: (2, 6)}, a[:, 2:])
    assert np.array_equal(result_of(joined, low, high), a)
    with pytest.raises(IndexOutOfBounds, match=r"no value at 'I=0, K=2'"):
        result_of(joined, low, high[:, 1:])


def test_8_a_whole_field_is_a_field_again():
    joined = concat_where(I < 2, as_field([I], [1.0, 2.0]), as_field({I: (2, 4)}, [3.0, 4.0]))

    assert isinstance(joined, Field)
    assert joined.asnumpy().tolist() == [1.0, 2.0, 3.0, 4.0]


def test_8_a_value_on_an_enormous_part_takes_no_memory():
    huge = concat_where((I >= 0) & (I < 2**40), 1.5, as_field({I: (-2, 0)}, [1.0, 2.0]))

    assert (huge * 2.0)[domain({I: (-1, 3)})].asnumpy().tolist() == [4.0, 3.0, 3.0, 3.0]


def test_8_pieces_have_no_array_until_they_are_restricted():
    piecewise = concat_where(K < 1, 5.0, as_field([K], [1.0, 2.0]))

    assert isinstance(piecewise, PiecewiseField)
    assert str(piecewise) == "PiecewiseField(K=(1:2); K=(-inf:1); float64)"
    with pytest.raises(EmbeddedExecutionError, match="so it has no array"):
        piecewise.ndarray  # noqa: B018
    with pytest.raises(TypeError, match="no truth value"):
        bool(piecewise)
    assert piecewise[domain({K: (-1, 2)})].asnumpy().tolist() == [5.0, 5.0, 2.0]
    assert piecewise[K(1)].as_scalar() == 2.0
    with pytest.raises(IndexOutOfBounds, match="no value at 'K=2'"):
        piecewise[domain({K: (0, 3)})]


def test_4_branches_are_numbers_or_fields_of_one_dtype():
    with pytest.raises(ArgumentError, match="'concat_where' works on fields and numbers"):
        concat_where(K < 1, "a", 1.0)
    with pytest.raises(ArgumentError, match="Expected a condition on a dimension"):
        concat_where(as_field([K], [True]), 1.0, 2.0)
