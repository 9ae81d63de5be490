"""The option that lists DaCe's transformations in order: names, or the user's functions.

This module imports neither DaCe nor the passes, because a warm start reads the option.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import attrs

from ....runtime.process.errors import OptionError
from ...base import Stage

SdfgPass: TypeAlias = str | Callable[..., Any]

# `passes.py` describes each beside its function.
KNOWN: Final = (
    "simplify",
    "fuse_vertical",
    "fuse_horizontal",
    "fuse_tasklets",
    "block",
    "unroll_scans",
)
FUSIONS: Final = ("schedule", "dace")
DACE_PASSES: Final = ("simplify", "fuse_vertical", "block", "unroll_scans")


def check_flag(stage: Stage, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse values other than True and False."""
    if not isinstance(value, bool):
        raise OptionError(
            f"Option '{field.name}' of stage '{stage.name}' is True or False, got {value!r}."
        )


def check_count(stage: Stage, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse values that are no count."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise OptionError(
            f"Option '{field.name}' of stage '{stage.name}' is a number of 0 or more, "
            f"got {value!r}."
        )


def check_seconds(stage: Stage, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse values that are no time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise OptionError(
            f"Option '{field.name}' of stage '{stage.name}' is a number of seconds, got {value!r}."
        )


def check_fusion(stage: Stage, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse values other than the known choices of fusion."""
    if value not in FUSIONS:
        raise OptionError(
            f"Option '{field.name}' of stage '{stage.name}' is one of {FUSIONS}, got {value!r}.",
            name=str(value),
            known=FUSIONS,
        )


def name_of(step: SdfgPass) -> str:
    """Return the name of a pass: itself, or that of the function."""
    return step if isinstance(step, str) else step.__name__


def check_sdfg_passes(stage: Stage, _: attrs.Attribute[Any], passes: tuple[SdfgPass, ...]) -> None:
    """Refuse unknown names, and functions without a name."""
    for step in passes:
        if isinstance(step, str):
            if step not in KNOWN:
                raise OptionError(
                    f"Stage '{stage.name}' knows no pass '{step}'.", name=step, known=KNOWN
                )
        elif not callable(step) or getattr(step, "__name__", "<lambda>") == "<lambda>":
            raise OptionError(
                f"A pass over SDFGs is a named function of one SDFG, got {step!r}.",
                hints=("Write 'def my_pass(sdfg): ...'.",),
            )
