"""Modules, kernels, launchers and bound calls."""

import ctypes
import gc
import weakref

import numpy as np
import pytest

from fieldforge.runtime import gpu
from fieldforge.runtime.language.dimension import Dimension


def test_launches_agree_with_numpy(device, module, axpy, numbers):
    x, y = gpu.Array.from_host(numbers, device=device), gpu.Array.zeros(1000, device=device)
    axpy(2.0, x, y, 1000)
    module.kernel("axpy").launch(4, 256, (0.5, x, y, np.int32(1000)))
    bound = axpy.bind(1.0, x, y, 1000)
    bound()
    with gpu.Stream(device) as stream:
        stream.wait(y.stream)
        bound(stream=stream)
        stream.sync()
    np.testing.assert_allclose(y.to_host(), 4.5 * numbers, rtol=1e-15)


def test_every_type_arrives(device, module):
    class Values(ctypes.Structure):
        _fields_ = [("a", ctypes.c_double), ("b", ctypes.c_int), ("c", ctypes.c_char)]

    out = gpu.Array.zeros(14, device=device)
    size = ctypes.sizeof(Values)
    types = module.kernel("types").prepare(f"P?bBhHiIqQfd{size}s")
    given = [True, -5, 250, -30000, 60000, -(2**31), 2**32 - 1, -(2**53), 2**53, 1.5, -0.1]
    types(out, *given, Values(2.25, -7, b"A"))
    assert out.to_host().tolist() == [*map(float, given), 2.25, -7.0, 65.0]


def test_grid_and_block_of_three_dimensions(device, module):
    kernel = module.kernel("index")
    out = gpu.Array.zeros(64, np.int64, device=device)
    kernel.prepare("P")(out, grid=(4,), block=(16, 1, 1))
    assert out.to_host().tolist() == list(range(64))
    launcher = kernel.prepare("P", grid=(2, 1), block=8)
    assert (launcher.grid, launcher.block) == ((2, 1, 1), (8, 1, 1))
    assert launcher.kernel is kernel
    bound = launcher.bind(out, grid=3)
    assert bound.grid == (3, 1, 1)


def test_arguments_are_checked(device, axpy, module, numbers):
    x = gpu.Array.zeros(1000, device=device)
    with pytest.raises(TypeError, match="'axpy' takes 4 arguments, got 2"):
        axpy(1.0, x)
    with pytest.raises(ValueError, match="Argument 1 of kernel 'axpy' lies on the host"):
        axpy(1.0, numbers, x, 1000)
    with pytest.raises(OverflowError, match="does not fit 4 bytes"):
        axpy(1.0, x, x, 2**40)
    with pytest.raises(TypeError):
        axpy("one", x, x, 1)
    with pytest.raises(ValueError, match="is read-only: its type is 'R'"):
        axpy(1.0, x, gpu.Array.from_any(x, writable=False), 1)
    with pytest.raises(TypeError, match="no option 'color'"):
        axpy(1.0, x, x, 1, color=3)
    with pytest.raises(ValueError, match="no type at position 2"):
        module.kernel("axpy").prepare("Pdz")
    with pytest.raises(TypeError, match="A bound call takes no arguments"):
        axpy.bind(1.0, x, x, 1)(7)
    freed = device.memory.allocate(100)
    freed.free()
    with pytest.raises(ValueError, match="a buffer that was freed"):
        axpy(1.0, freed, x, 0)


def test_pointers_may_be_buffers_addresses_and_none(device, axpy, numbers):
    x, y = gpu.Array.from_host(numbers, device=device), gpu.Array.zeros(1000, device=device)
    axpy(1.0, x.owner, y.owner, 1000)
    axpy(1.0, x.ptr, y.ptr, 1000)
    axpy(1.0, None, None, 0)
    np.testing.assert_allclose(y.to_host(), 2 * numbers)


def test_fields_are_arguments(device, axpy, numbers):
    from fieldforge.runtime.fields.field import Field

    dim = Dimension("I")
    x, y = gpu.Array.from_host(numbers, device=device), gpu.Array.zeros(1000, device=device)
    axpy(3.0, Field(x, (dim,), (0,)), Field(y, (dim,), (5,)), 1000)
    np.testing.assert_allclose(y.to_host(), 3 * numbers)


def test_impossible_grids_are_errors(device, axpy):
    x = gpu.Array.zeros(10, device=device)
    with pytest.raises(gpu.GpuError, match="kernel 'axpy'") as caught:
        axpy(1.0, x, x, 10, grid=1, block=100_000)
    assert caught.value.code == 1
    gpu.null.forget_problems()


@pytest.mark.expects_problems
def test_missing_kernels_and_bad_images_are_errors(device, module):
    with pytest.raises(gpu.GpuError, match="kernel 'nothing'") as caught:
        module.kernel("nothing")
    assert caught.value.code == 500
    with pytest.raises(gpu.GpuError) as caught:
        gpu.Module.load(b"this is no code", device=device)
    assert caught.value.code in (200, 209, 218)


def test_kernels_keep_their_module(image, device):
    module = gpu.Module.load(image, device=device)
    alive = weakref.ref(module)
    kernel = module.kernel("index")
    launcher = kernel.prepare("P", block=4)
    del module, kernel
    gc.collect()
    assert alive() is not None
    out = gpu.Array.zeros(4, np.int64, device=device)
    bound = launcher.bind(out)
    del launcher
    bound()
    assert out.to_host().tolist() == [0, 1, 2, 3]
    del bound
    gc.collect()
    assert alive() is None


def test_bound_calls_keep_their_arguments(device, axpy, numbers):
    x, y = gpu.Array.from_host(numbers, device=device), gpu.Array.zeros(1000, device=device)
    bound = axpy.bind(1.0, x, y, 1000)
    del x
    gc.collect()
    bound()
    np.testing.assert_allclose(y.to_host(), numbers)


def test_kernel_facts(module):
    kernel = module.kernel("axpy")
    assert kernel.max_threads >= 256
    assert kernel.registers >= 0
    assert kernel.occupancy(256) > 0
    assert kernel.name in repr(kernel)


def test_modules_load_from_files(tmp_path, image, device):
    path = tmp_path / "kernels.bin"
    path.write_bytes(image)
    assert gpu.Module.load(path, device=device).kernel("index").name == "index"


def test_errors_of_the_compiler_are_shown(device):
    with pytest.raises(gpu.KernelCompileError) as caught:
        gpu.compile_kernels(
            'extern "C" __global__ void k(double* x) { x[0] = nonsense; }', arch=device.arch
        )
    assert "nonsense" in caught.value.log


def test_a_launch_uses_the_current_stream_and_orders_what_it_takes(device, axpy, numbers):
    x, y = gpu.Array.from_host(numbers, device=device), gpu.Array.zeros(1000, device=device)
    with gpu.Stream(device) as stream:
        axpy(1.0, x, y, 1000)
        assert y.stream == stream
    axpy(1.0, x, y, 1000)
    assert y.stream == gpu.current_stream(device)
    np.testing.assert_allclose(y.to_host(), 2 * numbers)


@pytest.mark.parametrize(("compiler", "arch"), [("nvrtc", "sm_90"), ("hiprtc", "gfx90a")])
def test_the_same_source_compiles_for_both_vendors_without_a_gpu(source, compiler, arch):

    try:
        image = gpu.compile_kernels(source, arch=arch, compiler=compiler)
    except gpu.KernelCompileError as error:
        if error.code != -1:
            raise
        pytest.skip(error.message)
    assert image[:4] == b"\x7fELF" or image.startswith(b"__CLANG_OFFLOAD_BUNDLE__")
    assert b"axpy" in image
