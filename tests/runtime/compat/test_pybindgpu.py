"""PybindGPU's names do what its README and tests show; on null unless FIELDFORGE_GPU says more."""

import numpy as np
import pytest

from fieldforge.runtime import gpu
from fieldforge.runtime.compat import pybindgpu as pg
from fieldforge.runtime.process import settings


@pytest.fixture(autouse=True)
def platform():
    with gpu.use_platform(settings.current().gpu or "null"):
        yield


def test_devices():
    count, error = pg.cudaGetDeviceCount()
    assert count >= 1
    assert error.as_int() == int(error) == 0
    assert error == 0
    assert not error
    assert repr(error) == "<CudaError: 'code=0'>"
    for device in range(count):
        assert pg.cudaSetDevice(device) == 0
        assert pg.cudaGetDevice() == (device, pg.cudaError_t(0))
        properties = pg.cudaDeviceProp(device)
        assert properties.name()
        assert len(properties.uuid()) == 16
        parts = properties.get().pci_bus_id.replace(".", ":").split(":")
        found = [properties.pciDomainID(), properties.pciBusID(), properties.pciDeviceID()]
        assert found == [int(part, 16) for part in parts[:3]]
    assert pg.cudaSetDevice(0) == 0
    assert pg.cudaDeviceSynchronize() == 0
    assert pg.use_hip() == (gpu.platform() == "hip")
    assert (pg.major_version, pg.minor_version, pg.release_version) == (0, 2, 1)


def test_errors_are_values():
    error = pg.cudaSetDevice(1000)
    assert error.as_int() == 101
    assert error
    assert "no device 1000" in pg.cudaGetErrorString(error)
    assert pg.cudaGetErrorName(error)
    assert pg.cudaGetLastError() == 101
    assert pg.cudaGetLastError() == 0


def test_events_and_streams():
    start, end, stream = pg.cudaEvent_t(), pg.cudaEvent_t(), pg.cudaStream_t(1)
    assert start.last_status() == stream.last_status() == 0
    assert int(start.get())
    assert int(stream.get()) == stream.stream.ptr
    for given in ((), (stream,)):
        assert pg.cudaEventRecord(start, *given) == 0
        assert pg.cudaEventRecord(end, *given) == 0
        assert pg.cudaEventSynchronize(end) == 0
        milliseconds, error = pg.cudaEventElapsedTime(start, end)
        assert error == 0
        assert milliseconds >= 0


@pytest.mark.parametrize("dtype", sorted(pg.SUPPORTED_DTYPES))
def test_arrays_go_there_and_back(dtype):
    data = np.arange(12).reshape(3, 4).astype(dtype)
    array = pg.to_gpu(data.copy())
    assert array.last_status() == 0
    assert (array.shape, array.strides, array.size) == (data.shape, data.strides, 12)
    assert (array.dtype, array.nbytes) == (data.dtype, data.nbytes)
    assert array.ptr == int(array.device_data) != 0
    array.set(np.zeros_like(data))
    array.to_host()
    assert (array.get() == data).all()
    assert (array[1] == data[1]).all()
    native = getattr(pg, f"DeviceArray_{dtype}")([3, 4])
    assert not native.allocated()
    native.allocate()
    native.set_val(5, data.flat[5])
    native.to_device()
    native.set(np.zeros(1, dtype))
    native.to_host()
    assert native.allocated()
    assert np.asarray(native).flat[5] == data.flat[5]
    assert native.shape() == [3, 4]
    assert native.size() == 12


def write(address, values):
    """Write to memory of the device, as a kernel does that got the address."""
    memory = gpu.Buffer.from_handle(address, values.nbytes, device=gpu.current_device())
    memory.copy_from(values)


def test_an_array_by_shape_has_memory_that_kernels_write():
    array = pg.GPUArray((3, 3, 3), dtype=np.float64)
    assert array.ptr
    assert (array.get() == 0).all()
    values = np.arange(27.0)

    write(array.ptr, values)

    assert (array.get() == values.reshape(3, 3, 3)).all()
    assert array[1, 2, 0] == 15.0
    assert (np.asarray(array) == values.reshape(3, 3, 3)).all()


def test_what_the_host_set_is_seen_before_it_is_copied():
    array = pg.GPUArray([4], dtype="float64")
    address = array.ptr

    array.set_val(2, 5.0)

    assert array.get().tolist() == [0, 0, 5, 0]
    array.allocate()
    assert array.ptr == address
    array.to_host()
    assert array.get().tolist() == [0, 0, 0, 0]


def test_slices_are_views_of_the_device():
    array = pg.to_gpu(np.arange(12.0).reshape(3, 4))

    part = array[1:, ::2]

    assert part.shape == (2, 2)
    assert part.ptr == array.ptr + 32
    write(array[2].ptr, np.full(4, -1.0))
    assert part.get().tolist() == [[4, 6], [-1, -1]]
    part.set(9)
    part.to_device()
    assert array.get().tolist() == [[0, 1, 2, 3], [9, 5, 9, 7], [9, -1, 9, -1]]


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_array_of_the_caller_stays_as_it_is(order):
    data = np.asarray(np.arange(6.0).reshape(2, 3), order=order)
    array = pg.GPUArray(data)
    array.allocate()
    data += 1
    array.to_device()

    write(array.ptr, np.zeros(6))
    array.to_host()
    array.set(7)

    assert array.strides == data.strides
    assert data.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_pointers_and_the_native_module():
    pointer = pg.PyGPU.pointer_wrapper_float64(4096)

    assert pointer.get() == int(pointer) == 4096
    assert pg.PyGPU.GPUArray is pg.GPUArray


def test_allocators():
    for maker in (pg.HostAllocator, pg.PagelockedAllocator):
        array = pg.GPUArray((2, 3), dtype="float32", allocator=maker)
        array.set(7)
        array.to_device()
        array.set(0)
        array.to_host()
        assert (array.get() == 7).all()
        assert array.get(copy=True) is not array.get()
    for family in ("Host", "Device", "Pagelocked"):
        allocator = getattr(pg, f"{family}Allocator_int32")()
        allocator.allocate(10)
        assert allocator.last_status() == 0
        assert int(allocator.ptr())
    pointer = pg.ptr_wrapper_float64()
    pointer.create(3)
    assert pointer.is_safe()
    assert int(pointer)
    pointer.destroy()
    assert not pg.pointer_wrapper_float64().is_safe()


def test_out_of_memory_is_an_error():
    huge = pg.DeviceAllocator_float64()
    huge.allocate(1 << 40)
    assert huge.last_status() == 2


def test_reset_warns():
    with pytest.warns(UserWarning, match="not reset"):
        assert pg.cudaDeviceReset() == 0


def test_nvml_answers_codes():
    code = pg.nvmlInit()
    if code:
        assert code.as_int() == 12
        return
    unused, total, used = pg.nvmlDevice(0).memory_info()
    assert 0 < used <= total
    assert 0 < unused <= total
    assert all(0 <= rate <= 100 for rate in pg.nvmlDevice(0).utilization_rates())
    assert pg.nvmlShutdown() == 0


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="has no attribute 'DeviceArray_float7'"):
        _ = pg.DeviceArray_float7
