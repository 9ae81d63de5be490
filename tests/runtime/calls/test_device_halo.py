"""Halos of fields on a GPU: the bits of the host, by one kernel."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.runtime.calls import device_halo
from fieldforge.workflows.backends.backend import BACKENDS

from ...processes import python

I, J, K = ff.Dimension("I"), ff.Dimension("J"), ff.Dimension("K")
IW = ff.flip_staggered(I)
SIDES = [
    {I: "periodic"},
    {I: "periodic", J: "periodic"},
    {J: "odd", I: "odd"},
    {I: ("odd", 4.0), J: "even"},
    {J: (None, 2.5), I: ("even", None)},
    {IW: "odd"},
    {IW: "odd", I: "odd", J: ("odd", 3.0)},
    {IW: "periodic", J: (1.0, 2.0), I: "even"},
]


@pytest.fixture
def simulated():
    """Use the null platform, whose driver finds what a call does wrong."""
    with gpu.use_platform("null"):
        gpu.null.forget_problems()
        yield BACKENDS["gpu"].allocator
        assert gpu.null.problems() == []
    device_halo._launches.cache_clear()
    device_halo._kernel.cache_clear()


def check_sides(allocator, boundaries, dtype="float64"):
    """Compare a field on the device with one on the host."""
    domain = {I: (0, 6), J: (-1, 7), IW: (0, 7), K: 3}
    above = 2 if dtype == "bool" else 100
    values = np.random.default_rng(2).integers(0, above, (6, 8, 7, 3)).astype(dtype)
    interior = {I: (2, 4), J: (1, 6), IW: (2, 5)}
    host = ff.as_field(domain, values)
    device = ff.as_field(domain, values, allocator=allocator)

    ff.fill_halo(host, interior, boundaries)
    ff.fill_halo(device, interior, boundaries)

    assert not np.array_equal(host.asnumpy(), values)
    np.testing.assert_array_equal(device.asnumpy(), host.asnumpy())


@pytest.mark.parametrize("boundaries", SIDES)
def test_a_halo_on_the_device_is_that_of_the_host(simulated, boundaries):
    check_sides(simulated, boundaries)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int32", "int64"])
def test_all_types_with_a_sign_change_it(simulated, dtype):
    check_sides(simulated, {I: "odd", J: ("odd", 7)}, dtype)


@pytest.mark.parametrize("dtype", ["bool", "uint16", "uint64"])
def test_types_without_a_sign_are_copied(simulated, dtype):
    check_sides(simulated, {I: "periodic", J: ("even", 1)}, dtype)


@pytest.mark.needs_gpu
@pytest.mark.parametrize("boundaries", SIDES)
def test_a_halo_on_a_gpu_is_that_of_the_host(boundaries):
    check_sides(BACKENDS["gpu"].allocator, boundaries)


def test_one_kernel_fills_all_sides_and_corners(simulated):
    field = ff.zeros({I: (-1, 5), J: (-1, 5)}, allocator=simulated)

    with gpu.null.recorded() as calls:
        ff.fill_halo(field, {I: (0, 4), J: (0, 4)}, {I: "periodic", J: ("odd", 2.0)})

    assert calls.count("launch") == 1
    assert not any("copy" in name or "alloc" in name for name in calls)


def test_walls_that_a_mirror_reads_wait_for_a_second_kernel(simulated):
    """The mirror of the lower wall is as deep as the interior, so it reads the upper wall."""
    values = np.arange(9.0)
    host = ff.as_field({IW: (-3, 6)}, values)
    device = ff.as_field({IW: (-3, 6)}, values, allocator=simulated)

    with gpu.null.recorded() as calls:
        for field in (host, device):
            ff.fill_halo(field, {IW: (0, 4)}, {IW: "odd"})

    np.testing.assert_array_equal(device.asnumpy(), host.asnumpy())
    assert calls.count("launch") == 2


def test_a_halo_of_no_rows_launches_nothing(simulated):
    field = ff.zeros({I: (0, 4), J: 0}, allocator=simulated)

    with gpu.null.recorded() as calls:
        ff.fill_halo(field, {I: (0, 4)}, {I: "periodic"})
        ff.fill_halo(field, {I: (1, 4)}, {I: "periodic"})

    assert "launch" not in calls


def test_a_halo_on_the_host_imports_no_kernels():
    code = (
        "import sys, fieldforge as ff; I = ff.Dimension('I')\n"
        "ff.fill_halo(ff.zeros({I: (-1, 4)}), {I: (0, 3)}, {I: 'even'})\n"
        "print(any('device_halo' in name or 'gpu.compiler' in name for name in sys.modules))"
    )
    done = python("-c", code, check=True)

    assert done.stdout == "False\n"
