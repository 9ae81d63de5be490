import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, int32

from .executions import agree

I, J = ff.Dimension("I"), ff.Dimension("J")

pytestmark = pytest.mark.needs_compiler


@ff.field_operator(backend=None)
def size(a: Field[Dims[I, J], int32]) -> Field[Dims[I, J], int32]:
    return ff.abs(a) * 3


@ff.program(backend=None)
def one_row(a: Field[Dims[I, J], int32], out: Field[Dims[I, J], int32]):
    size(a, out=out, domain={I: (0, 1), J: (3, 5)})


@ff.program(backend=None)
def one_point(a: Field[Dims[I, J], int32], out: Field[Dims[I, J], int32]):
    size(a, out=out, domain={I: (0, 1), J: (3, 4)})


@pytest.mark.parametrize("program", [one_row, one_point], ids=["row", "point"])
def test_array_whose_innermost_extent_is_the_number_one(program):
    every = ff.cpu.with_options(arrays=tuple(f"%{number}" for number in range(8)))

    def arguments():
        values = np.arange(-6, 9, dtype=np.int32).reshape(3, 5)
        return {"a": ff.as_field([I, J], values), "out": ff.zeros({I: 3, J: 5}, int32)}

    meant = agree(program, arguments, every)

    assert meant["out"][0, 3] == 9
