"""Devices, streams and events."""

import gc
import threading

import numpy as np
import pytest

from fieldforge.runtime import gpu


def test_device_is_one_object_with_its_facts(device):
    assert gpu.Device(0, platform=device.platform) is device
    assert device.attribute("warp_size") in (32, 64)
    assert device.attribute("multiprocessor_count") > 0
    assert all(isinstance(device.attribute(name), int) for name in device.attribute_names())
    assert len(device.uuid) == 16
    assert device.pci_bus_id.count(":") == 2
    free, total = device.memory_info()
    assert 0 < free <= total
    assert device.set_current() is device
    assert device.arch
    assert device.name


def test_unknown_attribute_and_device_are_refused(device):
    with pytest.raises(ValueError, match="no attribute 'colour'"):
        device.attribute("colour")
    with pytest.raises(gpu.GpuError, match="no device 99"):
        gpu.Device(99, platform=device.platform)
    with pytest.raises(gpu.GpuError, match="as platform, got 'opencl'"):
        gpu.Device(0, platform="opencl")


def test_current_stream_is_never_the_legacy_one(device):
    stream = gpu.current_stream(device)
    assert stream.ptr > 2
    assert stream == gpu.current_stream(device)
    assert stream.device is device
    assert stream.__cuda_stream__() == (0, stream.ptr)


def test_with_nests_and_comes_back(device):
    outer, inner, before = gpu.Stream(device), gpu.Stream(device), gpu.current_stream(device)
    with outer:
        with inner:
            assert gpu.current_stream(device) == inner
        assert gpu.current_stream(device) == outer
    assert gpu.current_stream(device) == before


def test_current_stream_belongs_to_a_thread(device):
    seen = []
    with gpu.Stream(device) as stream:
        thread = threading.Thread(target=lambda: seen.append(gpu.current_stream(device)))
        thread.start()
        thread.join()
    assert seen[0] != stream


@pytest.mark.parametrize("how", ["protocol", "cupy", "torch", "address"])
def test_streams_of_others_are_taken(device, how):
    own = gpu.Stream(device)

    class Theirs:
        pass

    theirs = Theirs()
    if how == "protocol":
        theirs.__cuda_stream__ = lambda: (0, own.ptr)
    elif how == "cupy":
        theirs.ptr = own.ptr
    elif how == "torch":
        theirs.cuda_stream = own.ptr
    else:
        theirs = own.ptr
    with gpu.use_stream(theirs, device=device) as stream:
        assert stream.ptr == own.ptr
        assert gpu.current_stream(device) == own


def test_what_is_no_stream_is_refused(device):
    with pytest.raises(TypeError, match="Expected a stream"):
        gpu.Stream.from_object("seven", device=device)


def test_streams_and_events_come_from_pools(device):
    first = gpu.Stream(device)
    address = first.ptr
    del first
    assert gpu.Stream(device).ptr == address
    event = gpu.Event(device)
    address = event.ptr
    del event
    assert gpu.Event(device).ptr == address


def test_events_say_what_is_done_and_how_long_it_took(device):
    stream = gpu.Stream(device)
    begin, end = gpu.Event(device, timing=True), gpu.Event(device, timing=True)
    assert begin.record(stream) is begin
    array = gpu.Array.zeros(1 << 20, device=device, stream=stream)
    end.record(stream)
    end.sync()
    stream.sync()
    assert begin.done
    assert end.done
    assert stream.done
    assert end - begin >= 0.0
    assert array.to_host(stream=stream)[-1] == 0.0


@pytest.mark.expects_problems
def test_untimed_events_have_no_time(device):
    a, b = gpu.Event(device).record(), gpu.Event(device).record()
    b.sync()
    with pytest.raises(gpu.GpuError) as caught:
        _ = b - a
    assert caught.value.code in (1, 400)
    assert caught.value.where


def test_waiting_orders_streams(device, axpy, numbers):
    x = gpu.Array.from_host(numbers, device=device)
    y = gpu.Array.zeros(1000, device=device)
    one, two = gpu.Stream(device), gpu.Stream(device)
    for _ in range(10):
        one.wait(two)
        axpy(1.0, x, y, 1000, stream=one)
        two.wait(one.record())
        axpy(2.0, x, y, 1000, stream=two)
    np.testing.assert_allclose(y.to_host(stream=two), 30 * numbers)


def test_priorities(device):
    assert gpu.Stream(device, priority=-1).priority == -1


def test_stream_of_another_device_is_refused(several, axpy):
    other = gpu.Stream(several[1])
    x = gpu.Array.zeros(1000, device=several[0])
    with pytest.raises(ValueError, match="The stream belongs to device"):
        axpy(1.0, x, x, 1000, stream=other)


def test_objects_act_on_their_own_device(several):
    first, second = several[:2]
    with first:
        stream = gpu.Stream(second)
        array = gpu.Array.full(10, 3, np.int32, device=second)
        event = stream.record()
        assert gpu.current_device() is first
        assert stream.device is event.device is array.device is second
        assert array.to_host().tolist() == [3] * 10
    with second:
        assert gpu.current_device() is second
        assert gpu.Array.zeros(3).device is second


def test_peer_copies(several):
    first, second = several[:2]
    if first.can_access(second):
        first.enable_peer(second)
        first.enable_peer(second)
    for resource in (
        None,
        gpu.PoolMemoryResource(first, own=True),
        gpu.DeviceMemoryResource(first),
    ):
        here = gpu.Array.from_host(np.arange(1000.0), device=first, resource=resource)
        there = here.copy(device=second)
        assert there.device is second
        assert there.to_host().tolist() == list(range(1000))
        assert here[::7].copy(device=second).to_host().tolist() == list(range(0, 1000, 7))
    one, two = (each.memory.allocate(800) for each in (first, second))
    one.fill(7)
    two.copy_from(one)
    back = np.empty(800, np.uint8)
    two.copy_to(back)
    assert (back == 7).all()


def test_two_threads_on_one_device(device, module, numbers):
    failures = []

    def work(seed):
        try:
            with gpu.Stream(device):
                launch = module.kernel("axpy").prepare("dRPi", grid=4, block=256)
                data = np.random.default_rng(seed).random(1000)
                x, y = (
                    gpu.Array.from_host(data, device=device),
                    gpu.Array.zeros(1000, device=device),
                )
                for _ in range(50):
                    launch(1.0, x, y, 1000)
                np.testing.assert_allclose(y.to_host(), 50 * data)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_an_error_of_a_destructor_is_raised_by_the_next_call(device, is_null):
    if not is_null:
        pytest.skip("only the null driver fails when it is asked to")
    buffer = device.memory.allocate(100)
    gpu.null.fail_next("free_async", 700)
    del buffer
    gc.collect()
    with pytest.raises(gpu.GpuError, match="when an object was destroyed") as caught:
        gpu.Stream(device).sync()
    assert caught.value.code == 700
    gpu.Stream(device).sync()  # and only by that one
    leaked = gpu.null.allocations()[-1]
    device.memory.deallocate(leaked.address, leaked.size)


def test_sync_asks_first(device, is_null):
    if not is_null:
        pytest.skip("only the null driver lists its calls")
    stream = gpu.Stream(device)
    with gpu.null.recorded() as calls:
        stream.sync()
    assert calls == ["stream_query"]
    gpu.null.fail_next("stream_query", 600)  # not ready
    with gpu.null.recorded() as calls:
        stream.sync()
    assert calls == ["stream_query", "stream_sync"]
