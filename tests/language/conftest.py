"""The executions that must agree, for every test of the language.

DaCe takes seconds to build what C++ takes tenths of a second for, and kernels for GPUs run slowly
on a host. So of the tests by these backends a few run beside the others (`tests/selection.py`);
`gpu-device` has its fields on the simulated device.
"""

import functools
from contextlib import contextmanager, nullcontext

import attrs
import pytest

from fieldforge.constructors import as_connectivity
from fieldforge.runtime import gpu
from fieldforge.runtime.fields.allocators import standard as allocator
from fieldforge.workflows.backends.backend import BACKENDS

from ..selection import HERE, NONE, is_optimised
from . import support

COMPILES = pytest.mark.needs_compiler
DACE = pytest.mark.needs_dace
EXECUTIONS = [
    pytest.param(None, id="embedded"),
    pytest.param("reference", id="reference"),
    pytest.param("rows", id="rows"),
    pytest.param("cpu", id="cpu", marks=COMPILES),
    pytest.param("dace_cpu", id="dace_cpu", marks=[COMPILES, DACE, pytest.mark.one_in(48)]),
    pytest.param("gpu-host", id="gpu-host", marks=[COMPILES, pytest.mark.one_in(12)]),
    pytest.param("gpu-device", id="gpu-device", marks=[COMPILES, pytest.mark.one_in(12)]),
    pytest.param(
        "dace_gpu-host", id="dace_gpu-host", marks=[COMPILES, DACE, pytest.mark.one_in(24)]
    ),
    pytest.param("gpu", id="gpu", marks=pytest.mark.needs_gpu),
    pytest.param("dace_gpu", id="dace_gpu", marks=[pytest.mark.needs_gpu, DACE]),
]


# Without fused multiply-adds all of them give the same bits.
BUILDERS = ("reference", "rows", "cpu", "dace_cpu", "gpu-host", "dace_gpu-host")
STRICT = {name: BACKENDS[name].with_options(numerics="strict") for name in BUILDERS}
STRICT["cpu, not optimised"] = STRICT["cpu"].with_options(flags=NONE)
STRICT["gpu-host"] = STRICT["gpu-host"].with_options(flags=NONE)  # an emulation is never fast
STRICT["gpu-device"] = attrs.evolve(
    STRICT["gpu-host"].with_options(on_device=True), allocator=BACKENDS["gpu"].allocator
)


@functools.cache
def strict(name):
    """Return a backend; that for GPUs looks for one when it is asked for."""
    return STRICT[name] if name in STRICT else BACKENDS[name].with_options(numerics="strict")


@pytest.fixture(params=EXECUTIONS)
def backend(request, monkeypatch):
    """Run the test embedded, by the reference interpreter and compiled."""
    with chosen(_optimised_or_not(request), monkeypatch) as found:
        yield found


@pytest.fixture
def gives(backend):
    """Hold what an operator gives by the running execution against what is expected."""
    return functools.partial(support.assert_gives, backend=backend)


@pytest.fixture(params=EXECUTIONS[1:])
def compiled(request, monkeypatch):
    """Run the test by the backends that build something."""
    with chosen(_optimised_or_not(request), monkeypatch) as found:
        yield found


def _optimised_or_not(request):
    """Return the name of an execution; not all tests by `cpu` are optimised."""
    name = request.param
    return "cpu, not optimised" if name == "cpu" and not is_optimised(request) else name


@contextmanager
def chosen(name, monkeypatch):
    """Give a backend; fields and tables that tests make lie on its device."""
    if name not in ("gpu", "dace_gpu", "gpu-device"):
        yield name and strict(name)
        return
    simulated = gpu.use_platform("null") if name == "gpu-device" else nullcontext()
    with simulated:
        monkeypatch.setattr(allocator, "CPU_ALLOCATOR", BACKENDS["gpu"].allocator)
        for name_of_table, table in on_gpu().items():
            monkeypatch.setitem(support.MESH, name_of_table, table)
        yield strict(name)


def on_gpu():
    """Return the tables of the mesh on the device of an execution, new for each test.

    Tables kept for all tests have read as zeros late in long processes; why is not known.
    """
    return {
        name: as_connectivity(
            table.domain, codomain=table.codomain, data=table.asnumpy(),
            allocator=BACKENDS["gpu"].allocator,
        )
        for name, table in support.MESH.items()
        if hasattr(table, "skip_value")
    }  # fmt: skip


def pytest_collection_modifyitems(items):
    """Let embedded programs run without their advice."""
    quiet = pytest.mark.filterwarnings("ignore:Program '.*' runs embedded")
    for item in items:
        if item.path.is_relative_to(HERE / "language"):
            item.add_marker(quiet)
