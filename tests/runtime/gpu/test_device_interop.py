"""CuPy, torch and JAX on a real GPU: no copies, and right order while streams are in flight."""

import gc

import numpy as np
import pytest

from fieldforge.runtime import gpu

pytestmark = pytest.mark.needs_gpu
N = 1 << 22


@pytest.fixture(autouse=True)
def real(device):
    if device.platform == "null":
        pytest.skip("needs a GPU")


@pytest.fixture
def cupy(device):
    found = pytest.importorskip("cupy", reason="CuPy is not installed")
    if device.platform != "cuda":
        pytest.skip("CuPy is installed for CUDA")
    return found


@pytest.fixture
def torch(device):
    found = pytest.importorskip("torch", reason="torch is not installed")
    if not found.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return found


def test_cupy_both_ways_without_a_copy(device, cupy):
    theirs = cupy.arange(12, dtype=cupy.float32).reshape(3, 4)[:, 1:]
    ours = gpu.Array.from_any(theirs)
    assert (ours.ptr, ours.shape, ours.strides) == (theirs.data.ptr, theirs.shape, theirs.strides)
    assert (ours.to_host() == theirs.get()).all()
    back = cupy.from_dlpack(ours)
    assert back.data.ptr == ours.ptr
    assert cupy.asarray(ours).data.ptr == ours.ptr
    del theirs, ours
    gc.collect()
    assert back.get().tolist() == [[1, 2, 3], [5, 6, 7], [9, 10, 11]]


def test_torch_both_ways_without_a_copy(device, torch):
    theirs = torch.arange(12, dtype=torch.float64, device="cuda").reshape(3, 4)[:, ::2]
    ours = gpu.Array.from_any(theirs)
    assert ours.ptr == theirs.data_ptr()
    assert ours.strides == (32, 16)
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == ours.ptr
    assert (back.cpu().numpy() == ours.to_host()).all()


def test_torch_bfloat16(device, torch):
    pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 without ml_dtypes")
    theirs = torch.arange(8, dtype=torch.bfloat16, device="cuda")
    ours = gpu.Array.from_any(theirs)
    assert ours.dtype.name == "bfloat16"
    assert ours.to_host().astype(float).tolist() == list(range(8))


def test_jax_in_and_out(device, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else it takes the memory
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    try:
        place = jax.devices("gpu")[0]
    except RuntimeError:
        pytest.skip("JAX sees no GPU")
    theirs = jax.device_put(np.arange(10, dtype=np.float32), place)
    ours = gpu.Array.from_any(theirs)
    assert ours.to_host().tolist() == list(range(10))
    back = jax.numpy.from_dlpack(gpu.Array.from_host(np.arange(5, dtype=np.float32), device=device))
    assert np.asarray(back).tolist() == list(range(5))


def test_managed_memory_reaches_cupy(device, cupy):
    array = gpu.Array.full(100, 3.0, resource=gpu.ManagedMemoryResource(device), device=device)
    assert array.__dlpack_device__()[0] == 13
    gpu.current_stream(device).sync()
    assert cupy.from_dlpack(array).sum().get() == 300


@pytest.mark.parametrize("theirs_first", [True, False])
def test_cupy_streams_in_flight(device, cupy, module, theirs_first):
    """A slow kernel fills the memory on one stream; the other library reads it on another."""
    spin = module.kernel("spin").prepare("Pq")
    slow = cupy.RawKernel(
        'extern "C" __global__ void slow(double* x, int n) {'
        " long long t = clock64(); while (clock64() - t < 20000000) {}"
        " for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = 7; }",
        "slow",
    )
    for _ in range(5):
        if theirs_first:
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                x = cupy.zeros(N)
                slow((1,), (1024,), (x, np.int32(N)))
                ours = gpu.Array.from_any(x)  # our stream waits for theirs
            assert (ours.to_host() == 7).all()
        else:
            stream = gpu.Stream(device)
            with stream:
                y = gpu.Array.zeros(1, np.int64, device=device)
                spin(y, 5_000_000)
                consumer = cupy.cuda.Stream(non_blocking=True)
                with consumer:
                    taken = cupy.from_dlpack(y)  # their stream waits for ours
                    result = taken + 0
                consumer.synchronize()
                assert result.get()[0] == y.to_host()[0] != 0


def test_torch_streams_in_flight(device, torch):
    for _ in range(5):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = torch.zeros(N, device="cuda")
            torch.cuda._sleep(20_000_000)
            x += 5
            ours = gpu.Array.from_any(x)
        assert (ours.to_host() == 5).all()


def test_our_work_on_their_stream(device, cupy, axpy):
    x, y = cupy.ones(1000), cupy.zeros(1000)
    stream = cupy.cuda.Stream(non_blocking=True)
    stream.wait_event(cupy.cuda.get_current_stream().record())
    with stream, gpu.use_stream(stream):
        axpy(2.0, x, y, 1000)
        y *= 3
        axpy(1.0, x, y, 1000)
    stream.synchronize()
    assert (y.get() == 7).all()


def test_cupy_and_torch_objects_are_arguments(device, cupy, torch, axpy):
    x = torch.ones(1000, dtype=torch.float64, device="cuda")
    y = cupy.zeros(1000)
    axpy(2.5, x, y, 1000)
    gpu.current_stream(device).sync()
    assert (y.get() == 2.5).all()


def test_capture_beside_cupy(device, cupy, axpy):
    """Taking CuPy's arrays inside a capture records no event of theirs."""
    x, y = cupy.ones(1000), cupy.zeros(1000)
    cupy.cuda.get_current_stream().synchronize()
    stream = gpu.Stream(device)
    with stream.capture() as graph:
        axpy(1.0, x, y, 1000)
    graph.instantiate().launch(stream)
    stream.sync()
    assert (y.get() == 1).all()


def test_contexts_are_shared(device, cupy, torch):
    cupy.zeros(1)
    torch.zeros(1, device="cuda")
    assert device.context
    array = gpu.Array.zeros(10, device=device)
    with cupy.cuda.Device(0):
        assert cupy.from_dlpack(array).sum().get() == 0


def test_memory_of_cupy_comes_from_the_same_pool(device, cupy):
    pool = gpu.PoolMemoryResource(device)
    before = pool.used
    theirs = cupy.cuda.MemoryAsyncPool()
    memory = theirs.malloc(1 << 22)
    assert pool.used - before >= 1 << 22
    del memory
