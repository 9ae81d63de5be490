"""Outputs of one statement that have the same ranges are written in one walk."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64

I, K = ff.Dimension("I"), ff.Dimension("K", ff.DimensionKind.VERTICAL)
Column = Field[Dims[I, K], float64]


@ff.scan_operator(axis=K, forward=True, init=(0.0, 1.0))
def sums(state: tuple[float64, float64], u: float64) -> tuple[float64, float64]:
    return state[0] + u, state[1] * 0.5 + u


@ff.field_operator
def two(u: Column) -> tuple[Column, Column]:
    a, b = sums(u)
    return a + b, a - b


@ff.program
def both(u: Column, first: Column, second: Column):
    two(u, out=(first, second))


def fields(rows: int, more: int = 0, fill: float = 0.0):
    u = np.arange((rows + more) * 5.0).reshape(rows + more, 5)
    return (
        ff.as_field((I, K), u, allocator=ff.cpu),
        ff.full({I: rows, K: 5}, fill, allocator=ff.cpu),
        ff.full({I: rows + more, K: 5}, fill, allocator=ff.cpu),
    )


@pytest.mark.needs_compiler
def test_equal_outputs_share_a_walk_whatever_the_size_of_the_mesh():
    program = both.with_backend(ff.cpu)
    for rows in (4, 9):
        u, first, second = fields(rows)
        program(u, first, second)
        np.testing.assert_array_equal(first.asnumpy()[:, 0], u.asnumpy()[:, 0] * 2 + 0.5)

    assert len(program._variants.table.entries) == 1
    loops = program.trace()["codegen"].loops
    assert loops.count("# walks %") == 1


@pytest.mark.needs_compiler
def test_outputs_of_other_ranges_get_a_variant_of_their_own():
    program = both.with_backend(ff.cpu)
    results = []
    for backend in (program, both.with_backend(ff.reference)):
        for more in (0, 3, 0):
            u, first, second = fields(4, more)
            backend(u, first, second)
            results.append((first.asnumpy(), second.asnumpy()))

    half = len(results) // 2
    for ours, theirs in zip(results[:half], results[half:], strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
    assert len(program._variants.table.entries) == 2


@pytest.mark.needs_compiler
def test_what_was_compiled_ahead_may_be_compiled_for_other_ranges():
    program = both.with_backend(ff.cpu).with_compilation_options(enable_jit=False)
    program.compile(offset_provider={})
    u, first, second = fields(4, 3)

    program(u, first, second)

    np.testing.assert_array_equal(second.asnumpy()[:, 0], -0.5 * np.ones(7))
