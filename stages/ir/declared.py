"""Check a tree of IR values against the declared types of its classes, without recursion.

`codec.decode` rebuilds whatever the rows say. What comes from a file of somebody else is checked
before anything reads it: each field is what its class declares, and each text is a plain word.

>>> from ...runtime.language.types import ScalarType
>>> from . import syntax
>>> check(syntax.Name(type=ScalarType("bool"), id="u"), syntax.Name)
>>> check(syntax.Name(type=ScalarType("bool"), id=3), syntax.Name)
Traceback (most recent call last):
    ...
ValueError: 'Name.id' must be str, got int
"""

from __future__ import annotations

import functools
import re
import types
import typing
from collections.abc import Iterator
from typing import Any, Final

from ...runtime.language import Dimension
from ...runtime.process import classes

MOST_PARTS: Final = 2_000_000
_WORD: Final = re.compile(r"[\w.:+<>-]{0,200}")  # names, keys of operators, numbers
_SHOWN: Final = 60
_hints: Final = functools.cache(typing.get_type_hints)


def check(value: Any, declared: Any, *, words: bool = True) -> None:
    """Raise a `ValueError` unless a value is what a type declares, and all inside it.

    Args:
        value: atoms, tuples, dimensions and attrs classes.
        declared: a class, `tuple[...]`, `Literal[...]`, or a union of them.
        words: whether every text must be a name, a key or a number.

    """
    stack, visits = [(value, declared, "the whole")], 0
    while stack:
        part, kind, where = stack.pop()
        visits += 1  # of shared parts again and again, as passes will walk them
        if visits + len(stack) > MOST_PARTS:
            raise ValueError(f"it has more than {MOST_PARTS} parts")
        found = next((each for each in _alternatives(kind) if _fits(part, each)), None)
        if found is None:
            named = getattr(kind, "__name__", str(kind))
            raise ValueError(f"'{where}' must be {named}, got {type(part).__name__}")
        text = part.value if isinstance(part, Dimension) else part
        if words and isinstance(text, str) and not _WORD.fullmatch(text):
            raise ValueError(f"'{where}' must be a word, got '{text[:_SHOWN]}'")
        stack += _inside(part, found, where)


def _inside(part: Any, kind: Any, where: str) -> Iterator[tuple[Any, Any, str]]:
    if isinstance(part, tuple):
        kinds = typing.get_args(kind)
        declared = [kinds[0]] * len(part) if kinds[-1:] == (...,) else kinds
        yield from ((each, of, where) for each, of in zip(part, declared, strict=True))
    elif classes.has(type(part)):
        own: Any = type(part)
        hints = _hints(own)
        for field in classes.fields(own):
            if field.eq:
                place = f"{own.__name__}.{field.name}"
                yield getattr(part, field.name), hints[field.name], place


def _fits(part: Any, kind: Any) -> bool:
    """Tell whether a value is of a type, not looking inside."""
    if typing.get_origin(kind) is tuple:
        kinds = typing.get_args(kind)
        return isinstance(part, tuple) and (kinds[-1:] == (...,) or len(part) == len(kinds))
    if typing.get_origin(kind) is typing.Literal:
        return any(type(part) is type(each) and part == each for each in typing.get_args(kind))
    return type(part) is kind or (classes.has(kind) and isinstance(part, kind))


def _alternatives(kind: Any) -> Iterator[Any]:
    if isinstance(kind, types.UnionType):
        for each in typing.get_args(kind):
            yield from _alternatives(each)
    else:
        yield kind
