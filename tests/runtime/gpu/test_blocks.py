"""Threads of a block that work together, on the null platform: what runs, and what it reports."""

import re
import shutil

import numpy as np
import pytest

from fieldforge.runtime import gpu

from ...processes import python

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="needs a C++ compiler"
)

KERNELS = """
// Each block turns 64 numbers round.
KERNEL turned(const double* in, double* out) {
  ff::shared_array<double> tile(0, 64);
  const int i = threadIdx.x, first = blockIdx.x * 64;
  tile[i] = in[first + i];
  ff::barrier();
  out[first + i] = tile[63 - i];
}
KERNEL no_barrier(const double* in, double* out) {
  ff::shared_array<double> tile(0, 64);
  const int i = threadIdx.x;
  tile[i] = in[i];
  out[i] = tile[63 - i];
}
KERNEL no_barrier_after_reading(const double* in, double* out) {
  ff::shared_array<double> tile(0, 64);
  const int i = threadIdx.x;
  tile[i] = in[i];
  ff::barrier();
  out[i] = tile[63 - i];
  tile[i] = 0.0;
}
KERNEL written_by_all(double* out) {
  ff::shared_array<double> tile(0, 1);
  tile[0] = threadIdx.x;
  ff::barrier();
  out[0] = tile[0];
}
KERNEL never_written(double* out) {
  ff::shared_array<double> tile(0, 64);
  out[threadIdx.x] = tile[threadIdx.x];
}
KERNEL behind(double* out) {
  ff::shared_array<double> tile(0, 64);
  tile[threadIdx.x + 1] = 1.0;
}
KERNEL too_large(double* out) {
  ff::shared_array<double> tile(0, 100);
}
KERNEL two_places(double* out) {
  if (threadIdx.x < 10) {
    ff::barrier();
  } else {
    ff::barrier();
  }
}
KERNEL ended_early(double* out) {
  if (threadIdx.x == 7) return;
  ff::barrier();
}
// As many rounds as a number says: the same for all threads, and known only when it runs.
KERNEL rounds(double* out, int count) {
  ff::shared_array<double> tile(0, 64);
  const int i = threadIdx.x;
  tile[i] = 1.0;
  ff::barrier();
  for (int step = 1; step < count; step *= 2) {
    double add = 0.0;
    if (i + step < 64) add = tile[i + step];
    ff::barrier();
    tile[i] += add;
    ff::barrier();
  }
  out[i] = tile[i];
}
KERNEL summed(const double* in, double* out) {
  double sum = in[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += ff::shuffle_down(sum, step);
  if (ff::lane() == 0) out[threadIdx.x / 32] = sum;
}
KERNEL shuffles(const float* in, float* out) {
  const float own = in[threadIdx.x];
  float* const to = out + 4 * threadIdx.x;
  to[0] = ff::shuffle(own, 5);
  to[1] = ff::shuffle_up(own, 1);
  to[2] = ff::shuffle_xor(own, 1);
  to[3] = ff::shuffle_down(own, 3, 8);
}
KERNEL some_shuffle(const double* in, double* out) {
  double value = in[threadIdx.x];
  if (threadIdx.x < 16) value = ff::shuffle_down(value, 1);
  ff::barrier();
  out[threadIdx.x] = value;
}
KERNEL in_a_warp(const double* in, double* out) {
  ff::shared_array<double> tile(0, 64);
  const int i = threadIdx.x, other = i ^ 31;
  tile[i] = in[i];
  ff::warp_barrier();
  out[i] = tile[other];
}
KERNEL across_warps(const double* in, double* out) {
  ff::shared_array<double> tile(0, 64);
  const int i = threadIdx.x;
  tile[i] = in[i];
  ff::warp_barrier();
  out[i] = tile[63 - i];
}
// Two rows on their way while a third is read.
KERNEL rows(const double* in, double* out, int count) {
  ff::shared_array<double> row(0, 3 * 64);
  const int i = threadIdx.x;
  for (int k = 0; k < 2; ++k) {
    if (i % 2 == 0) ff::async_copy<2>(row, k * 64 + i, in + k * 64 + i);
    ff::async_commit();
  }
  for (int k = 0; k < count; ++k) {
    ff::async_wait<1>();
    ff::barrier();
    out[k * 64 + i] = row[k % 3 * 64 + 63 - i];
    if (k + 2 < count && i % 2 == 0) {
      ff::async_copy<2>(row, (k + 2) % 3 * 64 + i, in + (k + 2) * 64 + i);
    }
    ff::async_commit();
  }
}
KERNEL copied_too_soon(const double* in, double* out) {
  ff::shared_array<double> row(0, 64);
  ff::async_copy<1>(row, threadIdx.x, in + threadIdx.x);
  ff::async_commit();
  ff::async_wait<1>();
  out[threadIdx.x] = row[threadIdx.x];
}
KERNEL copied_and_not_shown(const double* in, double* out) {
  ff::shared_array<double> row(0, 64);
  ff::async_copy<1>(row, threadIdx.x, in + threadIdx.x);
  ff::async_commit();
  ff::async_wait<0>();
  out[threadIdx.x] = row[63 - threadIdx.x];
}
KERNEL wide(const double* in, double* out) {
  const int i = 2 * threadIdx.x;
  ff::pack<double, 2> two = ff::load<2>(in + i);
  two[0] = -two[0];
  ff::store(out + i, two);
}
KERNEL askew(const double* in, double* out) {
  if (threadIdx.x == 0) ff::store(out, ff::load<2>(in + 1));
}
// By the names of CUDA.
KERNEL of_cuda(const double* in, double* out) {
  __shared__ double tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
SOURCE = KERNELS.replace("KERNEL ", 'extern "C" __global__ void ')


@pytest.fixture(scope="module")
def blocks():
    image = gpu.compile_kernels(SOURCE, compiler="host", options=["-O1"])
    return gpu.Module.load(image, device=gpu.Device(0, platform="null"))


@pytest.fixture
def run(blocks):
    """Run a kernel on blocks of 64 threads and return what is in its last array."""

    def run(name, *arguments, grid=1, shared=512):
        blocks.kernel(name).launch(grid, 64, arguments, shmem=shared)
        return [each for each in arguments if isinstance(each, gpu.Array)][-1].to_host()

    gpu.null.forget_problems()
    with gpu.use_platform("null"):
        yield run
    gpu.null.forget_problems()


def arrays(numbers):
    with gpu.use_platform("null"):
        return gpu.Array.from_host(numbers), gpu.Array.zeros(numbers.shape, numbers.dtype)


NUMBERS = np.arange(64.0) + 1


def test_threads_hand_values_to_each_other_over_a_barrier(run):
    x, y = arrays(np.arange(192.0))
    made = run("turned", x, y, grid=3)
    np.testing.assert_array_equal(made, np.arange(192.0).reshape(3, 64)[:, ::-1].ravel())
    assert gpu.null.problems() == []


def test_barriers_stand_in_loops_whose_length_only_the_call_knows(run):
    _, y = arrays(NUMBERS)
    np.testing.assert_array_equal(run("rounds", y, np.int32(64)), NUMBERS[::-1])


def test_shuffles_move_values_among_the_lanes_of_a_warp(run):
    x, y = arrays(NUMBERS)
    assert run("summed", x, y)[:2].tolist() == [NUMBERS[:32].sum(), NUMBERS[32:].sum()]
    lanes = np.arange(64)
    x, _ = arrays(lanes.astype(np.float32))
    _, y = arrays(np.zeros(256, np.float32))
    warp, lane = lanes // 32 * 32, lanes % 32
    expected = [warp + 5, np.where(lane > 0, lanes - 1, lanes), lanes ^ 1]
    expected.append(np.where(lane % 8 < 5, lanes + 3, lanes))
    np.testing.assert_array_equal(run("shuffles", x, y).reshape(64, 4).T, expected)


def test_rows_arrive_while_others_are_read(run):
    x, y = arrays(np.arange(5 * 64.0))
    made = run("rows", x, y, np.int32(5), shared=1536)
    np.testing.assert_array_equal(made.reshape(5, 64)[:, ::-1].ravel(), np.arange(5 * 64.0))


def test_several_values_are_loaded_at_once(run):
    x, y = arrays(np.arange(128.0))
    np.testing.assert_array_equal(run("wide", x, y), np.arange(128.0) * np.tile([-1, 1], 64))


def test_kernels_may_use_the_names_of_cuda(run):
    x, y = arrays(NUMBERS)
    np.testing.assert_array_equal(run("of_cuda", x, y), NUMBERS[::-1])


def test_a_barrier_of_a_warp_orders_its_threads(run):
    x, y = arrays(NUMBERS)
    np.testing.assert_array_equal(run("in_a_warp", x, y), NUMBERS.reshape(2, 32)[:, ::-1].ravel())


def test_machines_without_a_switch_of_ours_resume_threads_by_the_c_library():
    turned = SOURCE[SOURCE.index('extern "C"') : SOURCE.index("no_barrier")]
    image = gpu.compile_kernels(
        turned.rpartition("}")[0] + "}", compiler="host", options=["-DFIELDFORGE_UCONTEXT"]
    )
    with gpu.use_platform("null"):
        x, y = arrays(NUMBERS)
        gpu.Module.load(image).kernel("turned").launch(1, 64, (x, y), shmem=512)
        np.testing.assert_array_equal(y.to_host(), NUMBERS[::-1])


def line_of(text, after):
    """Return the number of the first line with a text after the head of a kernel."""
    lines = KERNELS.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"KERNEL {after}("))
    return next(i for i in range(first, len(lines)) if text in lines[i]) + 1


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        pytest.param(
            "no_barrier",
            "Thread 0 reads in line {out[i]} byte 504 of shared memory, which no thread of block "
            "(0, 0, 0) has written so far.",
            id="no barrier, the reader comes first",
        ),
        pytest.param(
            "across_warps",
            "Race in shared memory at byte 504 in block (0, 0, 0): thread 0 reads in line {out[i]} "
            "what thread 63 wrote in line {tile[i] =}, without a barrier between.",
            id="the barrier of a warp does not order others",
        ),
        pytest.param(
            "no_barrier_after_reading",
            "thread 32 reads in line {out[i]} what thread 31 wrote in line {= 0.0},",
            id="written again without a barrier after the reads",
        ),
        pytest.param(
            "written_by_all",
            "thread 1 writes in line {tile[0] =} what thread 0 wrote in line {tile[0] =},",
            id="one word, many writers",
        ),
        pytest.param("never_written", "Thread 0 reads in line {out[} byte 0", id="never written"),
        pytest.param(
            "behind",
            "Thread 63 uses in line {tile[threadIdx.x + 1]} element 64 of an array of shared "
            "memory that has 64.",
            id="behind the end of an array",
        ),
        pytest.param(
            "too_large",
            "The array of shared memory in line {tile(} takes bytes 0 to 800, in steps of 8, and "
            "the launch gives 512 bytes.",
            id="more than the launch gives",
        ),
        pytest.param(
            "two_places",
            "wait at different places: thread 0 in line {ff::barrier}, thread 63 in line",
            id="two barriers",
        ),
        pytest.param(
            "ended_early",
            "Thread 7 of block (0, 0, 0) has ended before line {ff::barrier}, where others of its "
            "block wait for it.",
            id="a barrier that one thread never reaches",
        ),
        pytest.param(
            "some_shuffle",
            "thread 0 in line {shuffle_down}, thread 63 in line {ff::barrier}.",
            id="a shuffle without all lanes",
        ),
        pytest.param(
            "copied_too_soon",
            "which the asynchronous copy of thread 0 in line {async_copy} still fills",
            id="a copy that has not arrived",
        ),
        pytest.param(
            "copied_and_not_shown",
            "Thread 0 reads in line {out[} byte 504 of shared memory",
            id="a copy that others were not shown",
        ),
        pytest.param(
            "askew",
            "uses in line {ff::store} 16 bytes at once at an address that is no multiple of it.",
            id="a wide load askew",
        ),
    ],
)
@pytest.mark.expects_problems
def test_what_a_gpu_would_not_forgive_is_reported(run, name, reported):
    arguments = arrays(NUMBERS)
    if f"{name}(double* out)" in KERNELS:
        arguments = arguments[1:]
    with pytest.raises(gpu.GpuError) as caught:
        run(name, *arguments)
    assert caught.value.name == "NULL_LAUNCH_FAILED"
    (found,) = gpu.null.problems()
    expected = re.sub(r"{(.*?)}", lambda text: str(line_of(text[1], name)), reported)
    assert expected in found, found
    assert found.startswith(f"Kernel '{name}': ")
    assert found in str(caught.value)


def test_memory_that_the_launch_sizes_needs_the_name_of_all_platforms():
    source = 'extern "C" __global__ void k() { extern __shared__ double a[]; }'
    with pytest.raises(gpu.KernelCompileError, match="write 'ff::shared_array'"):
        gpu.compile_kernels(source, compiler="host")


AT = """
extern "C" __global__ void read_at(const double* in, double* out, int i) {
  if (threadIdx.x == 3) out[0] = in[i];
}
extern "C" __global__ void write_at(double* out, int i) {
  if (threadIdx.x == 3) out[i] = 1.0;
}
"""


@pytest.fixture(scope="module")
def at():
    image = gpu.compile_kernels(AT, compiler="host")
    return gpu.Module.load(image, device=gpu.Device(0, platform="null"))


@pytest.mark.expects_problems
@pytest.mark.parametrize(
    ("side", "index", "told"),
    [
        pytest.param("after", 10, "0 bytes behind the end of", id="behind"),
        pytest.param("before", -1, "8 bytes before the start of", id="before"),
    ],
)
def test_a_kernel_beyond_its_memory_is_an_error_that_names_the_thread(at, side, index, told):
    with gpu.use_platform("null"):
        with gpu.null.guarded(side):
            x, y = gpu.Array.zeros(10), gpu.Array.zeros(10)
        at.kernel("read_at").launch(2, 8, (x, y, np.int32(5)))
        with pytest.raises(gpu.GpuError, match="ILLEGAL_ADDRESS") as caught:
            at.kernel("read_at").launch(2, 8, (x, y, np.int32(index)))
        assert (
            f"Kernel 'read_at': It reads {told} an allocation of 80 bytes. "
            "Thread (3, 0, 0) of block (0, 0, 0) does." in str(caught.value)
        )
        with pytest.raises(gpu.GpuError, match="It writes"):
            at.kernel("write_at").launch(1, 8, (x, np.int32(index)))
    gpu.null.forget_problems()


def test_the_setting_guards_all_memory(tmp_path):
    told = """
