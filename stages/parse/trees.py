"""Typed trees of definitions: one after its callees, or one with everything that it reaches."""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.definition import Definition
from ..artifacts import Parsed
from ..base import Artifact
from .definition import parse_definition
from .free_names import callees_of, reached_operators


def parse_all(definition: Definition) -> Mapping[str, Artifact]:
    """Parse a definition after everything that it reaches; a worklist, callees first."""
    trees: dict[int, Parsed] = {}
    begun: set[int] = set()
    stack = [definition]
    while len(stack) > 1 or id(definition) not in begun:
        current = stack[-1]
        callees = [each for each in callees_of(current) if id(each) not in begun]
        begun.add(id(current))
        if callees:
            stack += callees
            continue
        if current is definition:
            break
        stack.pop()
        if id(current) not in trees:
            trees[id(current)] = parse_definition(current, _among(trees, current))[0]
    return parse_after(definition, trees)


def parse_after(definition: Definition, trees: Mapping[int, Parsed]) -> Mapping[str, Artifact]:
    """Parse a definition whose callees are parsed; `trees` has them by identity."""
    parsed, spans = parse_definition(definition, _among(trees, definition))
    return {"parsed": parsed, "spans": spans}


def _among(trees: Mapping[int, Parsed], definition: Definition) -> dict[str, Parsed]:
    paths = reached_operators(definition).items()
    return {path: trees[id(each)] for path, each in paths if id(each) in trees}
