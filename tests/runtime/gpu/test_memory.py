"""Buffers and memory resources."""

import gc

import numpy as np
import pytest

from fieldforge.runtime import gpu

from ..others import OnlyDLPack

KINDS = [gpu.PoolMemoryResource, gpu.DeviceMemoryResource, gpu.PinnedMemoryResource,
         gpu.ManagedMemoryResource]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_buffers_hold_what_is_copied(device, kind):
    resource = kind(device)
    data = np.random.default_rng(1).integers(0, 255, 10_000, dtype=np.uint8)
    buffer = resource.allocate(data.nbytes)
    buffer.copy_from(data)
    back = np.empty_like(data)
    buffer.copy_to(back)
    assert (back == data).all()
    assert buffer.size == len(buffer) == 10_000
    assert buffer.device is device
    other = resource.allocate(data.nbytes)
    other.copy_from(buffer)
    other.copy_to(back)
    assert (back == data).all()
    assert buffer.is_device_accessible == resource.is_device_accessible
    assert buffer.is_host_accessible == resource.is_host_accessible


@pytest.mark.parametrize("width", [1, 2, 4])
def test_fills(device, width):
    buffer = device.memory.allocate(64)
    buffer.fill(0x11223344 & (256**width - 1), width=width)
    back = np.empty(64 // width, f"u{width}")
    buffer.copy_to(back)
    assert (back == (0x11223344 & (256**width - 1))).all()
    with pytest.raises(ValueError, match="width of a fill"):
        buffer.fill(0, width=3)


def test_empty_buffers(device):
    buffer = device.memory.allocate(0)
    assert (buffer.ptr, buffer.size) == (0, 0)
    buffer.fill(1)
    buffer.copy_to(np.empty(0))
    buffer.free()
    with pytest.raises(ValueError, match="negative size"):
        device.memory.allocate(-1)


def test_freeing_twice_is_nothing_and_use_after_it_is_refused(device):
    buffer = device.memory.allocate(100)
    buffer.free()
    buffer.free()
    with pytest.raises(ValueError, match="was freed"):
        buffer.fill(0)


def test_sizes_must_agree(device):
    buffer = device.memory.allocate(100)
    with pytest.raises(ValueError, match="has 100 bytes, the other 99"):
        buffer.copy_from(bytes(99))


def test_pinned_and_host_memory_are_arrays_of_numpy(device):
    for resource in (gpu.PinnedMemoryResource(device), gpu.HostMemoryResource()):
        buffer = resource.allocate(800)
        array = np.frombuffer(buffer, np.float64)
        array[:] = np.arange(100)
        assert memoryview(buffer).nbytes == 800
        with pytest.raises(BufferError, match="in use by a view"):
            buffer.free()
        del array
        gc.collect()
        buffer.free()


def test_device_memory_offers_no_buffer(device):
    with pytest.raises(BufferError, match="not on the host"):
        memoryview(device.memory.allocate(8))


def test_host_memory_is_aligned_as_asked():
    assert gpu.HostMemoryResource(4096).allocate(10).ptr % 4096 == 0


def test_pools_of_our_own(device):
    pool = gpu.PoolMemoryResource(device, own=True, release_threshold=1 << 30)
    assert pool.release_threshold == 1 << 30
    buffer = pool.allocate(1 << 20)
    assert pool.used >= 1 << 20
    buffer.free()
    gpu.current_stream(device).sync()
    assert pool.used == 0
    assert pool.reserved >= 1 << 20
    pool.trim()
    assert pool.reserved <= 64 << 20  # CUDA keeps a chunk


def test_buffers_move_between_streams_in_order(device):
    one, two = gpu.Stream(device), gpu.Stream(device)
    buffer = device.memory.allocate(1 << 20, stream=one)
    assert buffer.stream == one
    buffer.fill(7, stream=one)
    back = np.empty(1 << 20, np.uint8)
    buffer.copy_to(back, stream=two)
    assert buffer.stream == two
    assert (back == 7).all()


def test_memory_of_a_device_can_be_replaced(device):
    class Counting:
        def __init__(self):
            self.count = 0
            self.pool = gpu.PoolMemoryResource(device)

        def allocate(self, size, *, stream=None):
            self.count += 1
            return self.pool.allocate(size, stream=stream)

    mine = device.memory = Counting()
    try:
        gpu.Array.zeros(10, device=device)
        assert mine.count == 1
    finally:
        device.memory = None
    assert isinstance(device.memory, gpu.PoolMemoryResource)


def test_running_out_of_memory_says_how_much(device):
    total = device.memory_info()[1]
    with pytest.raises(
        gpu.GpuMemoryError, match=r"asked for .* are free, and pools hold"
    ) as caught:
        gpu.DeviceMemoryResource(device).allocate(4 * total)
    assert isinstance(caught.value, MemoryError)
    assert caught.value.code == 2


def test_pools_are_trimmed_once_before_memory_runs_out(device):
    total = device.memory_info()[1]
    hoard = gpu.PoolMemoryResource(device, own=True, release_threshold=2**63)
    hoard.allocate(total * 6 // 10).free()
    gpu.current_stream(device).sync()
    assert hoard.reserved >= total * 6 // 10
    buffer = gpu.DeviceMemoryResource(device).allocate(total * 6 // 10)  # only fits after a trim
    assert buffer.size == total * 6 // 10
    assert hoard.reserved <= 64 << 20


def test_pool_under_pressure(device):
    pool = gpu.PoolMemoryResource(device, own=True)
    rng = np.random.default_rng(3)
    held = []
    for _ in range(2000):
        held.append(pool.allocate(int(rng.integers(1, 1 << 18))))
        held[-1].fill(1)
        if len(held) > 50:
            held.pop(int(rng.integers(0, 50)))
    held.clear()
    device.sync()
    assert pool.used == 0


@pytest.mark.expects_problems
def test_null_notices_double_frees_and_use_after_free(is_null):
    if not is_null:
        pytest.skip("a real driver does not look")
    device = gpu.Device(0, platform="null")
    pool = device.memory
    buffer = pool.allocate(64)
    view = gpu.Buffer.from_handle(buffer.ptr, 64, device=device)
    address = buffer.ptr
    buffer.free()
    with pytest.raises(gpu.GpuError, match="used after it was freed"):
        view.fill(0)
    with pytest.raises(gpu.GpuError, match="freed twice"):
        pool.deallocate(address, 64)
    with pytest.raises(gpu.GpuError, match="never allocated"):
        pool.deallocate(64, 64)
    assert len(gpu.null.problems()) == 3


@pytest.mark.expects_problems
def test_null_notices_a_missing_order(is_null):
    if not is_null:
        pytest.skip("a real driver does not look")
    device = gpu.Device(0, platform="null")
    one, two = gpu.Stream(device), gpu.Stream(device)
    buffer = device.memory.allocate(64, stream=one)
    stranger = gpu.Buffer.from_handle(buffer.ptr, 64, device=device, stream=two)
    buffer.fill(1, stream=one)
    stranger.fill(2, stream=two)
    assert "without an order" in gpu.null.problems()[0]
    gpu.null.forget_problems()
    two.sync()
    one.wait(two)
    buffer.fill(1, stream=one)
    assert gpu.null.problems() == []


def test_nothing_leaks(device, is_null):
    if not is_null:
        pytest.skip("a real driver does not list its memory")
    before = gpu.null.allocations()
    buffers = [device.memory.allocate(100) for _ in range(10)]
    assert len(gpu.null.allocations()) == len(before) + 10
    del buffers
    assert gpu.null.allocations() == before


@pytest.mark.parametrize("width", [50, 40], ids=["all of it", "rows with gaps"])
def test_memory_of_others_is_copied_to_another_device(several, width):
    data = np.random.default_rng(3).random((20, 50))
    here = gpu.Array.from_host(data, device=several[0])
    several[0].sync()
    theirs = gpu.Array.from_any(OnlyDLPack(here))[:, :width]

    there = gpu.Array.zeros((20, width), device=several[1])
    there.copy_from(theirs)

    assert (there.to_host() == data[:, :width]).all()
