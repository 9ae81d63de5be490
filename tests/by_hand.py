"""How kernels by hand are compiled in tests: `conftest.py` of a folder imports the fixture."""

from collections.abc import Iterator
from typing import Any

import native
import pytest

from .selection import runs_all


@pytest.fixture(scope="session", autouse=True)
def kernels_by_hand(request: Any) -> Iterator[None]:
    """Compile kernels by hand, which no test measures, without optimisations."""
    with pytest.MonkeyPatch.context() as patch:
        if not runs_all(request.config):
            patch.setattr(native, "FLAGS", native.FLAGS.replace("-O3", "-O0"))
        yield
