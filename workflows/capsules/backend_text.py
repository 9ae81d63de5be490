"""The backend of a capsule as text: its name and the options that take part in keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ...runtime.process import FieldforgeError
from ..backends.backend import BACKENDS, Backend
from ..backends.pipelines import registry
from ..backends.recipes import reference
from ..graph.text import parse_value, show_value
from ..options.from_files import check_from_file
from .values import CapsuleError

HINT: Final = "Name a backend for the replay, such as 'cpu'."


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

    Raises:
        CapsuleError: if there is no such backend, or an option that a file may not set.

    """
    if name is not None and name not in BACKENDS:
        raise CapsuleError(
            f"It was captured on backend '{name[:60]}', which is not in this fieldforge.",
            hints=[HINT],
        )
    made = BACKENDS[name] if name is not None else reference(numerics="strict")
    own = options_text(made)
    for given, text in options.items():
        option = made.old_names.get(given, given)
        if option in own and own[option] != text and not option.endswith(".target"):
            made = _changed(made, given, text)
    return made


def _changed(backend: Backend, option: str, text: str) -> Backend:
    try:
        value = parse_value(text, registry())
        check_from_file(option, value)
        return backend.with_options(**{option: value})
    except (FieldforgeError, ValueError, TypeError, AttributeError) as error:  # of the stage
        said = getattr(error, "message", error)
        raise CapsuleError(
            f"Option '{option}' is {text[:60]}, which this fieldforge refuses: {said}",
            hints=[HINT],
        ) from error
