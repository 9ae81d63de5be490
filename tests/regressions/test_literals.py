import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, int32, int64, maximum, uint64

from .executions import agree

I = ff.Dimension("I")

pytestmark = pytest.mark.needs_compiler


def test_smallest_int32_is_an_int32_in_embedded_execution_too():
    @ff.field_operator(backend=None)
    def smallest() -> Field[Dims[I], int32]:
        return broadcast(-2147483648, (I,))

    meant = agree(smallest, lambda: {"out": ff.zeros({I: 3}, int32)})

    assert meant["out"].tolist() == [-(2**31)] * 3


def test_smallest_int32_is_compared_with_int32_fields():
    @ff.field_operator(backend=None)
    def larger(a: Field[Dims[I], int32]) -> Field[Dims[I], int32]:
        return maximum(-2147483648, a)

    given = {"a": ff.as_field([I], np.array([1, -5], np.int32)), "out": ff.zeros({I: 2}, int32)}

    assert agree(larger, given)["out"].tolist() == [1, -5]


def test_smallest_int64_can_be_written():
    @ff.field_operator(backend=None)
    def smallest() -> Field[Dims[I], int64]:
        return broadcast(int64(-9223372036854775808), (I,))

    meant = agree(smallest, lambda: {"out": ff.zeros({I: 2}, int64)})

    assert meant["out"].tolist() == [-(2**63)] * 2


def test_largest_uint64_can_be_written():
    @ff.field_operator(backend=None)
    def largest() -> Field[Dims[I], uint64]:
        return broadcast(uint64(18446744073709551615), (I,))

    meant = agree(largest, lambda: {"out": ff.zeros({I: 2}, uint64)})

    assert meant["out"].tolist() == [2**64 - 1] * 2
