"""Graphs: capture, replay, update."""

import gc

import numpy as np
import pytest

from fieldforge.runtime import gpu


@pytest.fixture
def arrays(device, numbers):
    return gpu.Array.from_host(numbers, device=device), gpu.Array.zeros(1000, device=device)


def capture(device, work, **options):
    stream = gpu.Stream(device)
    gpu.current_stream(device).sync()
    with stream.capture(**options) as graph:
        work()
    return graph


def test_nothing_runs_during_a_capture(device, axpy, arrays, numbers):
    x, y = arrays
    graph = capture(device, lambda: [axpy(1.0, x, y, 1000) for _ in range(3)])
    assert graph.nodes == 3
    assert (y.to_host() == 0).all()
    ready = graph.instantiate()
    ready.upload()
    ready.launch()
    ready.launch()
    np.testing.assert_allclose(y.to_host(), 6 * numbers)


def test_forks_join(device, axpy, numbers, arrays):
    x, y = arrays
    z = gpu.Array.zeros(1000, device=device)
    one, two = gpu.Stream(device), gpu.Stream(device)
    device.sync()
    with one.capture(mode="relaxed") as graph:
        two.wait(one)
        axpy(1.0, x, y, 1000, stream=one)
        axpy(2.0, x, z, 1000, stream=two)
        one.wait(two)
    graph.instantiate().launch()
    np.testing.assert_allclose(y.to_host(), numbers)
    np.testing.assert_allclose(z.to_host(), 2 * numbers)


@pytest.mark.expects_problems
def test_a_fork_that_does_not_join_is_an_error(device, axpy, arrays):
    x, y = arrays
    one, two = gpu.Stream(device), gpu.Stream(device)
    device.sync()
    with pytest.raises(gpu.GpuError) as caught, one.capture():  # noqa: PT012  # at its end
        two.wait(one)
        axpy(1.0, x, y, 1000, stream=two)
    assert caught.value.code == 904


@pytest.mark.expects_problems
def test_waiting_inside_a_capture_is_an_error(device):
    stream = gpu.Stream(device)
    with pytest.raises(gpu.GpuError) as caught, stream.capture():
        stream.sync()
    assert caught.value.code == 900
    gpu.Stream(device).sync()


def test_an_exception_inside_a_capture_ends_it(device):
    stream = gpu.Stream(device)
    with pytest.raises(KeyError), stream.capture():
        raise KeyError
    assert not stream.capturing
    stream.sync()


@pytest.mark.expects_problems
def test_the_legacy_stream_cannot_capture(device):
    with (
        pytest.raises(gpu.GpuError) as caught,
        gpu.Stream.from_handle(0, device=device).capture(),
    ):
        pass
    assert caught.value.code == 900


def test_a_graph_keeps_what_it_uses(device, axpy, numbers):
    held = [gpu.Array.from_host(numbers, device=device)]
    y = gpu.Array.zeros(1000, device=device)
    ready = capture(device, lambda: axpy(1.0, held[0], y, 1000)).instantiate()
    held.clear()
    gc.collect()
    ready.launch()
    np.testing.assert_allclose(y.to_host(), numbers)


def test_buffers_freed_during_a_capture_are_freed_after_it(device, axpy, arrays, numbers):
    x, y = arrays
    stream = gpu.Stream(device)
    with stream:
        temporary = gpu.Array.zeros(1000, device=device)
    device.sync()
    with stream.capture() as graph:
        axpy(1.0, x, y, 1000)
        del temporary
        gc.collect()
    graph.instantiate().launch()
    np.testing.assert_allclose(y.to_host(), numbers)


def test_memory_allocated_inside_belongs_to_the_graph(device, axpy, arrays, numbers):
    x, y = arrays

    def work():
        temporary = gpu.Array.zeros(1000, device=device)
        axpy(2.0, x, temporary, 1000)
        axpy(1.0, temporary, y, 1000)

    ready = capture(device, work).instantiate()
    for _ in range(3):
        ready.launch()
    np.testing.assert_allclose(y.to_host(), 6 * numbers)


def test_alternating_buffers(device, axpy, numbers):
    now, new = (gpu.Array.from_host(numbers, device=device) for _ in range(2))
    even = capture(device, lambda: axpy(1.0, now, new, 1000)).instantiate()
    odd = capture(device, lambda: axpy(1.0, new, now, 1000)).instantiate()
    a, b = numbers.copy(), numbers.copy()
    for step in range(10):
        (odd if step % 2 else even).launch()
        if step % 2:
            a += b
        else:
            b += a
    np.testing.assert_allclose(now.to_host(), a)
    np.testing.assert_allclose(new.to_host(), b)


def test_update_by_another_graph(device, axpy, arrays, numbers):
    x, y = arrays
    z = gpu.Array.zeros(1000, device=device)
    ready = capture(device, lambda: axpy(1.0, x, y, 1000)).instantiate()
    ready.update(capture(device, lambda: axpy(5.0, x, z, 1000)))
    ready.launch()
    np.testing.assert_allclose(z.to_host(), 5 * numbers)
    assert (y.to_host() == 0).all()


def test_update_by_other_memory(device, axpy, arrays, numbers):
    x, y = arrays
    z = gpu.Array.zeros(1000, device=device)
    ready = capture(device, lambda: axpy(1.0, x, y, 1000)).instantiate()
    try:
        ready.update({y: z})
    except gpu.GpuError as error:
        if error.code in (500, 801):
            pytest.skip("this driver does not tell the parameters of a kernel (CUDA 12.4 does)")
        raise
    ready.launch()
    np.testing.assert_allclose(z.to_host(), numbers)
    assert (y.to_host() == 0).all()
    with pytest.raises(ValueError, match="smaller than the old"):
        ready.update({y: gpu.Array.zeros(10, device=device)})


@pytest.mark.expects_problems
def test_update_by_another_form_is_refused(device, axpy, arrays):
    x, y = arrays
    ready = capture(device, lambda: axpy(1.0, x, y, 1000)).instantiate()
    with pytest.raises(gpu.GpuError):
        ready.update(capture(device, lambda: [axpy(1.0, x, y, 1000) for _ in range(2)]))


def test_10000_captures_do_not_leak(device, axpy, arrays, is_null):
    x, y = arrays
    stream = gpu.Stream(device)
    bound = axpy.bind(1.0, x, y, 1000)
    device.sync()

    def once():
        with stream.capture() as graph:
            bound()
        graph.instantiate().launch(stream)

    for _ in range(100):
        once()
    device.sync()
    free, handles = device.memory_info()[0], gpu.null.handles()
    for _ in range(10_000):
        once()
    device.sync()
    assert free - device.memory_info()[0] <= 64 << 20
    assert gpu.null.handles() == handles
