"""What only a real GPU can show: overlap, times of events, calls that return early."""

import time

import numpy as np
import pytest

from fieldforge.runtime import gpu

from ...processes import python

pytestmark = pytest.mark.needs_gpu
ROUNDS = 20_000_000


@pytest.fixture(autouse=True)
def real(device):
    if device.platform == "null":
        pytest.skip("needs a GPU")


@pytest.fixture
def spin(module):
    return module.kernel("spin").prepare("Pq")


def milliseconds(device, work):
    """Time on the device between two events around `work`, which is given a stream."""
    stream = gpu.Stream(device)
    begin, end = gpu.Event(device, timing=True), gpu.Event(device, timing=True)
    begin.record(stream)
    work(stream)
    end.record(stream)
    end.sync()
    return end - begin


def test_events_time_what_lies_between(device, spin):
    x, stream = gpu.Array.zeros(1, np.int64, device=device), gpu.Stream(device)
    first, middle, last = (gpu.Event(device, timing=True) for _ in range(3))
    first.record(stream)
    spin(x, ROUNDS, stream=stream)
    middle.record(stream)
    spin(x, ROUNDS, stream=stream)
    last.record(stream)
    last.sync()
    assert middle - first > 0
    np.testing.assert_allclose((middle - first) + (last - middle), last - first, rtol=1e-3)


def test_streams_overlap(device, spin):
    arrays = [gpu.Array.zeros(1, np.int64, device=device) for _ in range(4)]
    device.sync()
    once = milliseconds(device, lambda stream: spin(arrays[0], ROUNDS, stream=stream))

    def fork(stream):
        others = [gpu.Stream(device) for _ in arrays]
        for other, array in zip(others, arrays, strict=True):
            other.wait(stream)
            spin(array, ROUNDS, stream=other)
        for other in others:
            stream.wait(other)

    assert milliseconds(device, fork) < 2 * once


def test_launches_return_before_the_work_is_done(device, spin):
    x = gpu.Array.zeros(1, np.int64, device=device)
    spin(x, 1)
    device.sync()
    event = gpu.Event(device)
    begin = time.perf_counter()
    spin(x, 10 * ROUNDS)
    event.record()
    returned = time.perf_counter() - begin
    assert not event.done
    event.sync()
    assert returned < (time.perf_counter() - begin) / 4


def test_waiting_releases_the_lock(device, spin):
    import threading

    x = gpu.Array.zeros(1, np.int64, device=device)
    device.sync()
    counted = [0]
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        spin(x, 20 * ROUNDS)
        before = counted[0]
        gpu.current_stream(device).sync()
        assert counted[0] - before > 1000
    finally:
        stop.set()
        thread.join()


def test_a_fault_of_a_kernel_is_named_by_the_next_wait():
    """In a process of its own, because the context is lost."""

    code = (
        "from fieldforge.runtime import gpu\n"
        "d = gpu.current_device()\n"
        "i = gpu.compile_kernels('extern \"C\" __global__ void f(int* p) { *p = 1; }')\n"
        "gpu.Module.load(i).kernel('f').launch(1, 1, (gpu.Buffer.from_handle(64, 4),))\n"
        "try: d.sync()\n"
        "except gpu.GpuError as e: print(e.code, e.where)\n"
    )
    done = python("-c", code)
    assert done.stdout.split()[:1] in (["700"], ["719"]), done.stderr
