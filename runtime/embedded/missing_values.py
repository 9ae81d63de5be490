"""Refuse to write a value that `where` took from outside of a field."""

from __future__ import annotations

import ast
import linecache
from typing import Any

import numpy as np

from ..language.domain import Domain
from ..process.errors import IndexOutOfBounds
from ..process.source import PYTHON_PARSER, Span
from .partial import Choice, PartialField
from .piecewise_field import AnyValue, on_box

SIDES = ("its second argument", "its third argument")


def check_exists(operator: str, name: str, value: AnyValue, box: Domain) -> None:
    """Raise `IndexOutOfBounds` if a point to be written has no valid value; name the operands."""
    if not isinstance(value, PartialField):
        return
    valid = on_box(value.valid, box).ndarray
    if valid.all():
        return
    place = np.unravel_index(int(np.asarray(valid).argmin()), valid.shape)
    index = ", ".join(
        f"{dim.value}={own[int(at)]}" for (dim, own), at in zip(box, place, strict=True)
    )
    raise IndexOutOfBounds(
        f"'{name}' of '{operator}' takes a value that does not exist at {index}: "
        f"{'; or '.join(map(_shown, value.choices))}.",
        hints=["Let the mask select the other side there, or pass larger fields."],
    )


def _shown(choice: Choice) -> str:
    operator, span = choice.place
    texts = _arguments(span)
    sides = (
        f"'{text}' lives on {_ranges(domain)}"
        for text, domain in zip(texts, choice.sides, strict=True)
        if domain is not None
    )
    where = f" (line {span.line} of '{span.file}')" if span else ""
    return f"in 'where' of '{operator}'{where} {', '.join(sides)}"


def _ranges(domain: Domain) -> str:
    return ", ".join(f"{dim.value}={own}" for dim, own in domain if own.is_finite()) or "all points"


def _arguments(span: Span | None) -> tuple[str, str]:
    """Return the source of both sides of a call of `where`, or words for them."""
    if span is None:
        return SIDES
    lines = [linecache.getline(span.file, n) for n in range(span.line, span.end_line + 1)]
    text = "".join(lines).encode()
    last = len(text) - len(lines[-1].encode()) + span.end_column - 1
    source = text[span.column - 1 : last].decode(errors="replace")
    with PYTHON_PARSER:
        call = _parsed(source)
    if not isinstance(call, ast.Call) or len(call.args) != 3:
        return SIDES
    return ast.unparse(call.args[1]), ast.unparse(call.args[2])


def _parsed(source: str) -> Any:
    try:
        return ast.parse(f"({source})", mode="eval").body
    except SyntaxError:  # the file has changed, or there is none
        return None
