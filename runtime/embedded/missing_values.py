"""Refuse to write a value from outside of a field, or from a missing neighbour."""

from __future__ import annotations

import ast
import linecache
from typing import Any, Final

import numpy as np

from ..fields import view_on
from ..language import Domain
from ..process import PYTHON_PARSER, IndexOutOfBounds, Span
from .origins import VALID, Choice, MissingNeighbour, origin_of
from .partial import PartialField
from .piecewise_field import AnyValue, on_box

SIDES = ("its second argument", "its third argument")
_IN_MASK: Final = "Let the mask select the other side there, or pass larger fields."
_OTHER_VALUE: Final = "Take another value there with 'where' or 'concat_where'."


def check_exists(operator: str, name: str, value: AnyValue, box: Domain) -> None:
    """Raise `IndexOutOfBounds` if a point to be written has no valid value; say what it lacks."""
    if not isinstance(value, PartialField):
        return
    lack = np.where(_is_slot_without_neighbour(value, box), 0, on_box(value.lack, box).ndarray)
    if not (lack > VALID).any():
        return
    place = np.unravel_index(int((lack > VALID).argmax()), lack.shape)
    index = ", ".join(
        f"{dim.value}={own[int(at)]}" for (dim, own), at in zip(box, place, strict=True)
    )
    origin = origin_of(int(lack[place]), value.origins)
    if isinstance(origin, MissingNeighbour):
        why, hint = _missing(origin, int(lack[place])), _OTHER_VALUE
    else:
        why, hint = _outside(origin), _IN_MASK
    raise IndexOutOfBounds(
        f"'{name}' of '{operator}' takes a value that does not exist at {index}: {why}.",
        hints=[hint],
    )


def _is_slot_without_neighbour(value: PartialField, box: Domain) -> Any:
    """Return the slots that are written although no neighbour is there: they are undefined."""
    found = np.zeros(box.shape, np.bool_)
    for origin in value.origins:
        if not isinstance(origin, MissingNeighbour) or origin.slot is not None:
            continue
        table, own = origin.table, dict(origin.table.domain)
        met = Domain(*((dim, given & own.get(dim, given)) for dim, given in box))
        if own.keys() <= set(box.dims) and not met.is_empty():
            part = view_on(found, box, met)
            part |= view_on(~table.valid(), table.domain, met)
    return found


def _missing(origin: MissingNeighbour, code: int) -> str:
    row, slot = origin.entry(code)
    return (
        f"table '{origin.name}' has no neighbour in slot {slot} of "
        f"{origin.table.dims[0].value}={row}{_line(origin.place[1])}"
    )


def _outside(choice: Choice) -> str:
    operator, span = choice.place
    texts = _arguments(span)
    sides = (
        f"'{text}' lives on {_ranges(domain)}"
        for text, domain in zip(texts, choice.sides, strict=True)
        if domain is not None
    )
    return f"in 'where' of '{operator}'{_line(span)} {', '.join(sides)}"


def _line(span: Span | None) -> str:
    return f" (line {span.line} of '{span.file}')" if span else ""


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
