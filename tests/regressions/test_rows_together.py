"""Several rows of a stencil at a time, found by generated programs."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64

from .executions import agree

I, J = ff.Dimension("I"), ff.Dimension("J")
STRICT = ff.cpu.with_options(numerics="strict")


@ff.field_operator
def along_rows(a: Field[Dims[J], float64]) -> Field[Dims[I, J], float64]:
    b = a * a - a(J + 1) * a
    return broadcast(b * b(J + 1) + a * b - b(J + 1) * b(J + 1) * 0.5 + b * 0.25, (I, J))


@ff.field_operator
def along_columns(a: Field[Dims[I], float64]) -> Field[Dims[I, J], float64]:
    b = a * a - a(I + 1) * a
    return broadcast(b * b(I + 1) + a * b - b(I + 1) * b(I + 1) * 0.5 + b * 0.25, (I, J))


@ff.program
def spread_rows(a: Field[Dims[J], float64], out: Field[Dims[I, J], float64]):
    along_rows(a, out=out)


@ff.program
def spread_columns(a: Field[Dims[I], float64], out: Field[Dims[I, J], float64]):
    along_columns(a, out=out)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("program", [spread_rows, spread_columns])
def test_a_value_of_fewer_dimensions_is_stored_in_each_row(program):
    dim = J if program is spread_rows else I

    def arguments():
        return {
            "a": ff.as_field((dim,), np.arange(13.0)),
            "out": ff.full({I: 9, J: 11}, -1.0),
        }

    agree(program, arguments, STRICT)
