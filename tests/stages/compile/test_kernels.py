"""Kernels compile for GPUs without a GPU, and stay in registers."""

from __future__ import annotations

import json

import pytest

from fieldforge.examples import diffusion, tridiagonal
from fieldforge.runtime.calls.images import unpack_images
from fieldforge.runtime.gpu import GpuError
from fieldforge.runtime.gpu.compiler import nvrtc
from fieldforge.runtime.process.errors import CompilationError
from fieldforge.stages.compile.kernels import KernelToolchain
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.workflows.backends.ready_made import BACKENDS


def _has_nvrtc() -> bool:
    try:
        nvrtc()
    except GpuError:
        return False
    return True


pytestmark = pytest.mark.skipif(
    not _has_nvrtc(), reason="NVRTC is not installed: pip install 'fieldforge[gpu]'"
)

GPU = BACKENDS["gpu"].with_options(target=GpuTarget("sm_90"))
PROGRAMS = {
    "diffusion": (diffusion.diffuse, 100),
    "tridiagonal": (tridiagonal.solve, 100),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_compile_and_spill_nothing(name):
    program, most = PROGRAMS[name]
    made = program.with_backend(GPU).trace(until="compile")["compile"]
    kernels = json.loads(made.text.partition("\n}\n")[0] + "\n}")["kernels"]

    assert kernels
    assert all(each["registers"] <= most for each in kernels.values()), kernels
    assert all(each["spilled"] == 0 for each in kernels.values()), kernels


def test_several_architectures_make_one_library():
    toolchain = KernelToolchain(("sm_80", "sm_90"))
    done = toolchain.compile('extern "C" __global__ void k0(double* p) { *p = 1.0; }', ())

    images = unpack_images(done.library)
    assert list(images) == ["sm_80", "sm_90"]
    assert all(image.startswith(b"\x7fELF") for image in images.values())


def test_an_error_has_the_log_of_the_compiler():
    with pytest.raises(CompilationError, match="does not compile") as raised:
        KernelToolchain(("sm_90",)).compile('extern "C" __global__ void k0() { missing(); }', ())

    assert "NVRTC" in str(raised.value)
