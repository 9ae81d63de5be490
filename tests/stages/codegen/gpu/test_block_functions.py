"""What kernels do together or at once, as generated code writes it, on the null platform."""

import numpy as np
import pytest

from fieldforge.runtime import gpu
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.vendors import dialect
from fieldforge.stages.vendors.host import HOST, whole_grid

pytestmark = pytest.mark.needs_compiler

WIDE = """
KERNEL __launch_bounds__(64) k0(f64* p0, f64* p1, s64 n0) {
  const s64 i = 2 * s64(threadIdx.x) + n0;
  ff::pack<f64, 2> v = ff::load<2>((const f64*)p0 + i);
  v[1] = -v[1];
  ff::store(p1 + i, v);
}
"""
TURNED = """
KERNEL __launch_bounds__(64) k0(f64* p0, f64* p1, s64 n0) {
  const ff::shared_array<f64> tile(0, 64);
  const s64 i = threadIdx.x;
  tile[i] = p0[i];
  ff::barrier();
  p1[i] = tile[63 - i] + f64(n0);
}
"""


def kernel_of(text: str, asked: str) -> gpu.Kernel:
    grid = whole_grid("k0", ("f64*", "f64*", "s64"))
    generated = Generated("c++", HOST.dialect([asked]) + text + grid, "", HOST.flags)
    stage = Compile(variables=current().compiler_variables)
    library = stage.run(generated=generated)["compiled"].library  # type: ignore[attr-defined]
    module = gpu.Module.load(library, device=gpu.Device(0, platform="null"))
    return module.kernel(HOST.entry("k0"))


def test_wide_accesses_are_checked_without_the_rest() -> None:
    assert "Fibre" not in HOST.dialect([dialect.WIDE])
    kernel = kernel_of(WIDE, dialect.WIDE)
    with gpu.use_platform("null"):
        x, y = gpu.Array.from_host(np.arange(130.0)), gpu.Array.zeros(130)
        kernel.launch(1, 64, (x, y, np.int64(0)))
        made = y.to_host()[:128].reshape(64, 2)
        np.testing.assert_array_equal(made, np.arange(128.0).reshape(64, 2) * (1, -1))
        with pytest.raises(gpu.GpuError, match="no multiple of it") as caught:
            kernel.launch(1, 64, (x, y, np.int64(1)))
    line = HOST.dialect([dialect.WIDE]).count("\n") + 4
    assert f"Thread 0 uses in line {line} 16 bytes at once" in str(caught.value)
    gpu.null.forget_problems()


def test_a_kernel_may_fail_and_run_again() -> None:
    kernel = kernel_of(TURNED, dialect.BLOCK)
    with gpu.use_platform("null"):
        x, y = gpu.Array.from_host(np.arange(64.0)), gpu.Array.zeros(64)
        with pytest.raises(gpu.GpuError, match="the launch gives 256 bytes"):
            kernel.launch(1, 64, (x, y, np.int64(1)), shmem=256)
        kernel.launch(1, 64, (x, y, np.int64(1)), shmem=512)
        np.testing.assert_array_equal(y.to_host(), np.arange(64.0)[::-1] + 1)
    gpu.null.forget_problems()
