"""Calls on GPUs, on the null platform: workspaces, streams, devices, threads, numbers."""

import threading

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError, DeviceError
from fieldforge.runtime import gpu
from fieldforge.runtime.gpu import libraries
from fieldforge.runtime.gpu.compiler import nvrtc
from fieldforge.runtime.gpu.native import null as driver
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.workflows.backends.backend import BACKENDS

from .gpu_calls import SIMULATED, I, J, K, Plane, box, halve, plane, sweep, swept_on_the_cpu

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(autouse=True)
def simulated():
    """Use the null platform, whose driver finds what a call does wrong."""
    with gpu.use_platform("null"):
        gpu.null.forget_problems()
        yield
        assert gpu.null.problems() == []


def calls_of(*names):
    """Return the recorded calls of the driver with these names, each with what it was about."""
    driver.record(False)
    return [call for call in driver.calls() if call[0] in names]


# --- workspaces ----------------------------------------------------------------------------------


@pytest.fixture
def size():
    return sweep.workspace_size(I=5, J=4, K=9)


def test_temporaries_lie_in_an_array_of_the_device(size):
    a, out = box(), box(2)
    sweep(a, out)
    workspace = gpu.Array.empty(size + 64, np.uint8)
    driver.record(True)

    sweep.with_workspace(workspace)(a, out)

    assert calls_of("alloc_async", "free_async") == []
    assert size > 0
    assert (out.asnumpy() == swept_on_the_cpu(a)).all()


@pytest.mark.parametrize("kind", ["buffer", "field"])
def test_other_memory_of_the_device_is_a_workspace(size, kind):
    a, out = box(), box(2)
    memory = (
        gpu.Device(0).memory.allocate(size + 64, stream=None)
        if kind == "buffer"
        else ff.zeros({I: size}, device=a.__dlpack_device__()).ndarray
    )

    with ff.workspace(memory):
        sweep(a, out)

    assert (out.asnumpy() == swept_on_the_cpu(a)).all()


def test_a_workspace_of_the_host_is_refused(size):
    with pytest.raises(
        DeviceError, match="The workspace lies on the host, but 'sweep' needs one on"
    ):
        sweep.with_workspace(np.empty(size + 64, np.uint8))(box(), box(2))


def test_a_workspace_of_another_device_is_refused(size):
    workspace = gpu.Array.empty(size + 64, np.uint8, device=gpu.Device(1))
    with pytest.raises(DeviceError, match="lies on device NULL:1"):
        sweep.with_workspace(workspace)(box(), box(2))


def test_a_program_of_the_host_refuses_a_workspace_of_a_device(size):
    a, out = ff.zeros({I: 5, J: 4, K: 9}), ff.zeros({I: 5, J: 4, K: 9})
    workspace = gpu.Array.empty(1 << 16, np.uint8)
    program = sweep.with_backend(ff.cpu.with_options(arrays=("%2",)))
    if program.workspace_size(I=5, J=4, K=9):
        with pytest.raises(DeviceError, match="needs one on the host"):
            program.with_workspace(workspace)(a, out)


def test_a_workspace_that_is_too_small_or_has_gaps_is_refused(size):
    with pytest.raises(ArgumentError, match=f"needs {size} bytes"):
        sweep.with_workspace(gpu.Array.empty(size - 8, np.uint8))(box(), box(2))
    with pytest.raises(ArgumentError, match="contiguous"):
        sweep.with_workspace(gpu.Array.empty((64, 64), np.uint8)[:, ::2])


def test_another_stream_waits_for_the_last_use_of_a_workspace(size):
    program = sweep.with_workspace(gpu.Array.empty(size + 64, np.uint8))
    a, out, other = box(), box(2), box(3)
    first, second = gpu.Stream(), gpu.Stream()
    program(a, out)
    driver.record(True)

    with first:
        program(a, out)
        program(a, out)
    with second:
        program(a, other)

    assert [place for _, place in calls_of("stream_wait")] == [first.ptr, second.ptr]


# --- streams -------------------------------------------------------------------------------------


class Tensor:
    """What torch would give: an array of another library."""

    __module__ = "torch"

    def __init__(self, value):
        self.array = gpu.Array.full((3, 4), float(value), device=gpu.Device(0))

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture
def torch_stream(monkeypatch):
    """Give a stream that is current for arrays of the other library."""
    stream = gpu.Stream(gpu.Device(0))
    monkeypatch.setitem(libraries._FINDERS, "torch", lambda: lambda _: current[-1])
    current = [stream.ptr]
    yield current, stream
    current[:] = [0]


def foreign(value):
    return ff.Field(Tensor(value), (I, J), (0, 0))


