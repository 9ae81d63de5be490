"""Arrays: layout, copies, views, exchange with other libraries."""

import contextlib
import gc

import numpy as np
import pytest

from fieldforge.runtime import gpu

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_come_back_as_they_went(device, dtype):
    data = np.random.default_rng(2).integers(0, 100, (3, 4, 5)).astype(dtype)
    array = gpu.Array.from_host(data, device=device)
    assert array.dtype == data.dtype
    assert (array.shape, array.strides, array.ndim) == (data.shape, data.strides, 3)
    assert (array.size, array.nbytes, array.itemsize) == (60, data.nbytes, data.itemsize)
    for pinned in (False, True):
        back = array.to_host(pinned=pinned)
        assert back.dtype == data.dtype
        assert (back == data).all()
    assert (np.asarray(array) == data).all()


def test_copies_between_orders_of_axes_go_by_rows(device, is_null):
    data = np.random.default_rng(3).normal(size=(5, 6, 7))
    array = gpu.Array.empty(data.shape, data.dtype, device=device, layout=(2, 1, 0), alignment=64)

    with gpu.null.recorded() if is_null else contextlib.nullcontext([]) as calls:
        array.copy_from(data)
        back, pinned = array.to_host(), array.to_host(pinned=True)

    assert (back == data).all()
    assert (pinned == data).all()
    assert back.flags.c_contiguous
    assert sum("copy" in each for each in calls) == 3 * is_null  # not one for each element


def test_a_number_on_a_device_comes_back_without_axes(device):
    assert gpu.Array.from_host(np.array(2.5), device=device).to_host().shape == ()


def test_layouts_align_every_row(device):
    array = gpu.Array.empty(
        (7, 9), np.float64, device=device, layout=(1, 0), alignment=128, aligned_index=(3, 0)
    )
    assert array.strides == (8, 128)
    for k in range(9):
        assert (array.ptr + 3 * 8 + k * 128) % 128 == 0
    with pytest.raises(ValueError, match="each axis once"):
        gpu.Array.empty((2, 2), device=device, layout=(0, 0))


def test_extents_do_not_overflow(device, is_null):
    if is_null:
        with pytest.raises(gpu.GpuMemoryError, match=r"asked for 3200\.0 MiB"):
            gpu.Array.empty((20480, 20480), np.float64, device=device)
    else:
        array = gpu.Array.empty((20480, 20480), np.float64, device=device)
        assert array.nbytes == 20480 * 20480 * 8


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1:3, ::2, 1:],
        np.s_[..., 2],
        np.s_[2],
        np.s_[:, -1],
        np.s_[::-1],
        np.s_[:, :, ::-2],
        np.s_[3:3],
    ],
)
def test_views_are_those_of_numpy(device, index):
    data = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    array = gpu.Array.from_host(data, device=device)
    assert (array[index].to_host() == data[index]).all()
    array[index].fill(7)
    changed = data.copy()
    changed[index] = 7
    assert (array.to_host() == changed).all()


def test_copies_between_layouts(device):
    data = np.random.default_rng(0).random((6, 7, 8))
    padded = gpu.Array.empty(data.shape, device=device, layout=(2, 0, 1), alignment=256)
    padded.copy_from(data)
    assert (padded.to_host() == data).all()
    dense = padded.copy()
    assert dense.is_dense
    assert not padded.is_dense
    assert (dense.to_host() == data).all()
    assert (padded.transpose().to_host() == data.T).all()
    assert (dense.reshape(42, 8).to_host() == data.reshape(42, 8)).all()
    with pytest.raises(ValueError, match="cannot be seen as"):
        padded.reshape(42, 8)
    with pytest.raises(ValueError, match="must agree"):
        dense.copy_from(np.zeros((1, 2, 3)))
    with pytest.raises(ValueError, match="read-only"):
        gpu.Array.from_any(dense, writable=False).copy_from(data)


def test_arrays_of_the_host_stay_there(numbers):
    array = gpu.Array.from_any(numbers)
    assert array.device is None
    assert array.ptr == numbers.ctypes.data
    assert np.shares_memory(np.asarray(array), numbers)
    assert np.shares_memory(np.from_dlpack(array), numbers)
    numbers.flags.writeable = False
    assert gpu.Array.from_any(numbers).readonly
    with pytest.raises(ValueError, match="read-only"):
        gpu.Array.from_any(numbers, writable=True)


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="Expected an array"):
        gpu.Array.from_any(3)


def test_pinned_arrays_are_numpy_without_a_copy(device):
    array = gpu.Array.empty((3, 4), resource=gpu.PinnedMemoryResource(device))
    view = np.asarray(array)
    view[...] = 5
    assert view.ctypes.data == array.ptr
    on_device = gpu.Array.empty((3, 4), device=device)
    on_device.copy_from(array)
    gpu.current_stream(device).sync()
    assert (on_device.to_host() == 5).all()


