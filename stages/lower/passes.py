"""The pipeline of passes from a typed tree to dataflow with inferred boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ..artifacts import Lowered, Parsed, Variant
from ..ir.dataflow import Dataflow
from ..ir.verify import verify
from .boxes.infer_boxes import infer_boxes
from .build import build
from .contract import contract
from .fold_constants import fold_constants
from .push_shifts import push_checked_shifts, push_shifts
from .rewrite import remove_dead
from .split_regions import split_regions

Pass: TypeAlias = Callable[[Dataflow], Dataflow]
Watch: TypeAlias = Callable[[str, Lowered], None]

PASSES: Final[tuple[Pass, ...]] = (fold_constants, push_shifts, split_regions, remove_dead)


def chosen(fold: bool, numerics: str, checked: bool = False) -> tuple[Pass, ...]:
    """Return the passes for the options of stage `lower`."""
    passes = tuple(step for step in PASSES if fold or step is not fold_constants)
    if checked:
        passes = tuple(push_checked_shifts if step is push_shifts else step for step in passes)
    return passes if numerics == "strict" else (*passes, contract)


def ignore(name: str, lowered: Lowered) -> None:
    """Do nothing after a pass."""


def lower(
    parsed: Parsed, variant: Variant, passes: tuple[Pass, ...] = PASSES, watch: Watch = ignore
) -> Lowered:
    """Build dataflow, apply `passes` in order, infer boxes, and verify the program.

    `watch` receives the name of each step and the program after it; boxes and reads are empty until
    the last step, `infer_boxes`.
    """
    return lower_dataflow(build(parsed, variant), passes, watch)


def lower_dataflow(
    program: Dataflow, passes: tuple[Pass, ...] = PASSES, watch: Watch = ignore
) -> Lowered:
    """Apply `passes` to dataflow of any language, infer boxes, and verify the program.

    Where a step fails, or the result breaks a rule, the error names the first program that breaks
    one.
    """
    programs = [program]
    try:
        watch("build", Lowered(program))
        for step in passes:
            programs.append(step(programs[-1]))
            watch(step.__name__, Lowered(programs[-1]))
        lowered = verify(infer_boxes(programs[-1]))
    except Exception:
        for each in programs:
            verify(Lowered(each))
        raise
    watch("infer_boxes", lowered)
    return lowered
