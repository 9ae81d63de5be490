"""What threads do to one GPU at once; every result is compared with NumPy.

The jobs run on the platform that FIELDFORGE_GPU names, and on null otherwise. All threads share
kernels, launchers and the pool of memory; streams, arrays and graphs belong to one job.
"""

import functools
import gc
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fieldforge.runtime import gpu
from fieldforge.runtime.process import settings

Job = Callable[[random.Random], None]

SOURCE = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void index(long long* out, long long from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = from + i;
}
"""


class Shared(NamedTuple):
    """What all threads use."""

    device: gpu.Device
    axpy: gpu.Launcher
    index: gpu.Launcher


@functools.cache
def shared() -> Shared:
    """Return the device and its kernels; call it before threads do."""
    device = gpu.Device(0, platform=settings.current().gpu or "null")
    gpu.set_platform(device.platform)
    image = gpu.compile_kernels(SOURCE, arch=device.arch)
    module = gpu.Module.load(image, device=device)
    axpy = module.kernel("axpy").prepare("dRPi", grid=8, block=128)
    return Shared(device, axpy, module.kernel("index").prepare("Pqi", grid=8, block=128))


def numbers(chance: random.Random) -> np.ndarray[Any, Any]:
    """Return a row of up to 1000 integers, which sums do not round."""
    count, first = chance.randrange(1, 1000), chance.randrange(1000)
    return np.arange(first, first + count, dtype=np.float64)


def check(found: Any, wanted: Any) -> None:
    """Compare all elements."""
    if not np.array_equal(found, wanted):
        wanted = np.asarray(wanted)
        raise AssertionError(
            f"expected {wanted.ravel()[:4]} of shape {wanted.shape}, got {found.ravel()[:4]}"
        )


class Foreign:
    """An array of another library: it speaks DLPack, and switches threads on the way."""

    def __init__(self, array: gpu.Array) -> None:
        self.array = array

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        sum(range(50))
        return self.array.__dlpack__(**options)


def launches(chance: random.Random) -> None:
    """Launch on the current stream of the thread."""
    device, axpy, index = shared()
    x = numbers(chance)
    here, out = gpu.Array.from_host(x, device=device), gpu.Array.zeros(len(x), device=device)
    total = 0
    for _ in range(chance.randrange(1, 8)):
        by = chance.randrange(100)
        axpy(by, here, out, len(x))
        total += by
    places = gpu.Array.empty(len(x), np.int64, device=device)
    first = chance.randrange(2**40)
    index(places, first, len(x))
    check(out.to_host(), total * x)
    check(places.to_host(), np.arange(first, first + len(x)))


def foreign(chance: random.Random) -> None:
    """Launch with arguments for which Python code runs while others use the same launcher."""
    device, axpy, _ = shared()
    x = numbers(chance)
    here, out = gpu.Array.from_host(x, device=device), gpu.Array.zeros(len(x), device=device)
    by = chance.randrange(100)
    axpy(by, Foreign(here), Foreign(out), len(x))
    check(out.to_host(), by * x)


def bound(chance: random.Random) -> None:
    """Call a bound launch on several streams, one after the other."""
    device, axpy, _ = shared()
    x = numbers(chance)
    here, out = gpu.Array.from_host(x, device=device), gpu.Array.zeros(len(x), device=device)
    call = axpy.bind(3.0, here, out, len(x))
    before = gpu.current_stream(device)
    times = chance.randrange(1, 6)
    for _ in range(times):
        stream = gpu.Stream(device)
        stream.wait(before)
        call(stream=stream)
        before = stream
    before.sync()
    check(out.to_host(), 3.0 * times * x)


def streams(chance: random.Random) -> None:
    """Order two streams by events, and read the result on the host."""
    device, axpy, _ = shared()
    x = numbers(chance)
    one, two = gpu.Stream(device), gpu.Stream(device, nonblocking=chance.random() < 0.5)
    with one:
        here, out = gpu.Array.from_host(x, device=device), gpu.Array.zeros(len(x), device=device)
        axpy(2.0, here, out, len(x))
        event = one.record(gpu.Event(device) if chance.random() < 0.5 else None)
    two.wait(event)
    axpy(5.0, here, out, len(x), stream=two)
    two.sync()
    check(out.to_host(stream=two), 7.0 * x)
    if two.ptr == one.ptr or not two.done or gpu.Stream.from_object(two) != two:
        raise AssertionError("a stream is not itself")


def events(chance: random.Random) -> None:
    """Make many events, and time something with two of them."""
    device, axpy, _ = shared()
    with gpu.Stream(device) as stream:
        kept = [gpu.Event(device, timing=chance.random() < 0.5) for _ in range(20)]
        if len({event.ptr for event in kept}) != len(kept):
            raise AssertionError("an event was given out twice")
        for event in kept:
            event.record(stream)
        start = gpu.Event(device, timing=True).record()
        x = gpu.Array.zeros(100, device=device)
        axpy(1.0, x, x, 100)
        end = gpu.Event(device, timing=True).record(stream)
        end.sync()
        if not all(event.done for event in (*kept, start, end)) or end - start < 0:
            raise AssertionError("events are out of order")


def buffers(chance: random.Random) -> None:
    """Allocate, fill, copy and free, of every kind of memory."""
    device = shared().device
    resources = [device.memory, gpu.PinnedMemoryResource(device), gpu.ManagedMemoryResource(device)]
    stream = gpu.Stream(device)
    kept = []
    for _ in range(chance.randrange(1, 6)):
        size, value = chance.randrange(1, 5000), chance.randrange(256)
        buffer = chance.choice(resources).allocate(size, stream=stream)
        buffer.fill(value, stream=stream)
        kept.append((buffer, value))
    chance.shuffle(kept)
    for buffer, value in kept:
        host = np.empty(buffer.size, np.uint8)
        buffer.copy_to(host, stream=stream)
        stream.sync()
        check(host, np.full(buffer.size, value, np.uint8))
        if chance.random() < 0.5:
            buffer.free(stream=stream)


def arrays(chance: random.Random) -> None:
    """Copy between layouts, see parts of arrays, and exchange them."""
    device = shared().device
    x = np.array([chance.randrange(1000) for _ in range(60)], np.int64).reshape(3, 4, 5)
    here = gpu.Array.from_host(x, device=device)
    order = chance.sample(range(3), 3)
    check(here.transpose(*order).copy().to_host(), x.transpose(order))
    check(here[1:, ::2, 3].to_host(), x[1:, ::2, 3])
    other = gpu.Array.zeros((3, 4, 5), np.int64, device=device)
    other.copy_from(Foreign(here))
    check(other.to_host(), x)
    wrapped = gpu.Array.from_any(x[:, ::-1])
    check(np.from_dlpack(wrapped), x[:, ::-1])
    if wrapped.ptr != x[:, ::-1].ctypes.data or wrapped.strides != x[:, ::-1].strides:
        raise AssertionError("a wrapped array lies elsewhere")


def graphs(chance: random.Random) -> None:
    """Capture launches while others work, and replay them."""
    device, axpy, _ = shared()
    x = numbers(chance)
    here, out = gpu.Array.from_host(x, device=device), gpu.Array.zeros(len(x), device=device)
    stream = gpu.Stream(device)
    stream.wait(gpu.current_stream(device))
    times = chance.randrange(1, 5)
    with stream.capture() as graph:
        for _ in range(times):
            axpy(2.0, here, out, len(x))
    ready = graph.instantiate()
    replays = chance.randrange(1, 4)
    for _ in range(replays):
        ready.launch(stream)
    stream.sync()
    check(out.to_host(stream=stream), 2.0 * times * replays * x)


JOBS: tuple[Job, ...] = (
    launches, foreign, bound, streams, events, buffers, arrays, graphs
)  # fmt: skip


def held() -> int:
    """Return how many bytes of the device are allocated, without pinned memory kept for reuse."""
    device = shared().device
    gc.collect()
    device.sync()
    if device.platform == "null":
        return sum(each.size for each in gpu.null.allocations() if each.kind != "pinned")
    return int(device.memory.used)


def handles() -> int:
    """Return how many streams, events and graphs the null platform has, those in pools too."""
    return gpu.null.handles() if shared().device.platform == "null" else 0


def problems() -> list[str]:
    """Return what the null platform found wrong: unordered streams, use after free and the like."""
    return gpu.null.problems() if shared().device.platform == "null" else []
