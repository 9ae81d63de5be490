"""Reads that `where` hides: another version of the kernel, which the first call in need builds."""

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64, int32, where
from fieldforge.examples.diffusion import I, J, K, diffuse
from fieldforge.workflows.builds.building import trace

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


def beyond(operator, **options):
    backend = ff.cpu.with_options(numerics="strict", **options)
    compiled = operator.with_backend(backend)
    variant = attrs.evolve(compiled._variants.shape.default({}), beyond=True)
    return trace(compiled.__definition__, backend, variant, None)


def test_the_fast_code_clamps_nothing():
    source, rare = (made["codegen"].text for made in (traced(steep), beyond(steep)))

    assert "within(" not in source
    assert "omp simd" in source
    assert "within(" in rare
    assert "omp simd" not in rare


def test_code_that_few_calls_run_has_each_nest_once_and_compiles_fast():
    usual, rare = traced(steep)["codegen"].artifact, beyond(steep)["codegen"].artifact

    assert "4 rows of J at a time" in usual.loops
    assert "rows of J at a time" not in rare.loops
    assert [flag for flag in rare.flags if flag.startswith("-O")][-1] == "-O1"


def test_a_program_whose_soft_reads_are_hard_too_has_one_version():
    assert traced(masked)["bind"].artifact.plan.is_inside
    assert not beyond(masked)["bind"].artifact.plan.is_inside
    assert not traced(diffuse)["bind"].artifact.plan.is_inside


def test_a_checked_program_reports_the_call():
    trace = traced(masked, checked=True)

    assert not trace["bind"].artifact.plan.is_inside
    assert "return 5;" in trace["codegen"].text
    assert "u is beyond" in trace["bind"].text


def test_the_plan_lists_what_must_exist():
    text = traced(masked)["bind"].text

    assert "must have  u[0:0, 0:0, 0:0]" in text
    assert "calls in which no read leads out" in text


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
