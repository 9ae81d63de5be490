"""The option that lists DaCe's transformations in order: names, or the user's functions.

This module imports neither DaCe nor the passes, because a warm start reads the option.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import attrs

from ....runtime.process.errors import OptionError
from ...base import Stage
from ...option_kinds import Kind, listed, one_of

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
FUSION: Final = one_of(FUSIONS)
DACE_PASSES: Final = ("simplify", "fuse_vertical", "block", "unroll_scans")


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


SDFG_PASSES: Final = Kind(
    "a list of names of passes over SDFGs and of named functions",
    lambda value: isinstance(value, tuple),
    listed,
    then=check_sdfg_passes,
)
LAUNCH_BOUNDS: Final = Kind(
    "a number of threads as text, or an empty text",
    lambda value: isinstance(value, str) and (not value or (value.isdecimal() and len(value) < 5)),
    lambda value: value if isinstance(value, bool) or not isinstance(value, int) else str(value),
)
