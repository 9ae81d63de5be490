"""Several rows of a stencil at a time, found by generated programs."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64, maximum

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


@pytest.mark.needs_compiler
@pytest.mark.parametrize("program", [along_rows, along_columns])
def test_a_value_of_fewer_dimensions_is_stored_in_each_row(program):
    dim = J if program is along_rows else I

    given = {
        "a": ff.as_field((dim,), np.arange(13.0)),
        "out": ff.full({I: 9, J: 11}, -1.0),
    }

    agree(program, given, STRICT)


@ff.field_operator
def raised(a: Field[Dims[I, J], float64], b: Field[Dims[I], float64]) -> Field[Dims[I, J], float64]:
    least = maximum(b, 0.5)
    return a * least + least * least - a * least * least


@ff.program
def in_place(a: Field[Dims[I, J], float64], b: Field[Dims[I], float64]):
    raised(a, b, out=a)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("rows", [1, 4, 5, 11])
def test_rows_together_and_those_left_are_written_in_place(rows):
    numbers = np.random.default_rng(rows)
    given = numbers.random((6, rows)), numbers.random(6)
    results = []
    for backend in (None, STRICT):
        a = ff.as_field((I, J), given[0], allocator=ff.cpu)
        program = in_place.with_backend(backend)
        program(a, ff.as_field((I,), given[1], allocator=ff.cpu))
        results.append(a.asnumpy())

    np.testing.assert_array_equal(*results)
    loops = program.trace()["codegen"].loops
    assert "4 rows of" in loops
    assert "arena" not in loops
