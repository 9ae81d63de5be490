from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64, int32, where
from fieldforge.experimental import as_offset, concat_where

from .executions import agree

I = ff.Dimension("I")
K = ff.Dimension("K", ff.DimensionKind.VERTICAL)
Koff = ff.FieldOffset("Koff", source=K, target=(K,))

pytestmark = pytest.mark.needs_compiler


@ff.field_operator(backend=None)
def from_regions(a: Field[Dims[K], float64], by: int32) -> Field[Dims[I, K], float64]:
    value = concat_where(I >= 2, a, where(concat_where(K >= 4, True, False), 7.0, a))
    return broadcast(value(as_offset(Koff, concat_where(K == 2, by, -by))), (I, K))


@ff.field_operator(backend=None)
def from_a_number(by: int32) -> Field[Dims[I, K], float64]:
    value = concat_where((I >= 2) & (K > 3), 1.0, 2.0)
    return value(as_offset(Koff, concat_where(I == 1, by, 0) + concat_where(K < 3, 0, 1)))


@pytest.mark.parametrize("by", [1, -1, 2])
def test_neither_offsets_nor_values_need_an_end(by):
    """Regions that reach to infinity, displaced by regions of numbers."""

    @ff.program(backend=None)
    def run(
        a: Field[Dims[K], float64], by: int32,
        out: Field[Dims[I, K], float64], other: Field[Dims[I, K], float64],
    ):  # fmt: skip
        from_regions(a, by, out=out, domain={I: (0, 4), K: (0, 6)})
        from_a_number(by, out=other)

    column = np.arange(10.0, 22.0)

    def arguments():
        return {
            "a": ff.as_field({K: (-3, 9)}, column),
            "by": by,
            "out": ff.zeros({I: 4, K: 6}),
            "other": ff.zeros({I: (0, 4), K: (-4, 9)}),
        }

    meant = agree(run, arguments)

    levels = np.arange(6) + np.where(np.arange(6) == 2, by, -by)
    near = np.broadcast_to(column[levels + 3], (4, 6)).copy()
    near[:2, levels >= 4] = 7.0
    np.testing.assert_array_equal(meant["out"], near)
    rows, places = np.arange(4)[:, None], np.arange(-4, 9)[None, :]
    places = places + np.where(rows == 1, by, 0) + np.where(places < 3, 0, 1)
    np.testing.assert_array_equal(meant["other"], np.where((rows >= 2) & (places > 3), 1.0, 2.0))
