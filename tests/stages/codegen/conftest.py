"""Compile seven of eight tests of generated code without optimisations; `-m every_optimised`: none.

What a program means does not depend on optimisations; the eighth, random programs and the language
see to it that optimised code has the same meaning.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldforge.runtime.fields import patch_lists

from ...optimised import NONE, is_chosen
from . import programs

HERE = f"{Path(__file__).parent}/"


@pytest.fixture(autouse=True)
def optimisation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the flags of `Runner` and `Native`."""
    if request.node.get_closest_marker("every_optimised") and not is_chosen(request):
        monkeypatch.setattr(programs, "FLAGS", NONE)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what compiles by the compiler of the CPU."""
    for item in items:
        if str(item.path).startswith(HERE) and item.get_closest_marker("needs_compiler"):
            item.add_marker(pytest.mark.every_optimised)


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
