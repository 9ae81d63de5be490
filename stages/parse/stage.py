"""The stages `check` and `parse`: from a decorated function to its summary, and to its tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ...runtime.process import classes
from .. import Artifact, Parsed, Spans, Stage
from .key import components
from .summary import Summary


@classes.frozen
class Check(Stage):
    """Parse a `Definition` and keep only the summary that calls need.

    Decorators run this stage. Its result does not grow with what the definition reaches, so
    decorating n functions that call each other takes n steps.
    """

    name: ClassVar[str] = "check"
    is_awaited: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("definition",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"summary": Summary}

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Parse `definition`."""
        from .trees import summary_of

        return {"summary": summary_of(inputs["definition"])}

    def components(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        """Return source, kind, options, and what each free name stands for."""
        return components(inputs["definition"])


@classes.frozen
class Parse(Stage):
    """Read a `Definition` and the operators that it calls, each once."""

    name: ClassVar[str] = "parse"
    is_awaited: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("definition",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"parsed": Parsed, "spans": Spans}

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Parse `definition`."""
        from .trees import parse_all

        return parse_all(inputs["definition"])

    def components(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        """Return source, kind, options, and what each free name stands for."""
        return components(inputs["definition"])
