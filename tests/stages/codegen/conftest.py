"""Compile seven of eight tests of generated code without optimisations; `make test-all`: none.

What a program means does not depend on optimisations; the eighth, random programs and the language
see to it that optimised code has the same meaning.
"""

from typing import Any

import numpy as np
import pytest

from fieldforge.runtime.fields import patch_lists

from ...selection import NONE, is_optimised
from . import programs


@pytest.fixture(autouse=True)
def optimisation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the flags of `Runner` and `Native`."""
    if request.node.get_closest_marker("needs_compiler") and not is_optimised(request):
        monkeypatch.setattr(programs, "FLAGS", NONE)


@pytest.fixture
def lists_made(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The lists that inspectors make meanwhile."""
    found: list[np.ndarray] = []
    bring = patch_lists.bring

    def watched(data: bytes, *place: int) -> Any:
        found.append(np.frombuffer(data, np.uint32))
        return bring(data, *place)

    monkeypatch.setattr(patch_lists, "bring", watched)
    return found