def test_calls_follow_the_stream_of_the_library_whose_arrays_they_get(torch_stream):
    current, stream = torch_stream
    a, out = foreign(8), foreign(0)
    halve(a, out)
    bound, own = halve.bind(a=a, out=out), gpu.Stream()
    driver.record(True)

    halve(a, out)
    bound()
    halve(plane(1), plane(2))
    with own:
        halve(a, out)
    current[:] = [0]
    halve(a, out)

    default = gpu.current_stream(gpu.Device(0)).ptr
    found = [place for _, place in calls_of("launch")]
    assert found == [stream.ptr, stream.ptr, default, own.ptr, default]


def test_an_operator_has_a_stream_of_its_own_choice():
    stream = gpu.Stream()
    a, out = plane(6), plane(0)
    halve(a, out)
    driver.record(True)

    halve.with_stream(stream)(a, out)
    with stream:
        halve(a, out)

    assert {place for _, place in calls_of("launch")} == {stream.ptr}


def test_nothing_in_a_call_waits():
    a, out = box(), box(2)
    sweep(a, out)
    bound = sweep.bind(a=a, out=out)
    bound()
    driver.record(True)

    sweep(a, out)
    bound()

    waits = (
        "stream_sync",
        "stream_query",
        "event_sync",
        "event_query",
        "context_sync",
        "alloc",
        "free",
    )
    assert calls_of(*waits) == []


# --- devices -------------------------------------------------------------------------------------


def test_a_call_runs_on_the_device_of_its_fields():
    a, out = plane(8, device=1), plane(0, device=1)
    gpu.Device(0).set_current()

    halve(a, out)
    halve.bind(a=a, out=out)()

    assert (out.asnumpy() == 4.0).all()
    assert gpu.current_device().id == 0


def test_temporaries_lie_on_the_device_of_the_fields():
    a = ff.as_field([I, J, K], box().asnumpy(), device=(12, 1))
    out = ff.zeros({I: 5, J: 4, K: 9}, device=(12, 1))
    sweep(a, out)

    with gpu.null.limited_memory(0, device=0):
        sweep(a, out)

    assert (out.asnumpy() == swept_on_the_cpu(a)).all()


def test_fields_on_two_devices_are_refused():
    with pytest.raises(
        DeviceError, match="'a' of 'halve' lies on device NULL:0, but 'out' on device NULL:1"
    ):
        halve(plane(1), plane(2, device=1))


def test_a_field_of_the_host_is_refused():
    with pytest.raises(
        DeviceError, match="'a' lies on device CPU:0, but 'halve' was compiled for NULL"
    ):
        halve(ff.zeros({I: 3, J: 4}), plane(0))


def test_a_field_of_a_simulated_device_is_no_field_of_a_gpu():
    try:
        nvrtc()
    except gpu.GpuError as error:
        pytest.skip(error.message)
    backend = BACKENDS["gpu"].with_options(target=GpuTarget("sm_90"))
    with pytest.raises(DeviceError, match=r"NULL:0, but(.|\n)*run what backend 'gpu-host' builds"):
        halve.with_backend(backend)(plane(1), plane(2))


def test_too_little_memory_is_an_error_and_nothing_is_written():
    a, out = box(), box(2)
    sweep(a, out)
    out[...] = 7.0

    with (
        gpu.null.limited_memory(0),
        pytest.raises(ff.errors.FieldforgeError, match=r"'sweep' needs .* bytes of workspace"),
    ):
        sweep(a, out)

    assert (out.asnumpy() == 7.0).all()
    sweep(a, out)
    assert (out.asnumpy() == swept_on_the_cpu(a)).all()


@pytest.mark.parametrize("devices", [(0, 0), (0, 1)])
def test_two_threads_call_on_streams_and_devices_of_their_own(devices):
    halve(plane(1), plane(2))
    failures = []

    def work(device, value):
        try:
            with gpu.Stream(gpu.Device(device)) as stream:
                a, out = plane(value, device), plane(0, device)
                for _ in range(20):
                    halve(a, out)
                stream.sync()
                np.testing.assert_array_equal(out.asnumpy(), value / 2)
        except Exception as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(device, 2.0 + place))
        for place, device in enumerate(devices)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


# --- numbers in the place of fields --------------------------------------------------------------

Number = ff.Field[[], ff.float64]


@ff.field_operator
def shifted_by(a: Plane, n: Number) -> Plane:
    return a + n


@pytest.mark.parametrize("device", [0, 1])
def test_a_number_is_a_field_without_dimensions(device):
    out = plane(0, device)
    operator = shifted_by.with_backend(SIMULATED)

    for number in (3.0, np.float64(4.0), 3.0):
        operator(plane(1, device), number, out=out)
        assert (out.asnumpy() == 1.0 + number).all()


# --- recorded calls ------------------------------------------------------------------------------


def test_a_recorded_step_runs_on_the_device():
    a, out = box(), box(2)
    with ff.record(a=a) as step:
        sweep(a, out)
        sweep(out, out)
    other = box(5)

    step(a=other)

    once = swept_on_the_cpu(other)
    twice = swept_on_the_cpu(ff.as_field([I, J, K], once))
    assert (out.asnumpy() == twice).all()
