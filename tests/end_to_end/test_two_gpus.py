"""Programs on two devices of one process: the simulated ones, and real GPUs where there are two."""

import threading

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.runtime.process.device import Device, DeviceType
from fieldforge.workflows.backends.backend import BACKENDS

from .gpu_calls import SIMULATED, I, J, K, halve, sweep

KINDS = {"null": DeviceType.NULL, "cuda": DeviceType.CUDA, "hip": DeviceType.ROCM}
SHAPE = (64, 48, 40)


class Two:
    """Two devices of one platform, and the backend for them."""

    def __init__(self, platform):
        self.kind = KINDS[platform]
        self.backend = SIMULATED if platform == "null" else BACKENDS["gpu"]
        self.devices = [gpu.Device(at, platform=platform) for at in range(2)]
        self.halve = halve.with_backend(self.backend)
        self.sweep = sweep.with_backend(self.backend.with_options(shared=False))

    def plane(self, value, at):
        return ff.full({I: 30, J: 70}, float(value), device=Device(self.kind, at))

    def box(self, values, at):
        return ff.as_field([I, J, K], values, device=Device(self.kind, at))


@pytest.fixture(params=["simulated", pytest.param("real", marks=pytest.mark.needs_gpu)])
def two(request):
    if request.param == "simulated":
        with gpu.use_platform("null"):
            gpu.null.forget_problems()
            yield Two("null")
            assert gpu.null.problems() == []
        return
    platform = next((name for name in ("cuda", "hip") if gpu.is_available(name)), None)
    count = 0 if platform is None else gpu.device_count(platform)
    if count < 2:
        pytest.skip(f"two GPUs are needed in one process, and this machine has {count}")
    with gpu.use_platform(platform):
        yield Two(platform)


def on_the_cpu(values):
    out = ff.zeros(dict(zip((I, J, K), values.shape, strict=True)))
    sweep.with_backend("cpu")(ff.as_field([I, J, K], values), out)
    return np.array(out.asnumpy())


def test_a_program_runs_where_its_fields_lie(two):
    with two.devices[0]:
        for at in (1, 0, 1):
            a, out = two.plane(3 + at, at), two.plane(0, at)
            two.halve(a, out)
            assert (out.device_type, out.device_id) == (two.kind, at)
            assert (out.asnumpy() == (3 + at) / 2).all()
            assert gpu.current_device() is two.devices[0]


def test_temporaries_and_a_workspace_lie_on_the_device_of_the_call(two):
    values = np.random.default_rng(1).random(SHAPE)
    expected = on_the_cpu(values)
    size = two.sweep.workspace_size(I=SHAPE[0], J=SHAPE[1], K=SHAPE[2])
    rooms = [gpu.Array.empty(size + 64, np.uint8, device=device) for device in two.devices]
    for at in (0, 1):
        a, out = two.box(values, at), two.box(np.zeros(SHAPE), at)
        two.sweep(a, out)
        assert (out.asnumpy() == expected).all()
        again = two.box(np.zeros(SHAPE), at)
        with ff.workspace(rooms[at]):
            two.sweep(a, again)
        assert (again.asnumpy() == expected).all()
    with pytest.raises(ff.errors.DeviceError), ff.workspace(rooms[0]):
        two.sweep(two.box(values, 1), two.box(np.zeros(SHAPE), 1))


def test_two_threads_on_two_devices_and_a_stream_each(two):
    values = [np.random.default_rng(seed).random(SHAPE) for seed in (1, 2)]
    found = [None, None]
    start = threading.Barrier(2)

    def work(at):
        stream = gpu.Stream(two.devices[at])
        a, out = two.box(values[at], at), two.box(np.zeros(SHAPE), at)
        start.wait()
        with stream:
            for _ in range(20):
                two.sweep(a, out)
        stream.sync()
        found[at] = np.array(out.asnumpy())

    threads = [threading.Thread(target=work, args=(at,)) for at in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((one == on_the_cpu(own)).all() for one, own in zip(found, values, strict=True))


def test_two_streams_of_a_device_take_turns_by_events(two):
    device = two.devices[1]
    first, second = gpu.Stream(device), gpu.Stream(device)
    a, b = two.plane(1024, 1), two.plane(0, 1)
    device.sync()
    for _ in range(5):
        two.halve.with_stream(first)(a, b)
        second.wait(first)
        two.halve.with_stream(second)(b, a)
        first.wait(second)
    second.sync()
    assert (a.asnumpy() == 1.0).all()


def test_a_field_goes_to_the_other_device_and_back(two):
    values = np.random.default_rng(3).random(SHAPE)
    here = two.box(values, 0)
    out, there = two.box(np.zeros(SHAPE), 0), two.box(np.zeros(SHAPE), 1)
    back = two.box(np.zeros(SHAPE), 0)
    streams = [gpu.Stream(device) for device in two.devices]
    for device in two.devices:
        device.sync()
    two.sweep.with_stream(streams[0])(here, out)
    target = gpu.Array.from_any(there.ndarray, order_after=False)
    source = gpu.Array.from_any(out.ndarray, order_after=False)
    streams[1].wait(streams[0])
    target.copy_from(source, stream=streams[1])
    two.sweep.with_stream(streams[1])(there, there)
    streams[0].wait(streams[1])
    gpu.Array.from_any(back.ndarray, order_after=False).copy_from(target, stream=streams[0])
    streams[0].sync()
    assert (back.asnumpy() == on_the_cpu(on_the_cpu(values))).all()


def test_a_field_made_of_one_on_the_other_device(two):
    values = np.random.default_rng(4).random(SHAPE)
    copied = ff.as_field([I, J, K], two.box(values, 0), device=Device(two.kind, 1))
    assert copied.device_id == 1
    assert (copied.asnumpy() == values).all()


def test_fields_on_two_devices_are_refused_by_name(two):
    with pytest.raises(ff.errors.DeviceError, match="'out'"):
        two.halve(two.plane(1, 0), two.plane(0, 1))
