"""Values that every column shares, in C++ before the loops, are not read as Python."""

import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, int32
from fieldforge.experimental import concat_where

from .executions import agree

I, K = ff.Dimension("I"), ff.Dimension("K", ff.DimensionKind.VERTICAL)

pytestmark = [pytest.mark.needs_compiler, pytest.mark.needs_dace]


@ff.field_operator(backend=None)
def flipped(flag: Field[[], bool]) -> Field[Dims[I, K], bool]:
    all_points = broadcast(flag, (I, K))
    return concat_where(K < 0, True, concat_where(I >= -1, all_points ^ True, all_points(I - 1)))


@ff.field_operator(backend=None)
def mixed(number: int32) -> Field[Dims[I, K], int32]:
    wide = broadcast((number % 3) * number, (I, K))
    return concat_where(K < 0, 1, concat_where(I >= -1, wide, wide + 1))


@ff.program(backend=None)
def flip(out: Field[Dims[I, K], bool], numbers: Field[Dims[I, K], int32], flag: bool, n: int32):
    mixed(n, out=numbers, domain={I: (n + 1, 11), K: (-1, 5)})
    flipped(flag, out=out, domain={I: (n + 1, 11), K: (-1, 5)})


@pytest.mark.parametrize("flag", [True, False])
def test_a_value_of_all_columns_is_computed_as_written(flag: bool) -> None:
    """Ended in an IndexError of DaCe's: 'true' was no symbol of the SDFG, and that had no text."""
    pytest.importorskip("dace")

    def arguments():
        box = {I: (6, 11), K: (-1, 5)}
        numbers = ff.zeros(box, dtype=int32)
        return {"out": ff.zeros(box, dtype=bool), "numbers": numbers, "flag": flag, "n": 5}

    meant = agree(flip, arguments, ff.dace_cpu)

    assert meant["out"][:, 1:].tolist() == [[not flag] * 5] * 5
    assert meant["numbers"][:, 1:].tolist() == [[10] * 5] * 5
