"""The stage `lower`: from a typed tree to dataflow, by the passes that its options select."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...runtime.process import classes
from .. import EXACTNESS, FLAG, Artifact, Lowered, Parsed, Stage, Variant, option

if TYPE_CHECKING:  # a start from the store lowers nothing, see decision 0005
    from ..ir.dataflow import Dataflow
    from .passes import Watch


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
        return {"lowered": self._lowered(inputs)}

    def after_passes(self, **inputs: Any) -> Mapping[str, str]:
        """Return the listing of the dataflow after each pass."""
        texts: dict[str, str] = {}
        self._lowered(inputs, lambda name, lowered: texts.update({name: lowered.text}))
        return texts

    def _lowered(self, inputs: Mapping[str, Any], *watch: Watch) -> Lowered:
        from .passes import chosen, lower_dataflow

        program = self._built(inputs["parsed"], inputs["variant"])
        return lower_dataflow(program, chosen(self.fold, self.numerics, self.checked), *watch)

    def _built(self, parsed: Any, variant: Variant) -> Dataflow:
        """Return the dataflow of a typed tree, before all passes."""
        from .build import build

        return build(parsed, variant)
