"""The executions that must agree, for every test of the language.

DaCe takes seconds to build what C++ takes tenths of a second for, and kernels for GPUs run slowly
on a host. So of the tests by these backends a few run beside the others: one in 48 by
`dace_cpu`, one in twelve by `gpu-host`, one in twelve by `gpu-device`, which has its fields on the
simulated device, and one in 24 by `dace_gpu-host`, the kernels of `dace_gpu` on the host.
`pytest -m every_dace tests/language` runs all of the first, and the other marks so those of the
other backends.

What is compiled for the CPU is compiled without optimisations, which is three times as fast, in
seven tests of eight; `-m every_optimised` compiles it as users do in all of them.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager, nullcontext
from pathlib import Path
from zlib import crc32

import pytest

from fieldforge.constructors import as_connectivity
from fieldforge.runtime import gpu
from fieldforge.runtime.fields.allocators import standard as allocator
from fieldforge.workflows.backends.ready_made import BACKENDS

from . import support

HERE = f"{Path(__file__).parent}/"
ONE_IN = {"every_dace": 48, "every_gpu_host": 12, "every_gpu_device": 12, "every_dace_gpu": 24}

EXECUTIONS = [
    pytest.param(None, id="embedded"),
    pytest.param("reference", id="reference"),
    pytest.param("rows", id="rows"),
    pytest.param("cpu", id="cpu", marks=[pytest.mark.needs_compiler, pytest.mark.every_optimised]),
    pytest.param(
        "dace_cpu",
        id="dace_cpu",
        marks=[pytest.mark.needs_compiler, pytest.mark.needs_dace, pytest.mark.every_dace],
    ),
    pytest.param(
        "gpu-host", id="gpu-host", marks=[pytest.mark.needs_compiler, pytest.mark.every_gpu_host]
    ),
    pytest.param(
        "gpu-device",
        id="gpu-device",
        marks=[
            pytest.mark.needs_compiler,
            pytest.mark.every_gpu_host,
            pytest.mark.every_gpu_device,
        ],
    ),
    pytest.param(
        "dace_gpu-host",
        id="dace_gpu-host",
        marks=[pytest.mark.needs_compiler, pytest.mark.needs_dace, pytest.mark.every_dace_gpu],
    ),
    pytest.param("gpu", id="gpu", marks=pytest.mark.needs_gpu),
    pytest.param("dace_gpu", id="dace_gpu", marks=[pytest.mark.needs_gpu, pytest.mark.needs_dace]),
]


# Without fused multiply-adds all of them give the same bits.
@functools.cache
def has_gpu():
    return gpu.is_available("cuda") or gpu.is_available("hip")


OPTIMISED_ONE_IN = 4
BUILDERS = ("reference", "rows", "cpu", "dace_cpu", "gpu-host", "dace_gpu-host")
STRICT = {name: BACKENDS[name].with_options(numerics="strict") for name in BUILDERS}
STRICT["cpu, not optimised"] = STRICT["cpu"].with_options(flags=("-O0",))
STRICT["gpu-host"] = STRICT["gpu-host"].with_options(flags=("-O0",))  # an emulation is never fast
STRICT["gpu-device"] = STRICT["gpu-host"].with_options(on_device=True)


@functools.cache
def strict(name):
    """Return a backend; that for GPUs looks for one when it is asked for."""
    return STRICT[name] if name in STRICT else BACKENDS[name].with_options(numerics="strict")


@pytest.fixture(params=EXECUTIONS)
def backend(request, monkeypatch):
    """Run the test embedded, by the reference interpreter and compiled."""
    with chosen(_optimised_or_not(request), monkeypatch) as found:
        yield found


@pytest.fixture(params=EXECUTIONS[1:])
def compiled(request, monkeypatch):
    """Run the test by the backends that build something."""
    with chosen(_optimised_or_not(request), monkeypatch) as found:
        yield found


def _optimised_or_not(request):
    """Return the name of an execution; three of four by `cpu` are not optimised."""
    in_full = "every_optimised" in request.config.option.markexpr
    if request.param != "cpu" or in_full:
        return request.param
    is_chosen = crc32(request.node.nodeid.encode()) % OPTIMISED_ONE_IN == 0
    return "cpu" if is_chosen else "cpu, not optimised"


@contextmanager
def chosen(name, monkeypatch):
    """Give a backend; fields and tables that tests make lie on its device."""
    if name not in ("gpu", "dace_gpu", "gpu-device"):
        yield name and strict(name)
        return
    simulated = gpu.use_platform("null") if name == "gpu-device" else nullcontext()
    with simulated:
        monkeypatch.setattr(allocator, "CPU_ALLOCATOR", BACKENDS["gpu"].allocator)
        for name_of_table, table in on_gpu(name).items():
            monkeypatch.setitem(support.MESH, name_of_table, table)
        yield strict(name)


@functools.cache
def on_gpu(_):
    """Return the tables of the mesh on the device of an execution."""
    return {
        name: as_connectivity(
            table.domain, codomain=table.codomain, data=table.asnumpy(),
            allocator=BACKENDS["gpu"].allocator,
        )
        for name, table in support.MESH.items()
        if hasattr(table, "skip_value")
    }  # fmt: skip


def pytest_collection_modifyitems(config, items):
    """Choose among the tests of slow backends; let embedded programs run without their advice."""
    ours = [item for item in items if str(item.path).startswith(HERE)]
    left_out = {item for item in ours if _is_left_out(item, config.option.markexpr)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
    quiet = pytest.mark.filterwarnings("ignore:Program '.*' runs embedded")
    for item in ours:
        item.add_marker(quiet)


def _is_left_out(item, wanted):
    """Tell whether a test belongs to the part of a slow backend's tests that does not run."""
    if item.get_closest_marker("needs_gpu") and not has_gpu():
        return True
    shares = [one_in for name, one_in in ONE_IN.items() if item.get_closest_marker(name)]
    asked = any(name in wanted and item.get_closest_marker(name) for name in ONE_IN)
    return not asked and any(crc32(item.nodeid.encode()) % one_in for one_in in shares)
