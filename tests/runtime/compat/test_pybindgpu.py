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
