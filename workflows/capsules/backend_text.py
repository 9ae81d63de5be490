"""The backend of a capsule as text: its name and the options that take part in keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ...runtime.process.errors import FieldforgeError
from ..backends.backend import Backend
from ..backends.pipelines import registry
from ..backends.ready_made import find_backend
from ..backends.recipes import reference
from ..graph.text import parse_value, show_value
from .values import CapsuleError


def options_text(backend: Backend) -> dict[str, str]:
    """Return the options of each stage as text, without paths and tools of this machine."""
    kinds: list[tuple[str, Any, Any]] = [(n, type(s), s) for n, s in backend.workflow.nodes]
    return {
        f"{name}.{field.alias}": show_value(getattr(stage, field.name))
        for name, kind, stage in kinds
        for field in attrs.fields(kind)
        if field.init and field.eq
    }


def backend_of(name: str | None, options: Mapping[str, str]) -> Backend:
    """Return a backend with the options of a capsule, built for this machine.

    Embedded programs are replayed by the reference backend, which then computes the same bits.
    """
    made = find_backend(name) if name else reference(numerics="strict")
    assert made is not None, "a name gives a backend"
    own = options_text(made)
    changed = {
        option: _read(option, text)
        for option, text in options.items()
        if option in own and own[option] != text and not option.endswith(".target")
    }
    return made.with_options(**changed) if changed else made


def _read(option: str, text: str) -> Any:
    try:
        return parse_value(text, registry())
    except FieldforgeError as error:
        raise CapsuleError(
            f"Option '{option}' is {text}, part of which is not in this fieldforge: {error}",
            hints=["Name a backend for the replay, such as 'cpu'."],
        ) from error
