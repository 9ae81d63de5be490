"""Read and change the options of stages."""

from __future__ import annotations

from typing import Any

from ...runtime.process import classes, warn_of_old
from ...stages import Stage, kind_of, old_names


def options_of(stage: Stage) -> tuple[str, ...]:
    """Return the names of a stage's options."""
    kind: Any = type(stage)
    if not classes.has(kind):
        return ()
    return tuple(field.name for field in classes.fields(kind) if field.init)


def name_of_option(kind: type, option: str) -> str:
    """Return the name of a stage's option, with a warning if it is given by a deprecated one."""
    name = old_names(kind).get(option, option)
    if name != option:
        warn_of_old(f"Option '{option}' is now '{name}': write '{name}' instead.")
    return name


def with_option(stage: Stage, option: str, value: Any) -> Stage:
    """Return a stage with one option changed."""
    kept: Any = stage
    kind = next(kind_of(each) for each in classes.fields(type(kept)) if each.name == option)
    value = kind.converted(value, f"Option '{option}'") if kind is not None else value
    changed: Stage = classes.evolve(kept, **{option: value})
    return changed
