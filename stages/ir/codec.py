"""Canonical bytes of IR values: a JSON table of tagged rows, shared parts once, no recursion.

Row i is what remains of a value when its parts are replaced by references to
earlier rows: `["i", 3]`, `["f", "0x1.8p+1"]`, `["s", "u"]`, `["t", [0, 2]]` (a tuple),
`["d", name, kind]` (a dimension) or `["dataflow.Map", [4, 1, 7]]` (an attrs class of the
IRs, fields in order).
The last row is the value. Equal values have equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

import attrs

from ...runtime import plan, source, types
from ...runtime.dimension import Dimension
from . import bounds, dataflow, syntax

Row: TypeAlias = tuple[Any, ...]


def _classes() -> dict[str, type]:
    found: dict[str, type] = {}
    for module in (types, source, plan, bounds, syntax, dataflow):
        stem = module.__name__.rpartition(".")[2]
        for name, member in sorted(vars(module).items()):
            if attrs.has(member) and member.__module__ == module.__name__:
                found[f"{stem}.{name}"] = member
    return found


def _fields(member: type) -> tuple[str, ...]:
    """Return the fields that count: those outside equality are not part of the value."""
    return tuple(field.name for field in attrs.fields(member) if field.eq)


CLASSES = _classes()
TAGS = {member: tag for tag, member in CLASSES.items()}
FIELDS = {member: _fields(member) for member in TAGS}


def register(member: type) -> type:
    """Let a frozen attrs class take part; for IRs that are defined outside `stages/ir`."""
    tag = f"{member.__module__.rpartition('.')[2]}.{member.__name__}"
    if CLASSES.setdefault(tag, member) is not member:
        raise ValueError(f"Tag '{tag}' already stands for '{CLASSES[tag].__module__}'.")
    TAGS[member] = tag
    FIELDS[member] = _fields(member)
    return member


def encode(value: Any) -> bytes:
    """Return the canonical bytes of a value made of atoms, tuples and registered classes.

    >>> encode((1, (1, "u")))
    b'[["i",1],["s","u"],["t",[0,1]],["t",[0,2]]]'
    """
    rows: dict[Row, int] = {}
    done: dict[int, int] = {}  # row by identity: a shared part is walked once
    stack: list[tuple[Any, tuple[Any, ...] | None]] = [(value, None)]
    while stack:
        part, children = stack.pop()
        if children is not None:
            references = tuple(done[id(child)] for child in children)
            row: Row = ("t" if type(part) is tuple else TAGS[type(part)], references)
        elif id(part) in done:
            continue
        elif type(part) is tuple or type(part) in TAGS:
            children = part if type(part) is tuple else _parts(part)
            stack.append((part, children))
            stack += [(child, None) for child in reversed(children)]
            continue
        else:
            row = _atom(part)
        done[id(part)] = rows.setdefault(row, len(rows))
    return json.dumps(list(rows), separators=(",", ":")).encode()


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
    except ValueError:
        raise
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


def _parts(part: Any) -> tuple[Any, ...]:
    return tuple(getattr(part, name) for name in FIELDS[type(part)])


def _atom(value: Any) -> Row:
    kind = type(value)
    if value is None:
        return ("n",)
    if kind is bool:
        return ("b", value)
    if kind is int:
        return ("i", value)
    if kind is float:
        return ("f", value.hex())
    if kind is str:
        return ("s", value)
    if kind is bytes:
        return ("y", value.hex())
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
    if tag == "b" and type(content) is bool:
        return content
    if tag == "i" and type(content) is int:
        return content
    if tag == "f":
        return float.fromhex(content)
    if tag == "s":
        return _text(content)
    if tag == "y":
        return bytes.fromhex(content)
    member = CLASSES[tag]
    parts = list(_refer(content, values))
    names = FIELDS[member]
    if len(names) != len(parts):
        raise ValueError(f"'{tag}' has {len(names)} fields, got {len(parts)}.")
    return member(**dict(zip(names, parts, strict=True)))


def _refer(references: Any, values: list[Any]) -> Iterable[Any]:
    for reference in references:
        if type(reference) is not int or reference < 0:
            raise ValueError(f"{reference!r} is not a row number.")
        yield values[reference]


def _text(content: Any) -> str:
    if type(content) is not str:
        raise ValueError(f"Expected text, got {content!r}.")
    return content
