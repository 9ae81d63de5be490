"""Every test here runs on the platform that FIELDFORGE_GPU names, and on null otherwise."""

import gc
import shutil

import numpy as np
import pytest

from fieldforge.runtime import gpu
from fieldforge.runtime.process import settings

SOURCE = """
extern "C" __global__ void axpy(double a, const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void index(long long* out) {
    long long i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i;
}
struct Values { double a; int b; char c; };
extern "C" __global__ void types(double* out, bool t, signed char b, unsigned char B, short h,
                                 unsigned short H, int i, unsigned I, long long q,
                                 unsigned long long Q, float f, double d, Values s) {
    out[0] = t; out[1] = b; out[2] = B; out[3] = h; out[4] = H; out[5] = i; out[6] = I;
    out[7] = q; out[8] = Q; out[9] = f; out[10] = d; out[11] = s.a; out[12] = s.b; out[13] = s.c;
}
extern "C" __global__ void spin(long long* out, long long rounds) {
    long long x = out[0];
    for (long long k = 0; k < rounds; ++k) x = x * 6364136223846793005LL + 1442695040888963407LL;
    out[0] = x;
}
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""


def platform_name():
    return settings.current().gpu or "null"


@pytest.fixture(scope="session")
def is_null():
    return platform_name() == "null"


@pytest.fixture(scope="session")
def device():
    return gpu.Device(0, platform=platform_name())


@pytest.fixture(scope="session")
def several(device):
    count = gpu.device_count(device.platform)
    if count < 2:
        pytest.skip("needs two devices, and this machine has one")
    return [gpu.Device(i, platform=device.platform) for i in range(count)]


@pytest.fixture(scope="session")
def source():
    return SOURCE


@pytest.fixture(scope="session")
def image(device):
    if device.platform == "null" and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("the null platform compiles kernels by a C++ compiler, and there is none")
    return gpu.compile_kernels(SOURCE, arch=device.arch)


@pytest.fixture
def module(image, device):
    return gpu.Module.load(image, device=device)


@pytest.fixture
def axpy(module):
    return module.kernel("axpy").prepare("dRPi", grid=4, block=256)


@pytest.fixture
def numbers():
    return np.random.default_rng(7).random(1000)


@pytest.fixture(autouse=True)
def clean(request, device):
    """Hold every test against the null driver: nothing leaks, nothing is unordered."""
    if device.platform != "null":
        yield
        device.sync()
        return
    gpu.null.forget_problems()
    gc.collect()
    gc.freeze()  # the next ones look at what the test made, not at all modules again
    before = len(gpu.null.allocations())
    with gpu.use_platform("null"):
        yield
    gc.collect()
    if request.node.get_closest_marker("expects_problems") is None:
        assert gpu.null.problems() == []
    gpu.null.forget_problems()
    assert len(gpu.null.allocations()) <= before + 16  # pinned memory is kept for reuse
