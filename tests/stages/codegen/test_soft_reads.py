"""Reads that `where` hides: a second version of the kernel, beside unchanged fast code."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64, int32, where
from fieldforge.examples.diffusion import I, J, K, diffuse

Box = Field[Dims[I, J, K], float64]
Rows = Field[Dims[J], int32]


@ff.field_operator
def steep(u: Box, j: Rows, last: int32) -> Box:
    rise = where(j < last, u(J + 1) - u, u(J - 1))
    curved = rise * rise(J - 1) - rise * rise(I + 1) * rise(I - 1)
    return curved + curved(I - 1) * curved(I + 1) - 0.5 * curved * curved(I + 1)


@ff.field_operator
def masked(m: Field[Dims[I, J, K], bool], u: Box, v: Box) -> Box:
    return where(m, u, v)


def traced(operator, **options):
    backend = ff.cpu.with_options(numerics="strict", **options)
    return operator.with_backend(backend).trace()


def test_the_fast_code_is_as_it_was_without_the_other_version():
    source = traced(masked)["codegen"].text
    begin, entry = source.index("CLAMPED static"), source.index('extern "C" s32 fieldforge_entry')

    assert "within(" in source[begin:entry]
    assert "within(" not in source[entry:]
    assert "omp simd" not in source[begin:entry]
    assert source[entry:].count("clamped(") == 1


def test_a_program_whose_soft_reads_are_hard_too_has_one_version():
    assert "clamped(" not in traced(diffuse)["codegen"].text


def test_a_checked_program_reports_the_call():
    trace = traced(masked, checked=True)

    assert "clamped(" not in trace["codegen"].text
    assert "return 5;" in trace["codegen"].text
    assert "u is beyond" in trace["bind"].text


def test_the_plan_lists_what_must_exist():
    text = traced(masked)["bind"].text

    assert "must have  u[0:0, 0:0, 0:0]" in text
    assert "1 if a read leads out" in text


@pytest.mark.needs_compiler
@pytest.mark.parametrize("rows", [1, 3, 4, 9])
@pytest.mark.parametrize("threads_from", [1, 16384])
def test_rows_beyond_a_field_are_clamped(rows, threads_from):
    numbers = np.random.default_rng(rows)
    u = ff.as_field({I: (-3, 8), J: (-2, rows), K: 3}, numbers.random((11, rows + 2, 3)))
    j = ff.as_field({J: (-2, rows + 1)}, np.arange(-2, rows + 1, dtype=np.int32))
    compiled = ff.cpu.with_options(numerics="strict", parallel_from=threads_from)
    results = []
    for backend in (ff.reference.with_options(numerics="strict"), compiled):
        out = ff.zeros({I: 4, J: rows, K: 3})
        steep.with_backend(backend)(u, j, rows - 1, out=out, offset_provider={})
        results.append(out.asnumpy())

    assert results[0].any()
    np.testing.assert_array_equal(*results)
