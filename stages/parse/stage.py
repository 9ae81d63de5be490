"""The stage `parse`: from a decorated function to its typed tree and the places of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from ...runtime.definition import Definition
from ..artifacts import Parsed, Spans
from ..base import Artifact, Stage
from .closure import reached_operators
from .definition import parse_definition
from .key import components


@attrs.frozen
class Parse(Stage):
    """Read a `Definition`; the operators that it calls are read first, each once."""

    name: ClassVar[str] = "parse"
    needs: ClassVar[tuple[str, ...]] = ("definition",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"parsed": Parsed, "spans": Spans}

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Parse `definition`; `earlier` holds the outputs for `prerequisites`, in their order."""
        definition: Definition = inputs["definition"]
        earlier: Sequence[Mapping[str, Any]] | None = inputs.get("earlier")
        if earlier is None:
            return parse_all(definition)
        trees = {
            id(callee): outputs["parsed"]
            for callee, outputs in zip(_callees(definition), earlier, strict=True)
        }
        return _outputs(definition, trees)

    def components(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        """Return source, kind, options, and what each free name stands for."""
        return components(inputs["definition"])

    def prerequisites(self, inputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the operators that the definition reaches directly."""
        return tuple({"definition": callee} for callee in _callees(inputs["definition"]))


def parse_all(definition: Definition) -> Mapping[str, Artifact]:
    """Parse a definition after everything that it reaches; a worklist, callees first."""
    trees: dict[int, Parsed] = {}
    begun: set[int] = set()
    stack = [definition]
    while len(stack) > 1 or id(definition) not in begun:
        current = stack[-1]
        callees = [each for each in _callees(current) if id(each) not in begun]
        begun.add(id(current))
        if callees:
            stack += callees
            continue
        if current is definition:
            break
        stack.pop()
        if id(current) not in trees:
            parsed = _outputs(current, trees)["parsed"]
            assert isinstance(parsed, Parsed)  # that is what the port holds
            trees[id(current)] = parsed
    return _outputs(definition, trees)


def _callees(definition: Definition) -> tuple[Definition, ...]:
    """Return the operators that a definition reaches, each once, sorted by path."""
    unique = {id(each): each for each in reached_operators(definition).values()}
    return tuple(each for each in unique.values() if each is not definition)


def _outputs(definition: Definition, trees: Mapping[int, Parsed]) -> Mapping[str, Artifact]:
    paths = reached_operators(definition).items()
    callees = {path: trees[id(each)] for path, each in paths if id(each) in trees}
    parsed, spans = parse_definition(definition, callees)
    return {"parsed": parsed, "spans": spans}
