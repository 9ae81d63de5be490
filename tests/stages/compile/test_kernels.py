"""Kernels compile for GPUs without a GPU, and stay in registers."""

import json
import threading
import time

import pytest

from fieldforge.examples import diffusion, tridiagonal
from fieldforge.runtime.calls.images import unpack_images
from fieldforge.runtime.gpu import GpuError
from fieldforge.runtime.gpu.compiler import hiprtc, nvrtc, runtime_compiler
from fieldforge.runtime.process.errors import CompilationError
from fieldforge.stages.compile.kernels import KernelToolchain
from fieldforge.stages.gpu_target import KNOWN_ARCHS, GpuTarget
from fieldforge.stages.vendors.dialect import BLOCK
from fieldforge.stages.vendors.known import vendor_of
from fieldforge.workflows.backends.backend import BACKENDS

NEEDS = {"sm_90": nvrtc, "gfx90a": hiprtc}


@pytest.fixture(params=NEEDS)
def arch(request):
    """One architecture of each vendor whose compiler is here; no GPU is needed."""
    try:
        NEEDS[request.param]()
    except GpuError as error:
        pytest.skip(error.message)
    return request.param


@pytest.fixture
def nvidia():
    """Need NVRTC."""
    try:
        nvrtc()
    except GpuError as error:
        pytest.skip(error.message)


REGISTERS = {"gfx90a": 512}  # of a thread there: older compilers for it use more than a new one
PROGRAMS = {
    "diffusion": (diffusion.diffuse, 100),
    "tridiagonal": (tridiagonal.solve, 248),  # few threads, each with levels loaded ahead
}


TOGETHER = """
KERNEL __launch_bounds__(64) k0(f64* p0, f64* p1, f32* p2, s64 n0) {
  ff::shared_array<f64> tile(0, 192);
  ff::shared_array<f32> other(1536, 256);
  const s64 i = threadIdx.x;
  if (i % 2 == 0) ff::async_copy<2>(tile, i, (const f64*)p0 + i);
  ff::async_copy<4>(other, 4 * i, (const f32*)p2 + 4 * i);
  ff::async_commit();
  ff::async_copy<1>(tile, 64 + i, (const f64*)p0 + 64 + i);
  ff::async_commit();
  ff::async_wait<1>();
  ff::barrier();
  const f64 v = tile[63 - i];
  tile[128 + i] = v;
  tile[128 + i] += v;
  ff::warp_barrier();
  f64 sum = ff::shuffle_down(v, 1) + ff::shuffle_up(v, 2) + ff::shuffle_xor(v, 1);
  sum += ff::shuffle(v, 3) + ff::shuffle_down(v, 1, 8) + ff::lane();
  ff::pack<f32, 4> four = ff::load<4>((const f32*)p2 + 4 * i);
  four[1] += ff::load<4>(other, 4 * i)[2];
  ff::store(other, 4 * i, four);
  ff::store(p2 + 4 * i, four);
  if (i < n0) p1[i] = sum;
}"""


def kernels_of(program, arch):
    gpu = BACKENDS["gpu"].with_options(target=GpuTarget(arch))
    made = program.with_backend(gpu).trace(until="compile")["compile"]
    return json.JSONDecoder().raw_decode(made.text)[0]["kernels"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_compile_and_spill_nothing(name, arch):
    program, most = PROGRAMS[name]
    most = REGISTERS.get(arch, most)
    kernels = kernels_of(program, arch)

    assert kernels
    assert all(each["registers"] <= most for each in kernels.values()), kernels
    assert all(each["spilled"] == 0 for each in kernels.values()), kernels
    assert all(0 < each["occupancy"] <= 1 for each in kernels.values()), kernels


@pytest.mark.parametrize("old", [False, True], ids=["with asynchronous copies", "without"])
def test_what_threads_do_together_compiles_for_both_vendors(arch, old):
    vendor = vendor_of(arch)
    older = {"sm_90": "sm_75", "gfx90a": "gfx906"}
    source = vendor.dialect([BLOCK]) + TOGETHER
    done = KernelToolchain((older[arch] if old else arch,)).compile(source, vendor.flags)

    assert done.library


@pytest.mark.parametrize("name", [name for name in KNOWN_ARCHS if name.startswith("sm_")])
def test_every_known_architecture_compiles_or_is_refused_by_name(name, nvidia):
    known = runtime_compiler(name).archs
    if known and name not in known:
        with pytest.raises(CompilationError, match=f"does not know the architecture '{name}'"):
            kernels_of(diffusion.diffuse, name)
        return
    for kernel, found in kernels_of(diffusion.diffuse, name).items():
        assert kernel.endswith(name)
        assert found["spilled"] == 0
        assert 0 < found["occupancy"] <= 1


def test_one_entry_has_the_code_of_several_architectures(nvidia):
    archs = ("sm_80", "sm_90")
    kernels = kernels_of(diffusion.diffuse, archs)
    source = 'extern "C" __global__ void k0(double* p) { *p = 1.0; }'
    images = unpack_images(KernelToolchain(archs).compile(source, ()).library)

    assert {each.split()[1] for each in kernels} == set(archs)
    assert tuple(images) == archs
    assert all(image.startswith(b"\x7fELF") for image in images.values())


def test_an_error_has_the_log_of_the_compiler(nvidia):
    with pytest.raises(CompilationError, match="does not compile") as raised:
        KernelToolchain(("sm_90",)).compile('extern "C" __global__ void k0() { missing(); }', ())

    assert "NVRTC" in str(raised.value)


@pytest.mark.parametrize(("known", "unknown"), [("sm_90", "sm_999"), ("gfx90a", "gfx999")])
def test_an_architecture_that_the_compiler_does_not_know_is_one_sentence(known, unknown):
    try:
        NEEDS[known]()
    except GpuError as error:
        pytest.skip(error.message)
    with pytest.raises(CompilationError) as raised:
        KernelToolchain((unknown,)).compile('extern "C" __global__ void k0() {}', ())

    identity = KernelToolchain((known,)).identity
    assert raised.value.message == f"{identity} does not know the architecture '{unknown}'."
    assert known in str(raised.value)


def test_other_threads_run_while_kernels_compile(nvidia):
    source = "".join(
        f'extern "C" __global__ void k{i}(double* p) {{ p[{i}] = exp(p[0]); }}' for i in range(20)
    )
    done = threading.Event()
    results = []

    def build():
        results.append(KernelToolchain(("sm_90",)).compile(source, ()))
        done.set()

    builder = threading.Thread(target=build)
    turns = 0
    builder.start()
    while not done.is_set():
        time.sleep(0.001)  # the interpreter's lock is given away, and must come back
        turns += 1
    builder.join()

    assert results
    assert turns > 10
