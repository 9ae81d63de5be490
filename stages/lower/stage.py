"""The stage that turns a typed tree into dataflow, and the passes in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias

import attrs

from ...runtime.errors import OptionError
from ..artifacts import Lowered, Parsed, Variant
from ..base import Artifact, Stage
from ..ir.dataflow import Dataflow
from ..ir.verify import verify
from .build import build
from .fold_constants import fold_constants
from .infer_boxes import infer_boxes
from .push_shifts import push_shifts
from .remove_dead import remove_dead

Pass: TypeAlias = Callable[[Dataflow], Dataflow]
Watch: TypeAlias = Callable[[str, Lowered], None]

NUMERICS: Final = ("strict", "contract", "fast")
PASSES: Final[tuple[Pass, ...]] = (fold_constants, push_shifts, remove_dead)


def ignore(name: str, lowered: Lowered) -> None:
    """Watch nothing."""


def lower(
    parsed: Parsed, variant: Variant, passes: tuple[Pass, ...] = PASSES, watch: Watch = ignore
) -> Lowered:
    """Build dataflow, apply `passes` in order, infer boxes; every step leaves a valid program.

    `watch` sees the program after each step, under the name of the step; boxes and reads are
    empty until the last one, `infer_boxes`.
    """
    program = build(parsed, variant)
    watch("build", verify(Lowered(program)))
    for step in passes:
        program = step(program)
        watch(step.__name__, verify(Lowered(program)))
    lowered = verify(infer_boxes(program))
    watch("infer_boxes", lowered)
    return lowered


def _check_numerics(_: Lower, __: object, value: str) -> None:
    if value not in NUMERICS:
        raise OptionError(
            f"Option 'numerics' of stage 'lower' cannot be '{value}'.", name=value, known=NUMERICS
        )
    if value != "strict":
        raise OptionError(
            f"Option 'numerics' of stage 'lower' cannot be '{value}' yet.",
            hints=("Only 'strict' is implemented; fused multiply-add comes with 'contract'.",),
        )


@attrs.frozen
class Lower(Stage):
    """Inline operators, fold what is known, normalise shifts, infer what is needed where.

    `fold` says whether operations on literals and static arguments are computed before the
    program runs; `numerics` says what may change results: 'strict' changes none.
    """

    name: ClassVar[str] = "lower"
    needs: ClassVar[tuple[str, ...]] = ("parsed", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"lowered": Lowered}

    fold: bool = True
    numerics: str = attrs.field(default="strict", validator=_check_numerics)

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes that the options ask for."""
        return tuple(step for step in PASSES if self.fold or step is not fold_constants)

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Lower `parsed` for `variant`."""
        return {"lowered": lower(inputs["parsed"], inputs["variant"], self.passes)}
