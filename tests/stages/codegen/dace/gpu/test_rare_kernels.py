"""Kernels for calls whose soft reads lead out of a field, beside those that DaCe writes."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.stages.ir.loops.kernel import Loop
from fieldforge.stages.ir.loops.traverse import nodes_of
from fieldforge.workflows.backends.backend import BACKENDS

from .....end_to_end.gpu_calls import I
from ....ir.loops.kernels import kernels

Row = ff.Field[ff.Dims[I], ff.float64]
Single = ff.Field[[], ff.float64]


@ff.field_operator
def doubled(s: Single) -> Single:
    return s + s


@ff.field_operator
def next_of(a: Row, n: ff.int32, i: ff.Field[ff.Dims[I], ff.int32]) -> Row:
    return ff.where(i < n, a(I + 1), -1.0)


@ff.program
def both(s: Single, t: Single, a: Row, n: ff.int32, i: ff.Field[ff.Dims[I], ff.int32], out: Row):
    doubled(s, out=t)
    next_of(a, n, i, out=out)


@pytest.mark.needs_dace
@pytest.mark.needs_compiler
def test_a_nest_without_loops_is_a_kernel_of_one_thread() -> None:
    host = BACKENDS["dace_gpu-host"]
    s, a = ff.as_field([], np.array(1.5)), ff.as_field([I], np.arange(4.0))
    i = ff.as_field([I], np.arange(4, dtype=np.int32))
    t, out = ff.zeros({}), ff.zeros({I: 4})

    both.with_backend(host)(s, t, a, 3, i, out)

    assert t.asnumpy() == 3.0
    np.testing.assert_array_equal(out.asnumpy(), [1.0, 2.0, 3.0, -1.0])
    assert "c0(" in both.with_backend(host).trace(s, t, a, 3, i, out)["codegen"].text


def test_no_program_has_loops_around_nests_whose_indices_these_kernels_would_take() -> None:
    """Only trees that tests write have a `Loop`; its index is an argument that no launch passes."""
    assert not any(any(nodes_of(kernel, Loop)) for _, kernel in kernels())
