"""Which of DaCe's transformations run on an SDFG, in which order: names, or the user's functions.

An option of the stage holds such a list, so this module imports neither DaCe nor the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import attrs

from ....runtime.process.errors import OptionError
from ...base import Stage

SdfgPass: TypeAlias = str | Callable[..., Any]

# What each does stands beside its function in `passes.py`.
KNOWN: Final = (
    "simplify",
    "fuse_vertical",
    "fuse_horizontal",
    "fuse_tasklets",
    "block",
    "unroll_scans",
)
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