def test_device_arrays_need_a_copy(device):
    array = gpu.Array.zeros(3, device=device)
    with pytest.raises(BufferError, match="not on the host"):
        memoryview(array)
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(array, copy=False) if np.__version__ >= "2" else array.__array__(copy=False)


class Producer:
    """An array of another library: `__dlpack__` and nothing more."""

    def __init__(self, array, versioned=True):
        self.array, self.versioned, self.streams = array, versioned, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **options):
        if not self.versioned and "max_version" in options:
            raise TypeError
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream, **options)


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_in_and_out(device, versioned):
    array = gpu.Array.from_host(np.arange(12.0).reshape(3, 4), device=device)
    producer = Producer(array[1:, ::2], versioned)
    taken = gpu.Array.from_any(producer)
    assert taken.ptr == array.ptr + 32
    assert taken.strides == (32, 16)
    assert taken.device is device
    assert producer.streams == [gpu.current_stream(device).ptr]
    assert (taken.to_host() == [[4, 6], [8, 10]]).all()
    gpu.Array.from_any(producer, order_after=False)
    assert producer.streams[-1] == -1


def test_dlpack_keeps_the_memory(device):
    array = gpu.Array.full(10, 3.0, device=device)
    taken = gpu.Array.from_any(Producer(array))
    del array
    gc.collect()
    assert (taken.to_host() == 3).all()


def test_dlpack_says_what_it_cannot_do(device):
    array = gpu.Array.zeros(3, device=device)
    fixed = gpu.Array.from_any(array, writable=False)
    with pytest.raises(BufferError, match="consumer of DLPack 1"):
        fixed.__dlpack__()
    assert gpu.Array.from_any(Producer(fixed)).readonly
    with pytest.raises(BufferError, match="lies on"):
        array.__dlpack__(dl_device=(2, 77))
    host = gpu.Array.from_any(np.zeros(3))
    with pytest.raises(BufferError, match="has no stream"):
        host.__dlpack__(stream=12345)
    copied = gpu.Array.from_any(Producer(array))
    assert copied.__dlpack__(copy=True)
    assert (np.from_dlpack(Moved(array)) == 0).all()


class Moved:
    """Asks for the memory on the host, as `np.from_dlpack(x, device="cpu")` does."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(dl_device=(1, 0), max_version=(1, 0))


def test_unused_capsules_give_back_what_they_hold(device, is_null):
    before = len(gpu.null.allocations())
    for version in (None, (1, 0)):
        capsule = gpu.Array.zeros(3, device=device).__dlpack__(max_version=version)
        del capsule
    gc.collect()
    if is_null:
        assert len(gpu.null.allocations()) == before


def test_a_consumer_waits_for_our_stream(device, is_null):
    array = gpu.Array.zeros(3, device=device)
    consumer = gpu.Stream(device)
    if not is_null:
        pytest.skip("only the null driver lists its calls")
    array.__dlpack__(stream=consumer.ptr)  # which makes an event, and keeps it for later calls
    with gpu.null.recorded() as calls:
        array.__dlpack__(stream=consumer.ptr)
    assert calls == ["event_record", "stream_wait"]
    with gpu.null.recorded() as calls:
        array.__dlpack__(stream=-1)
    assert calls == []


def test_the_c_exchange_interface_is_offered_and_taken(device):
    class Fast(gpu.Array):
        __slots__ = ()

    assert "dlpack_exchange_api" in repr(gpu.Array.__dlpack_c_exchange_api__)
    from fieldforge.runtime.fields.field import Field
    from fieldforge.runtime.language.dimension import Dimension

    array = gpu.Array.zeros((3, 4), device=device)
    field = Field(array, (Dimension("I"), Dimension("J")), (0, 0))  # through the interface
    assert field.pointer == array.ptr
    assert (field.device_type, field.device_id) == array.__dlpack_device__()


def test_the_cuda_array_interface_is_of_cuda(device):
    array = gpu.Array.zeros((3, 4), np.float32, device=device)
    if device.platform != "cuda":
        assert not hasattr(array, "__cuda_array_interface__")
        return
    found = array.__cuda_array_interface__
    assert found["typestr"] == "<f4"
    assert found["version"] == 3
    assert found["data"] == (array.ptr, False)
    assert found["stream"] == gpu.current_stream(device).ptr

    class Theirs:
        __cuda_array_interface__ = found

    assert gpu.Array.from_any(Theirs()).ptr == array.ptr


def test_arrays_beyond_their_memory_are_refused(device):
    from fieldforge.runtime.gpu.native import array_on

    buffer = device.memory.allocate(80)
    assert array_on(buffer, 0, (10,), (8,), 2, 64).size == 10
    with pytest.raises(ValueError, match="does not fit"):
        array_on(buffer, 8, (10,), (8,), 2, 64)
    with pytest.raises(ValueError, match="does not fit"):
        array_on(buffer, 0, (10,), (-8,), 2, 64)
