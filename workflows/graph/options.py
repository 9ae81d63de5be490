"""Read and change the options of stages."""

from __future__ import annotations

from typing import Any

import attrs

from ...stages.base import Stage


def options_of(stage: Stage) -> tuple[str, ...]:
    """Return the names of a stage's options."""
    kind: Any = type(stage)
    if not attrs.has(kind):
        return ()
    return tuple(field.name for field in attrs.fields(kind) if field.init)


def with_option(stage: Stage, option: str, value: Any) -> Stage:
    """Return a stage with one option changed."""
    kept: Any = stage
    changed: Stage = attrs.evolve(kept, **{option: value})
    return changed
