"""Make a stencil that disagrees small: cut statements and pieces of expressions."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...stages.gtscript.cases import Case
from ..shrinking import BATCH, _children, _put

Fails = Callable[[Sequence[Case]], list[Case]]


def shrink(case: Case, fails: Fails, seconds: float) -> Case:
    """Return the smallest case found in that time that still fails in the same way."""
    deadline, best, seen = time.monotonic() + seconds, case, {case["text"]}
    place = 0
    while time.monotonic() < deadline:
        candidates = [each for each in _smaller(best) if each["text"] not in seen]
        candidates = candidates[place:] + candidates[:place]  # go on where the last one was found
        for start in range(0, len(candidates), BATCH):
            batch = candidates[start : start + BATCH]
            seen.update(each["text"] for each in batch)
            failing = fails(batch)
            if failing:
                best, place = min(failing, key=lambda each: len(each["text"])), place + start
                break
            if time.monotonic() > deadline:
                return best
        else:
            return best
        place %= max(len(candidates), 1)
    return best


def _smaller(case: Case) -> Iterator[Case]:
    tree = ast.parse(case["text"])
    for change in _changes(tree):
        changed = copy.deepcopy(tree)
        change(list(ast.walk(changed)))
        text = ast.unparse(ast.fix_missing_locations(changed)) + "\n"
        if len(text) < len(case["text"]):
            yield {**case, "text": text}


def _changes(tree: ast.Module) -> Iterator[Callable[[list[ast.AST]], None]]:
    """Yield changes to the nodes of a copy of the tree."""
    nodes = list(ast.walk(tree))
    number = {id(node): place for place, node in enumerate(nodes)}
    for place, node in enumerate(nodes):
        body: Any = getattr(node, "body", None)
        if isinstance(body, list) and not isinstance(node, ast.Module):
            yield from _statement_changes(place, node, body)
        for child in _children(node):
            inner = number[id(child)]
            yield lambda copied, place=place, inner=inner: _replace(copied, place, inner)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            inner = number[id(node.value)]
            yield lambda copied, place=place, inner=inner: _replace(copied, place, inner)
    yield lambda copied: copied[0].body.__delitem__(slice(0, -1))  # type: ignore[attr-defined]


def _statement_changes(
    place: int, node: ast.AST, body: list[ast.stmt]
) -> Iterator[Callable[[list[ast.AST]], None]]:
    for index, statement in enumerate(body):
        if len(body) > 1:
            yield lambda copied, index=index: copied[place].body.pop(index)  # type: ignore[attr-defined]
        if isinstance(statement, ast.If) or (
            isinstance(statement, ast.With) and "horizontal" in ast.unparse(statement.items[0])
        ):

            def flat(copied: list[Any], index: int = index) -> None:
                inner = copied[place].body
                inner[index : index + 1] = inner[index].body

            yield flat
    if isinstance(node, ast.If) and node.orelse:
        yield lambda copied: setattr(copied[place], "orelse", [])


def _replace(nodes: list[ast.AST], place: int, inner: int) -> None:
    for parent in nodes:
        if _put(parent, nodes[place], nodes[inner]):
            return
