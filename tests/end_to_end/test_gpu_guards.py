"""Fields of the host have guards on the emulated GPU: a kernel that leaves them is told by name."""

import ctypes

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

from ..dimensions import I, Line

HOST = BACKENDS["gpu-host"]

pytestmark = pytest.mark.needs_compiler


@ff.field_operator
def doubled(a: Line) -> Line:
    return a + a


@ff.program(backend=HOST)
def double(a: Line, out: Line):
    doubled(a, out=out)


def beyond(field, first):
    """Return a field that says of memory that it begins at `first` and has one number more."""
    address = field.ndarray.ctypes.data + 8 * first
    count = field.ndarray.size + 1
    return ff.Field(
        np.ctypeslib.as_array((ctypes.c_double * count).from_address(address)), (I,), (0,)
    )


@pytest.fixture(autouse=True)
def simulated():
    with gpu.use_platform("null"):
        yield
    gpu.null.forget_problems()


@pytest.mark.parametrize(("side", "first"), [("after", 0), ("before", -1)])
def test_a_kernel_beside_a_field_of_the_host_is_an_error(side, first):
    with gpu.null.guarded(side):
        a = ff.as_field([I], np.arange(8.0), allocator=HOST)
    assert isinstance(a.ndarray, np.ndarray)
    out = ff.zeros({I: 8}, allocator=HOST)
    double(a, out)
    assert (out.asnumpy() == 2 * np.arange(8.0)).all()

    with pytest.raises(gpu.GpuError, match=r"It reads .* an allocation of 64 bytes") as caught:
        double(beyond(a, first), ff.zeros({I: 9}, allocator=HOST))
    assert "program 'double'" in str(caught.value)


def test_without_guards_fields_are_laid_out_as_on_a_cpu():
    with_host = ff.zeros({I: 3, ff.Dimension("J"): 5}, allocator=HOST)
    plain = ff.zeros({I: 3, ff.Dimension("J"): 5})
    assert with_host.strides == plain.strides
    with gpu.null.guarded():
        dense = ff.zeros({I: 3, ff.Dimension("J"): 5}, allocator=HOST)
    assert dense.ndarray.nbytes == 120
    assert (dense.ndarray == 0).all()
    assert gpu.Array.from_any(dense.compact().ndarray).is_dense
