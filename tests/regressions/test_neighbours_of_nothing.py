"""Neighbours where there are none: found by generated programs."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64

from .executions import agree

Cell, Edge = ff.Dimension("Cell"), ff.Dimension("Edge")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
C2EDim = ff.Dimension("C2E", kind=ff.DimensionKind.LOCAL)
C2E = ff.FieldOffset("C2E", source=Edge, target=(Cell, C2EDim))


@ff.field_operator
def unused(a: Field[Dims[Edge, K], float64]) -> Field[Dims[Cell, K], float64]:
    second = (a(C2E) * 2.0)[C2EDim(1)]  # noqa: F841 (that nobody uses it is the point)
    return broadcast(7.0, (Cell, K))


@ff.program
def program(a: Field[Dims[Edge, K], float64], out: Field[Dims[Cell, K], float64]):
    unused(a, out=out)


@pytest.mark.needs_compiler
def test_a_slot_that_nobody_uses_is_taken_of_a_field_that_has_no_whole_row():
    def arguments():
        return {"a": ff.ones({Edge: (2, 3), K: 2}), "out": ff.zeros({Cell: 2, K: 2})}

    data = np.array([[2, 0, 1], [0, 1, 3]], np.int32)
    tables = {"C2E": ff.as_connectivity({Cell: 2, C2EDim: 3}, Edge, data)}
    meant = agree(program, arguments, tables=tables)
    np.testing.assert_array_equal(meant["out"], 7.0)
