"""Streams on a real GPU: calls follow CuPy and torch, workspaces are waited for, order is found."""

import time
import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.runtime.calls import gpu_order
from fieldforge.runtime.gpu import GpuOrderWarning

from .gpu_calls import I, J, K, halve, sweep

pytestmark = pytest.mark.needs_gpu
N = 4096  # rows of 4096 numbers take a GPU long enough to notice that nobody waits


@pytest.fixture
def halve_on_gpu():
    program = halve.with_backend(ff.gpu)
    a = ff.zeros({I: 4, J: 4}, allocator=ff.gpu)
    program(a, a)
    return program


def busy(cupy, array):
    """Give the current stream of CuPy so much to do that a call without order comes too early."""
    for _ in range(50):
        cupy.sqrt(array * array + 1.0, out=array)


@pytest.mark.parametrize("kind", ["legacy", "non-blocking", "blocking"])
def test_calls_with_arrays_of_cupy_are_in_order_with_cupy(halve_on_gpu, kind):
    cupy = pytest.importorskip("cupy")
    stream = {
        "legacy": cupy.cuda.Stream.null,
        "non-blocking": cupy.cuda.Stream(non_blocking=True),
        "blocking": cupy.cuda.Stream(),
    }[kind]
    with stream:
        array, out = cupy.zeros((N, N)), cupy.zeros((N, N))
        a, b = (ff.Field(each, (I, J), (0, 0)) for each in (array, out))
        halve_on_gpu(a, b)
        stream.synchronize()
        for value in (2.0, 6.0, 10.0):
            busy(cupy, array)
            array.fill(value)
            halve_on_gpu(a, b)
            out += 1.0
            assert float(out.max()) == float(out.min()) == value / 2 + 1.0


def test_calls_with_tensors_of_torch_are_in_order_with_torch(halve_on_gpu):
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        array = torch.zeros((N, N), dtype=torch.float64, device="cuda")
        out = torch.zeros_like(array)
        a, b = (ff.Field(each, (I, J), (0, 0)) for each in (array, out))
        halve_on_gpu(a, b)
        for value in (2.0, 6.0):
            for _ in range(50):
                torch.sqrt(array * array + 1.0, out=array)
            array.fill_(value)
            halve_on_gpu(a, b)
            out += 1.0
            assert float(out.max()) == float(out.min()) == value / 2 + 1.0


def test_arrays_of_cupy_and_torch_are_called_by_the_stream_of_their_library(halve_on_gpu):
    cupy = pytest.importorskip("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    a = ff.Field(cupy.zeros((4, 4)), (I, J), (0, 0))
    halve_on_gpu(a, a)
    gpu.current_device().sync()
    with stream:
        busy(cupy, cupy.zeros((N, N)))
        halve_on_gpu(a, a)
    assert gpu.current_stream().done
    assert not stream.done
    stream.synchronize()


def test_a_workspace_of_the_device(halve_on_gpu):
    program = sweep.with_backend(ff.gpu.with_options(shared=False))
    values = np.random.default_rng(1).random((5, 4, 9))
    a = ff.as_field([I, J, K], values, allocator=ff.gpu)
    out = ff.zeros({I: 5, J: 4, K: 9}, allocator=ff.gpu)
    expected = ff.zeros({I: 5, J: 4, K: 9})
    sweep.with_backend("cpu")(ff.as_field([I, J, K], values), expected)
    room = gpu.Array.zeros(program.workspace_size(I=5, J=4, K=9) + 64, np.uint8)

    with ff.workspace(room):
        program(a, out)
        with gpu.Stream() as stream:
            program(a, out)
            stream.sync()

    assert (out.asnumpy() == expected.asnumpy()).all()
    assert room.to_host().any()
    with pytest.raises(ff.errors.DeviceError, match="lies on the host"):
        program.with_workspace(np.empty(1 << 16, np.uint8))(a, out)


def test_a_missing_order_is_found(halve_on_gpu, setting):
    setting(gpu_debug=("order",))
    try:
        a, b, c = (ff.zeros({I: 4, J: 4}, allocator=ff.gpu) for _ in range(3))
        first, second = gpu.Stream(), gpu.Stream()
        halve_on_gpu.with_stream(first)(a, b)
        with pytest.warns(GpuOrderWarning, match="read 'a'"):
            halve_on_gpu.with_stream(second)(b, c)
        second.wait(first)
        with warnings.catch_warnings():
            warnings.simplefilter("error", GpuOrderWarning)
            halve_on_gpu.with_stream(second)(b, c)
    finally:
        gpu_order.forget()


def test_an_error_in_debug_mode_and_a_call_that_waits(halve_on_gpu, setting):
    a = ff.full({I: N, J: N}, 8.0, allocator=ff.gpu)
    out = ff.zeros({I: N, J: N}, allocator=ff.gpu)
    halve_on_gpu(a, out)
    setting(gpu_sync=True)
    halve_on_gpu(a, out)
    assert gpu.current_stream().done


def test_a_call_returns_before_its_work_is_done(halve_on_gpu):
    a = ff.full({I: 2 * N, J: 2 * N}, 8.0, allocator=ff.gpu)
    out = ff.zeros({I: 2 * N, J: 2 * N}, allocator=ff.gpu)
    for _ in range(100):
        halve_on_gpu(a, out)
    assert not gpu.current_stream().done
    began = time.perf_counter()
    gpu.current_device().sync()
    assert time.perf_counter() > began
    assert (out[0:1].asnumpy() == 4.0).all()
