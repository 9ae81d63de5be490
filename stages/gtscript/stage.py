"""The stages of GTScript: from a definition to its typed tree, and from there to dataflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...runtime.process import classes
from .. import Artifact, Spans, Stage, Variant
from ..lower.stage import Lower
from .info import StencilInfo
from .parsed import ParsedStencil

if TYPE_CHECKING:  # as for `Lower`
    from ..ir.dataflow import Dataflow


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
class LowerStencil(Lower):
    """Turn the typed tree of a stencil into dataflow; passes and options are those of `Lower`."""

    name: ClassVar[str] = "lower_stencil"
    is_awaited: ClassVar[bool] = True
    accepts: ClassVar[Mapping[str, type[Artifact]]] = {"parsed": ParsedStencil}

    def _built(self, parsed: Any, variant: Variant) -> Dataflow:
        from .lower.build import build

        return build(parsed, variant)
