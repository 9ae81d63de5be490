"""Canonical bytes of IR values: a JSON table of tagged rows, shared parts once, no recursion.

Row i is a value with references to earlier rows in place of its parts: `["i", 3]`,
`["f", "0x1.8p+1"]`, `["s", "u"]`, `["t", [0, 2]]` (a tuple), `["d", name, kind]` (a dimension) or
`["dataflow.Map", [4, 1, 7]]` (an attrs class of the IRs, fields in order).
The last row is the value. Equal values have equal bytes.
"""

from __future__ import annotations

import functools
import json
import sys
from types import ModuleType
from typing import Any, Final, TypeAlias

from ...runtime import _values
from ...runtime.language import Dimension
from ...runtime.process import classes

Row: TypeAlias = tuple[Any, ...]

_AS_IS: Final[dict[type, str]] = {bool: "b", int: "i", str: "s"}
_AS_HEX: Final[dict[Any, str]] = {float: "f", bytes: "y"}
_PACKAGE: Final = __name__.removesuffix(".stages.ir.codec")
_STEMS: Final = {
    f"{_PACKAGE}.runtime.calls.plan": "plan",
    f"{_PACKAGE}.runtime.process.source": "source",
    f"{_PACKAGE}.runtime.language.types": "types",
    f"{__package__}.bound_nodes": "bounds",
    f"{__package__}.column_rows": "column",
    **{f"{__package__}.{stem}_rows": stem for stem in ("dataflow", "syntax")},
    **{f"{__package__}.{stem}": stem for stem in ("dataflow", "stencil", "strides", "syntax")},
}


def encode(value: Any) -> bytes:
    """Return the canonical bytes of a value of atoms, tuples and attrs classes of the IRs.

    >>> encode((1, (1, "u")))
    b'[["i",1],["s","u"],["t",[0,1]],["t",[0,2]]]'
    """
    rows = _values.rows(value, _shape, _atom)
    return json.dumps(rows, separators=(",", ":")).encode()


def decode(data: bytes) -> Any:
    """Rebuild the value; damaged bytes raise `ValueError` and nothing else.

    >>> decode(encode((1, (1, "u"))))
    (1, (1, 'u'))
    """
    try:
        table = json.loads(data)
        if not isinstance(table, list) or not table:
            raise ValueError("A table of rows is missing.")
        values: list[Any] = []
        for row in table:
            values.append(_value(row, values))
    except (
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ValueError(f"A row does not fit its tag: {error}.") from error
    return values[-1]


def _atom(value: Any) -> Row:
    kind = type(value)
    if value is None:
        return ("n",)
    if kind in _AS_IS:
        return (_AS_IS[kind], value)
    if kind in _AS_HEX:
        return (_AS_HEX[kind], value.hex())
    if kind is Dimension:
        return ("d", value.value, str(value.kind))
    raise TypeError(f"Cannot encode a value of type '{kind.__qualname__}'.")


def _value(row: Any, values: list[Any]) -> Any:
    if not isinstance(row, list):
        raise ValueError(f"{row!r} is not a row.")
    tag, *payload = row
    if tag == "n" and not payload:
        return None
    if tag == "d":
        name, kind = payload
        return Dimension(_text(name), _text(kind))  # type: ignore[arg-type]  # it takes the name of a kind
    (content,) = payload
    if tag == "t":
        return tuple(_refer(content, values))
    if tag == _AS_IS.get(type(content)):
        return content
    for kind, own in _AS_HEX.items():
        if tag == own:
            return kind.fromhex(content)
    member = _class(tag)
    parts = _refer(content, values)
    names = _fields(member)
    if len(names) != len(parts):
        raise ValueError(f"'{tag}' has {len(names)} fields, got {len(parts)}.")
    return member(**dict(zip(names, parts, strict=True)))


def _refer(references: Any, values: list[Any]) -> list[Any]:
    for reference in references:
        if type(reference) is not int or reference < 0:
            raise ValueError(f"{reference!r} is not a row number.")
    return [values[reference] for reference in references]


def _text(content: Any) -> str:
    if type(content) is not str:
        raise ValueError(f"Expected text, got {content!r}.")
    return content


# --- classes and their tags; a module of IR values is imported when the first of them is met ----


@functools.lru_cache(maxsize=256)
def _tag(kind: type) -> str | None:
    """Return the tag of an attrs class of the IRs, None for every other class."""
    stem = _STEMS.get(kind.__module__)
    if stem is None or getattr(sys.modules[kind.__module__], kind.__name__, None) is not kind:
        return None
    return f"{stem}.{kind.__name__}" if classes.has(kind) else None


@functools.lru_cache(maxsize=256)
def _shape(kind: type) -> tuple[str, tuple[str, ...] | None] | None:
    """Return tag and fields of a class, None for those of atoms."""
    if kind is tuple:
        return "t", None
    tag = _tag(kind)
    return None if tag is None else (tag, _fields(kind))


@functools.lru_cache(maxsize=256)
def _class(tag: str) -> type:
    stem, _, name = tag.partition(".")
    found = getattr(_module(stem), name)
    if not isinstance(found, type) or _tag(found) != tag:
        raise ValueError(f"'{tag}' is no class of the IRs.")
    return found


@functools.lru_cache(maxsize=256)
def _fields(member: type) -> tuple[str, ...]:
    """Return the fields that take part in equality; the others are not part of the value."""
    return tuple(field.name for field in classes.fields(member) if field.eq)


def _module(stem: str) -> ModuleType:
    """Import a module of IR classes; each name is spelled out, so that keys see the module."""
    match stem:
        case "plan":
            from ...runtime.calls import plan

            return plan
        case "source":
            from ...runtime.process import source

            return source
        case "types":
            from ...runtime.language import types

            return types
        case "bounds":
            from . import bound_nodes

            return bound_nodes
        case "column":
            from . import column_rows

            return column_rows
        case "dataflow":
            from . import dataflow

            return dataflow
        case "stencil":
            from . import stencil

            return stencil
        case "strides":
            from . import strides

            return strides
        case "syntax":
            from . import syntax

            return syntax
    raise ValueError(f"There are no IR values '{stem}'.")
