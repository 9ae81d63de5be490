"""Helpers of the runners: rename a backend, and warn of options without effect."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from ...workflows.backends.backend import Backend


def customised(backend: Backend, postfix: str, given: Mapping[str, Any]) -> Backend:
    """Return the backend with another name and allocator, as gt4py's factories make it."""
    name = given.get("name", backend.name + postfix)
    allocator = given.get("allocator", backend.allocator)
    if name == backend.name and allocator is backend.allocator:
        return backend
    return attrs.evolve(backend, name=name, allocator=allocator)


def warn_of(names: Iterable[str], factory: str) -> None:
    """Name in one warning the options of gt4py that have no effect here."""
    listed = ", ".join(f"'{name}'" for name in sorted(names))
    if listed:
        warnings.warn(f"'{factory}' does not honour {listed} in fieldforge.", stacklevel=3)
