"""The stage `parse`: from a decorated function to its typed tree and the places of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from ...runtime.definition import Definition
from ..artifacts import Parsed, Spans
from ..base import Artifact, Stage
from .free_names import callees_of
from .key import components


@attrs.frozen
class Parse(Stage):
    """Read a `Definition`; the operators that it calls are read first, each once."""

    name: ClassVar[str] = "parse"
    needs: ClassVar[tuple[str, ...]] = ("definition",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"parsed": Parsed, "spans": Spans}

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Parse `definition`; `earlier` holds the outputs for `prerequisites`, in their order."""
        from .trees import parse_after, parse_all

        definition: Definition = inputs["definition"]
        earlier: Sequence[Mapping[str, Any]] | None = inputs.get("earlier")
        if earlier is None:
            return parse_all(definition)
        pairs = zip(callees_of(definition), earlier, strict=True)
        return parse_after(definition, {id(each): outputs["parsed"] for each, outputs in pairs})

    def components(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        """Return source, kind, options, and what each free name stands for."""
        return components(inputs["definition"])

    def prerequisites(self, inputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the operators that the definition reaches directly."""
        return tuple({"definition": callee} for callee in callees_of(inputs["definition"]))
