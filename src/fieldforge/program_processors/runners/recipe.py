"""What the runners share: another name for a backend, and a warning of what is not honoured."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from ...workflows.backends.backend import Backend


def customised(backend: Backend, postfix: str, given: Mapping[str, Any]) -> Backend:
    """Return the backend with what gt4py's factories replace: its name and its allocator."""
    name = given.get("name", backend.name + postfix)
    allocator = given.get("allocator", backend.allocator)
    if name == backend.name and allocator is backend.allocator:
        return backend
    return attrs.evolve(backend, name=name, allocator=allocator)


def warn_of(names: Iterable[str], factory: str) -> None:
    """Name in one warning the options that gt4py honours and we do not."""
    listed = ", ".join(f"'{name}'" for name in sorted(names))
    if listed:
        warnings.warn(f"'{factory}' does not honour {listed} in fieldforge.", stacklevel=3)
