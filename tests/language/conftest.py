"""The three executions that must agree, for every test of the language."""

from __future__ import annotations

import pytest

from fieldforge.workflows.backends.ready_made import BACKENDS

EXECUTIONS = [
    pytest.param(None, id="embedded"),
    pytest.param("reference", id="reference"),
    pytest.param("cpu", id="cpu", marks=pytest.mark.needs_compiler),
    pytest.param("gpu-host", id="gpu-host", marks=pytest.mark.needs_compiler),
]


# Without fused multiply-adds all three give the same bits.
STRICT = {
    name: BACKENDS[name].with_options(numerics="strict")
    for name in ("reference", "cpu", "gpu-host")
}


@pytest.fixture(params=EXECUTIONS)
def backend(request):
    """Run the test embedded, by the reference interpreter and compiled."""
    return request.param and STRICT[request.param]


@pytest.fixture(params=EXECUTIONS[1:])
def compiled(request):
    """Run the test by the backends that build something."""
    return STRICT[request.param]


def pytest_collection_modifyitems(items):
    """Let embedded programs run without their advice to select a backend."""
    quiet = pytest.mark.filterwarnings("ignore:Program '.*' runs embedded")
    for item in items:
        if "language" in item.path.parts:
            item.add_marker(quiet)
