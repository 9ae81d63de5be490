"""A backend of fieldforge as a class that stencils take: `stencil(backend=ff.cpu...)`."""

from __future__ import annotations

from typing import Any

from ...runtime.storage.presets import from_name
from ..backends.backend import Backend as Compiling
from ..backends.ready_made import find_backend
from .backends import REGISTRY, Backend


def class_for(backend: Compiling) -> type[Backend]:
    """Return a class for a backend with options; it is registered under no name.

    >>> from fieldforge import cpu
    >>> class_for(cpu.with_options(numerics="strict")).name
    'cpu'
    """
    known = REGISTRY.get(backend.name)
    if known is not None and find_backend(backend.name) is backend:
        return known
    info = from_name(backend.name) or from_name("cpu")
    assert info is not None, "'cpu' has a preset"

    def selected(_: type[Backend]) -> Compiling:
        return backend

    body: dict[str, Any] = {
        "__doc__": f"The backend '{backend.name}' with options.",
        "__module__": __name__,
        "name": backend.name,
        "options": known.options if known is not None else {},
        "languages": known.languages if known is not None else None,
        "storage_info": info,
        "selected": classmethod(selected),
    }
    return type("OwnBackend", (Backend,), body)
