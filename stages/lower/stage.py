"""The stage `lower`: from a typed tree to dataflow, by the passes that its options ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs

from ...runtime.errors import OptionError
from ..artifacts import Lowered
from ..base import Artifact, Stage

NUMERICS: Final = ("strict", "contract", "fast")


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

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Lower `parsed` for `variant`."""
        from .passes import chosen, lower

        return {"lowered": lower(inputs["parsed"], inputs["variant"], chosen(self.fold))}
