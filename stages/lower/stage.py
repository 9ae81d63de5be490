"""The stage `lower`: from a typed tree to dataflow, by the passes that its options select."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ...runtime.process import classes
from ..artifacts import Lowered, Parsed
from ..base import Artifact, Stage
from ..numerics import EXACTNESS
from ..option_kinds import FLAG, option


@classes.frozen
class Lower(Stage):
    """Inline operators, fold constants, push shifts to the inputs, and infer boxes.

    Attributes:
        fold: whether the pass `fold_constants` runs on literals and static arguments.
        numerics: the exactness of results: 'strict' keeps them; 'contract' fuses a product and a
            sum into one operation that rounds once, on every backend.
        checked: whether neighbours stay in places where a missing one is visible;
            `program.checked` sets it.

    """

    name: ClassVar[str] = "lower"
    is_awaited: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("parsed", "variant")
    accepts: ClassVar[Mapping[str, type[Artifact]]] = {"parsed": Parsed}
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"lowered": Lowered}

    fold: bool = option(FLAG, True)
    numerics: str = option(EXACTNESS, "contract")
    checked: bool = option(FLAG, False)

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Lower `parsed` for `variant`."""
        from .passes import chosen, lower

        passes = chosen(self.fold, self.numerics, self.checked)
        return {"lowered": lower(inputs["parsed"], inputs["variant"], passes)}

    def after_passes(self, **inputs: Any) -> Mapping[str, str]:
        """Return the listing of the dataflow after each pass."""
        from .passes import chosen, lower

        texts: dict[str, str] = {}

        def keep(name: str, lowered: Lowered) -> None:
            texts[name] = lowered.text

        passes = chosen(self.fold, self.numerics, self.checked)
        lower(inputs["parsed"], inputs["variant"], passes, keep)
        return texts
