"""The executions that must agree, for every test of the language.

DaCe takes seconds to build what C++ takes tenths of a second for. So of the tests by `dace_cpu` one
in twelve runs beside the others; `pytest -m every_dace tests/language` runs all of them.
"""

from __future__ import annotations

from zlib import crc32

import pytest

import fieldforge as ff

ONE_IN = 12

EXECUTIONS = [
    pytest.param(None, id="embedded"),
    pytest.param("reference", id="reference"),
    pytest.param("cpu", id="cpu", marks=pytest.mark.needs_compiler),
    pytest.param(
        "dace_cpu",
        id="dace_cpu",
        marks=[pytest.mark.needs_compiler, pytest.mark.needs_dace, pytest.mark.every_dace],
    ),
]


# Without fused multiply-adds all three give the same bits.
BUILDERS = ("reference", "cpu", "dace_cpu")
STRICT = {name: getattr(ff, name).with_options(numerics="strict") for name in BUILDERS}


@pytest.fixture(params=EXECUTIONS)
def backend(request):
    """Run the test embedded, by the reference interpreter and compiled."""
    return request.param and STRICT[request.param]


@pytest.fixture(params=EXECUTIONS[1:])
def compiled(request):
    """Run the test by the backends that build something."""
    return STRICT[request.param]


def pytest_collection_modifyitems(config, items):
    """Choose among the tests by DaCe; let embedded programs run without their advice."""
    if "every_dace" not in config.option.markexpr:
        left_out = [item for item in items if _is_left_out(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    quiet = pytest.mark.filterwarnings("ignore:Program '.*' runs embedded")
    for item in items:
        if "language" in item.path.parts:
            item.add_marker(quiet)


def _is_left_out(item):
    """Tell whether a test is one of the eleven in twelve by DaCe."""
    is_of_dace = item.get_closest_marker("every_dace") and "language" in item.path.parts
    return is_of_dace and crc32(item.nodeid.encode()) % ONE_IN
