"""The stages of GTScript: from a definition to its typed tree, and from there to dataflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ...runtime.process import classes
from ..artifacts import Lowered, Spans
from ..base import Artifact, Stage
from ..numerics import EXACTNESS
from ..option_kinds import FLAG, option
from .info import StencilInfo
from .parsed import ParsedStencil


@classes.frozen
class ParseStencil(Stage):
    """Read a `StencilDefinition`: inline functions, give types, and refuse what has no meaning."""

    name: ClassVar[str] = "parse_stencil"
    needs: ClassVar[tuple[str, ...]] = ("definition",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "parsed": ParsedStencil,
        "info": StencilInfo,
        "spans": Spans,
    }

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Parse `definition`."""
        from .parse import parse

        return parse(inputs["definition"])

    def components(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the text, the types of the arguments, and what each name stands for."""
        parts: Mapping[str, str] = inputs["definition"].components()
        return parts


@classes.frozen
class LowerStencil(Stage):
    """Turn the typed tree of a stencil into dataflow, and run the passes of `Lower`.

    Attributes:
        fold: whether the pass `fold_constants` runs on literals and static arguments.
        numerics: the exactness of results: 'strict' keeps them; 'contract' fuses a product and a
            sum into one operation that rounds once, on every backend.
        checked: whether the program is checked, as `Lower` has it.

    """

    name: ClassVar[str] = "lower_stencil"
    needs: ClassVar[tuple[str, ...]] = ("parsed", "variant")
    accepts: ClassVar[Mapping[str, type[Artifact]]] = {"parsed": ParsedStencil}
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"lowered": Lowered}

    fold: bool = option(FLAG, True)
    numerics: str = option(EXACTNESS, "contract")
    checked: bool = option(FLAG, False)

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Lower `parsed` for `variant`."""
        from ..lower.passes import chosen, lower_dataflow
        from .lower.build import build

        passes = chosen(self.fold, self.numerics, self.checked)
        program = build(inputs["parsed"], inputs["variant"])
        return {"lowered": lower_dataflow(program, passes)}

    def after_passes(self, **inputs: Any) -> Mapping[str, str]:
        """Return the listing of the dataflow after each pass."""
        from ..lower.passes import chosen, lower_dataflow
        from .lower.build import build

        texts: dict[str, str] = {}

        def keep(name: str, lowered: Lowered) -> None:
            texts[name] = lowered.text

        passes = chosen(self.fold, self.numerics, self.checked)
        lower_dataflow(build(inputs["parsed"], inputs["variant"]), passes, keep)
        return texts