import fieldforge, numpy as np
from fieldforge.runtime.process import settings
settings.current()
from fieldforge.runtime import gpu
x = gpu.Array.zeros(512)
assert (x.ptr + x.nbytes) % 4096 == 0, hex(x.ptr)
"""
    environment = {"FIELDFORGE_GPU": "null", "FIELDFORGE_GPU_GUARD": "after"}
    python("-c", told, check=True, cwd=tmp_path, env=environment)


@pytest.mark.expects_problems
def test_writes_beside_memory_are_found_when_it_is_freed(at):
    with gpu.use_platform("null"), gpu.null.guarded():
        x = gpu.Array.zeros(10)
        at.kernel("write_at").launch(1, 8, (x, np.int32(-1)))
        assert gpu.null.problems() == []
        del x
    assert gpu.null.problems() == ["Something was written beside an allocation of 80 bytes."]
    gpu.null.forget_problems()


@pytest.mark.expects_problems
def test_threads_that_wait_are_stopped_where_one_leaves_its_memory(blocks):
    with gpu.use_platform("null"), gpu.null.guarded():
        x, y = arrays(NUMBERS[:40])
        with pytest.raises(gpu.GpuError, match=r"It reads .* Thread \(40, 0, 0\)"):
            blocks.kernel("turned").launch(1, 64, (x, y), shmem=512)
        x, y = arrays(NUMBERS)
        blocks.kernel("turned").launch(1, 64, (x, y), shmem=512)
        np.testing.assert_array_equal(y.to_host(), NUMBERS[::-1])
    gpu.null.forget_problems()
