"""Programs for GPUs on the null platform: fields of the host, and of its simulated device."""

import gc

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.runtime import gpu
from fieldforge.runtime.gpu.native import null as driver
from fieldforge.runtime.process.errors import FieldforgeError
from fieldforge.workflows.backends.backend import BACKENDS

from ..dimensions import E2C, Cell, E2CDim, Edge
from .gpu_calls import I, J, K, Plane, halve, sweep

pytestmark = pytest.mark.needs_compiler

OnCells = ff.Field[ff.Dims[Cell, K], ff.float64]
OnEdges = ff.Field[ff.Dims[Edge, K], ff.float64]

HOST = BACKENDS["gpu-host"]
BOTH = pytest.mark.parametrize(
    "host", ["gpu-host", pytest.param("dace_gpu-host", marks=pytest.mark.needs_dace)]
)


@ff.field_operator
def difference(a: OnCells) -> OnEdges:
    return a(E2C[1]) - a(E2C[0])


@ff.program
def differences(a: OnCells, out: OnEdges):
    difference(a, out=out)


@ff.field_operator
def inverse(a: Plane) -> Plane:
    return 1.0 / a


@ff.program
def invert(a: Plane, out: Plane):
    inverse(a, out=out)


@pytest.fixture
def simulated(monkeypatch):
    """Use the null platform, whose driver finds what a call does wrong."""
    with gpu.use_platform("null"):
        gpu.null.forget_problems()
        yield on_device("gpu-host"), BACKENDS["gpu"].allocator
        assert gpu.null.problems() == []


def on_device(host):
    """Return a backend for the host with fields on the simulated device."""
    return BACKENDS[host].with_options(on_device=True)


@BOTH
def test_a_dimension_may_need_more_blocks_than_a_grid_has(host):
    a = ff.as_field([I, J], np.arange(2.0 * 530_000).reshape(2, -1))
    out = ff.zeros({I: 2, J: 530_000})

    halve.with_backend(host)(a, out)

    assert (out.asnumpy() == 0.5 * a.asnumpy()).all()


def test_nothing_is_launched_for_an_empty_domain():
    halve.with_backend(HOST)(ff.zeros({I: 0, J: 4}), ff.zeros({I: 0, J: 4}))


@BOTH
def test_sweeps_on_the_device_have_the_bits_of_the_cpu(simulated, host):
    allocator = simulated[1]
    values = np.random.default_rng(1).random((5, 40, 9))
    expected = ff.zeros({I: 5, J: 40, K: 9})
    sweep.with_backend("cpu")(ff.as_field([I, J, K], values), expected)
    a = ff.as_field([I, J, K], values, allocator=allocator)
    out = ff.zeros({I: 5, J: 40, K: 9}, allocator=allocator)

    sweep.with_backend(on_device(host))(a, out)

    assert out.asnumpy().tobytes() == np.array(expected.asnumpy()).tobytes()


def test_temporaries_go_back_with_the_call(simulated):
    backend, allocator = in_memory(simulated)
    a = ff.zeros({I: 5, J: 4, K: 9}, allocator=allocator)
    out = ff.zeros({I: 5, J: 4, K: 9}, allocator=allocator)
    sweep.with_backend(backend)(a, out)
    gc.collect()  # what other tests left behind goes back now, not between the two counts
    before = len(gpu.null.allocations())

    for _ in range(3):
        sweep.with_backend(backend)(a, out)

    assert len(gpu.null.allocations()) == before


def test_a_table_on_the_device_is_looked_into_on_the_host(simulated):
    backend, allocator = simulated
    entries = np.array([[0, 1], [1, 2], [2, 0]], np.int32)
    table = as_connectivity([Edge, E2CDim], codomain=Cell, data=entries, allocator=allocator)
    values = np.random.default_rng(1).random((3, 4))
    a = ff.as_field([Cell, K], values, allocator=allocator)
    out = ff.zeros({Edge: 3, K: 4}, allocator=allocator)

    differences.with_backend(backend)(a, out, offset_provider={"E2C": table})

    assert (out.asnumpy() == values[[1, 2, 0]] - values[[0, 1, 2]]).all()
    short = ff.as_field([Cell, K], values[:2], allocator=allocator)
    with pytest.raises(FieldforgeError, match="'a' is too small"):
        differences.with_backend(backend)(short, out, offset_provider={"E2C": table})


def test_a_field_on_the_host_is_refused_by_name(simulated):
    backend, allocator = simulated
    with pytest.raises(FieldforgeError, match="a"):
        halve.with_backend(backend)(
            ff.zeros({I: 3, J: 4}), ff.zeros({I: 3, J: 4}, allocator=allocator)
        )


def test_work_goes_to_the_current_stream(simulated):
    backend, allocator = simulated
    a = ff.full({I: 3, J: 4}, 3.0, allocator=allocator)
    out = ff.zeros({I: 3, J: 4}, allocator=allocator)
    program = halve.with_backend(backend)
    program(a, out)
    first, second = gpu.Stream(gpu.Device(0)), gpu.Stream(gpu.Device(0))
    driver.record(True)
    with first:
        program(a, out)
    first.sync()
    program.with_stream(second)(a, out)
    driver.record(False)

    places = [place for name, place in driver.calls() if name == "launch"]
    assert places == [first.ptr, second.ptr]


def test_a_failed_launch_is_an_error_of_the_call(simulated):
    backend, allocator = simulated
    a = ff.zeros({I: 3, J: 4}, allocator=allocator)
    program = halve.with_backend(backend)
    program(a, a)
    gpu.null.fail_next("launch", 701)

    with pytest.raises(gpu.GpuError, match="kernel 'grid_of_k0'"):
        program(a, a)

    program(a, a)


@pytest.mark.parametrize("place", ["host", "device"])
@BOTH
def test_a_checked_call_names_the_field(simulated, host, place):
    backend, allocator = (on_device(host), simulated[1]) if place == "device" else (host, None)
    a = ff.zeros({I: 3, J: 4}, allocator=allocator)
    out = ff.zeros({I: 3, J: 4}, allocator=allocator)
    program = invert.with_backend(backend)

    with pytest.raises(ff.errors.CheckError, match="'out' of 'inverse' is inf"):
        program.checked(a, out)

    program.checked(ff.full({I: 3, J: 4}, 2.0, allocator=allocator), out)
    assert (out.asnumpy() == 0.5).all()


def test_bound_calls_launch_again(simulated):
    backend, allocator = simulated
    a = ff.full({I: 3, J: 4}, 8.0, allocator=allocator)
    call = halve.with_backend(backend).bind(a=a, out=a)

    call()
    call()

    assert (a.asnumpy() == 2.0).all()


def in_memory(simulated):
    """Return the backend with temporaries in memory of the device, never in shared memory."""
    backend, allocator = simulated
    return backend.with_options(shared=False), allocator


def test_recorded_calls_take_their_temporaries_from_the_device(simulated):
    backend, allocator = in_memory(simulated)
    values = np.random.default_rng(2).random((5, 4, 9))
    a = ff.as_field([I, J, K], values, allocator=allocator)
    out = ff.zeros({I: 5, J: 4, K: 9}, allocator=allocator)
    program = sweep.with_backend(backend)
    with ff.record() as step:
        program(a, out)
    expected = out.asnumpy().tobytes()
    out.asnumpy()[...] = 0.0
    before = len(gpu.null.allocations())

    driver.record(True)
    step()
    driver.record(False)

    names = [name for name, _ in driver.calls()]
    assert names.count("alloc_async") == names.count("free_async") == 1
    assert out.asnumpy().tobytes() == expected
    assert len(gpu.null.allocations()) == before
