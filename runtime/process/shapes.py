"""Check data from files against a declared shape: JSON and TOML, read with limits.

A shape is a function from a value and its place to the value, or a `ShapeError`:

>>> point = table(name=text, at=list_of(whole))
>>> parse_json('{"name": "u", "at": [1, 2]}', point)
{'name': 'u', 'at': [1, 2]}
>>> parse_json('{"name": "u", "at": [1, "2"]}', point)
Traceback (most recent call last):
    ...
fieldforge.runtime.process.shapes.ShapeError: 'at[1]' must be an integer, got '2'
"""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias

Shape: TypeAlias = Callable[[Any, str], Any]

MOST_TEXT: Final = 16 << 20  # bytes of one JSON table or TOML file
_SHOWN: Final = 60  # letters of a wrong value in a message
_INT64: Final = range(-(2**63), 2**63)


class ShapeError(ValueError):
    """Data that are not of the declared shape; the message has no full stop, to be quoted."""


def parse_json(content: bytes | str, shape: Shape) -> Any:
    """Read JSON of a shape; damaged, huge or too deeply nested text is a `ShapeError`."""
    _check_size(content)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:  # the second for too many brackets
        raise ShapeError(f"it is no JSON: {error}") from error
    return shape(found, "")


def read_json(path: str | os.PathLike[str], shape: Shape) -> Any:
    """Read a JSON file of a shape: an `OSError` if it cannot be read, else as `parse_json`."""
    return parse_json(_content(path), shape)


def read_toml(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """Return the text and the tables of a TOML file.

    Raises:
        OSError: if the file cannot be read.
        ShapeError: if it is no TOML, or is too long.

    """
    try:
        found = _content(path).decode().replace("\r\n", "\n")
        return found, tomllib.loads(found)
    except (ValueError, RecursionError) as error:
        raise ShapeError(str(error).rstrip(".")) from error


def anything(value: Any, _: str = "") -> Any:
    """Take any value: its reader checks it."""
    return value


def text(value: Any, at: str = "") -> Any:
    """Take a string."""
    return value if isinstance(value, str) else _refuse(at, "text", value)


def truth(value: Any, at: str = "") -> Any:
    """Take true or false."""
    return value if isinstance(value, bool) else _refuse(at, "true or false", value)


def whole(value: Any, at: str = "") -> Any:
    """Take an integer of 64 bits."""
    fits = isinstance(value, int) and not isinstance(value, bool) and value in _INT64
    return value if fits else _refuse(at, "an integer", value)


def count(value: Any, at: str = "") -> Any:
    """Take an integer of 64 bits that is not negative."""
    return value if whole(value, at) >= 0 else _refuse(at, "0 or more", value)


def real(value: Any, at: str = "") -> Any:
    """Take a number, which may be infinite or not-a-number; integers have 64 bits."""
    return value if isinstance(value, float) else whole(value, at)


def number(value: Any, at: str = "") -> Any:
    """Take a finite number."""
    return value if math.isfinite(real(value, at)) else _refuse(at, "a finite number", value)


def positive(value: Any, at: str = "") -> Any:
    """Take a finite number above zero."""
    return value if number(value, at) > 0 else _refuse(at, "more than 0", value)


def one_of(*values: Any) -> Shape:
    """Return the shape of one of these values."""

    def check(value: Any, at: str = "") -> Any:
        fits = any(type(value) is type(each) and value == each for each in values)
        return value if fits else _refuse(at, f"one of {', '.join(map(repr, values))}", value)

    return check


def nullable(shape: Shape) -> Shape:
    """Return the shape of null or a value of a shape."""

    def check(value: Any, at: str = "") -> Any:
        return None if value is None else shape(value, at)

    return check


def list_of(shape: Shape) -> Shape:
    """Return the shape of a list."""

    def check(value: Any, at: str = "") -> Any:
        if not isinstance(value, list):
            _refuse(at, "a list", value)
        return [shape(each, f"{at}[{place}]") for place, each in enumerate(value)]

    return check


def row(*shapes: Shape) -> Shape:
    """Return the shape of a list with a fixed number of parts."""

    def check(value: Any, at: str = "") -> Any:
        if not isinstance(value, list) or len(value) != len(shapes):
            _refuse(at, f"a list of {len(shapes)}", value)
        parts = zip(shapes, value, strict=True)
        return [shape(each, f"{at}[{place}]") for place, (shape, each) in enumerate(parts)]

    return check


def mapping(shape: Shape) -> Shape:
    """Return the shape of values under names."""

    def check(value: Any, at: str = "") -> Any:
        if not isinstance(value, dict):
            _refuse(at, "a table", value)
        return {name: shape(each, _below(at, name)) for name, each in value.items()}

    return check


def table(optional: Collection[str] = (), /, **shapes: Shape) -> Shape:
    """Return the shape of a table with these names and no others; `optional` ones may be absent."""

    def check(value: Any, at: str = "") -> Any:
        if not isinstance(value, dict):
            _refuse(at, "a table", value)
        for name in value:
            if name not in shapes:
                raise ShapeError(f"{_named(at)} has the unknown entry '{name[:_SHOWN]}'")
        for name in shapes:
            if name not in value and name not in optional:
                raise ShapeError(f"{_named(at)} has no '{name}'")
        return {name: shapes[name](each, _below(at, name)) for name, each in value.items()}

    return check


def _content(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as stream:
        content = stream.read(MOST_TEXT + 1)
    _check_size(content)
    return content


def _check_size(content: bytes | str) -> None:
    if len(content) > MOST_TEXT:
        raise ShapeError(f"it has more than {MOST_TEXT} bytes")


def _refuse(at: str, expected: str, value: Any) -> Any:
    raise ShapeError(f"{_named(at)} must be {expected}, got {_shown(value)}")


def _named(at: str) -> str:
    return f"'{at}'" if at else "the whole"


def _below(at: str, name: str) -> str:
    return f"{at}.{name[:_SHOWN]}" if at else name[:_SHOWN]


def _shown(value: Any) -> str:
    kinds = {list: "a list", dict: "a table", type(None): "nothing"}
    if isinstance(value, int) and value not in _INT64:
        return "an integer beyond 64 bits"
    return kinds.get(type(value)) or repr(value)[:_SHOWN]
