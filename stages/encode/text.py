"""The text of encoded programs: a line for each part, what it holds further in; it is read back.

A line is a keyword and fields as `name value`; fields that have their defaults are left out. A step
is `t1 = add.float64 a0 t0`. An integer of the call is `n3+1`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ...runtime.process import classes
from .program import (
    Access,
    Buffer,
    Code,
    Count,
    Cut,
    Known,
    Loop,
    Member,
    Nest,
    Node,
    Part,
    Program,
    Span,
    Step,
    Tiles,
)

_COUNT: Final = r"n(\d+)([+-]\d+)?|([+-]?\d+)"
_AXIS: Final = r"(value|block|row|lane|fixed)(\d+)([+-]\d+)"


@classes.frozen
class Kind:
    """How a field is written, without blanks, and read."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]


def _many(kind: Kind) -> Kind:
    return Kind(
        lambda values: ",".join(map(kind.write, values)) or "-",
        lambda text: () if text == "-" else tuple(map(kind.read, text.split(","))),
    )


def _count(count: Count) -> str:
    place, constant = count
    if place < 0:
        return str(constant)
    return f"n{place}{constant:+d}" if constant else f"n{place}"


def _read_count(text: str) -> Count:
    found = re.fullmatch(_COUNT, text)
    if found is None:
        raise ValueError(f"'{text}' is no integer of a call.")
    place, constant, alone = found.groups()
    return (-1, int(alone)) if place is None else (int(place), int(constant or 0))


def _read_span(text: str) -> Span:
    start, stop = text.split(":")
    return _read_count(start), _read_count(stop)


def _read_axis(text: str) -> tuple[str, int, int]:
    found = re.fullmatch(_AXIS, text)
    if found is None:
        raise ValueError(f"'{text}' is no index.")
    return found[1], int(found[2]), int(found[3])


INT: Final = Kind(str, int)
WORD: Final = Kind(str, str)
NAME: Final = Kind(lambda name: json.dumps(name).replace(" ", r"\u0020"), json.loads)
FLAG: Final = Kind(lambda flag: str(int(flag)), lambda text: text == "1")
COUNT: Final = Kind(_count, _read_count)
SPAN: Final = Kind(lambda span: ":".join(map(_count, span)), _read_span)
AXIS: Final = Kind(lambda axis: f"{axis[0]}{axis[1]}{axis[2]:+d}", _read_axis)
PAIR: Final = Kind(
    lambda pair: "/".join(map(str, pair)), lambda text: tuple(map(int, text.split("/")))
)

# By class the keyword, and the kinds of its fields; those without one are parts further in.
FORMS: Final[Mapping[type[Any], tuple[str, Mapping[str, Kind]]]] = {
    Buffer: ("buffer", {
        "name": NAME, "memory": WORD, "dtype": WORD, "place": INT, "strides": _many(COUNT),
        "box": _many(SPAN), "order": _many(INT), "cuts": _many(INT), "ring": INT,
    }),
    Access: ("access", {"buffer": INT, "axes": _many(AXIS), "is_row": FLAG, "ahead": INT}),
    Known: ("known", {
        "value": INT, "kind": WORD, "dtype": WORD, "text": NAME, "place": INT, "count": COUNT,
    }),
    Loop: ("loop", {"dim": NAME, "range": SPAN, "backward": FLAG, "shared": FLAG}),
    Part: ("part", {"range": SPAN}),
    Nest: ("nest", {"guard": _many(SPAN), "lanes": INT, "blocks": INT, "values": INT}),
    Cut: ("cut", {"range": SPAN, "size": INT, "even": FLAG}),
    Member: ("member", {"cuts": _many(INT), "margins": _many(PAIR)}),
    Tiles: ("tiles", {
        "guard": _many(SPAN), "box": _many(SPAN), "rolled": INT, "threads": INT,
    }),
    Node: ("node", {"statement": INT}),
    Program: ("program", {
        "name": NAME, "slots": _many(COUNT), "clamping": INT, "stepped": INT,
        "parallel_from": INT,
    }),
}  # fmt: skip
BY_KEYWORD: Final = {keyword: cls for cls, (keyword, _) in FORMS.items()}
CODES: Final = ("around", "rows", "first", "code")
SINGLE: Final = ("nest", "body")  # fields that are one part


def show(program: Program) -> str:
    """Print a program."""
    return "\n".join(_lines(program, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    keyword, kinds = FORMS[type(value)]
    fields = classes.fields(type(value))
    words = [
        f"{field.name} {kinds[field.name].write(given)}"
        for field in fields
        if field.name in kinds and (given := getattr(value, field.name)) != field.default
    ]
    yield indent + " ".join([keyword, *words])
    for field in fields:
        if field.name not in kinds:
            held = getattr(value, field.name)
            yield from _held(field.name, held, f"{indent}  ")


def _held(name: str, held: Any, indent: str) -> Iterator[str]:
    if name in CODES:
        for code in held if name == "around" else (held,):
            yield f"{indent}{name}"
            yield from (f"{indent}  {_step(step)}" for step in code)
    elif held:
        yield f"{indent}{name}"
        for each in (held,) if name in SINGLE else held:
            yield from _lines(each, f"{indent}  ")


def _step(step: Step) -> str:
    return " ".join([step.out, "=", step.name, *step.args])


def read(text: str) -> Program:
    """Return the program of a text; raise `ValueError` for any error in it."""
    lines = [(len(line) - len(line.lstrip(" ")), line.split()) for line in text.splitlines()]
    try:
        program, rest = _value(lines, 0)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"The text of an encoded program is damaged: {error}.") from error
    if rest != len(lines) or not isinstance(program, Program):
        raise ValueError("The text of an encoded program begins with 'program', once.")
    return program


def _value(lines: list[tuple[int, list[str]]], at: int) -> tuple[Any, int]:
    """Return the value whose text begins at a line, and the line after it."""
    indent, (keyword, *words) = lines[at]
    cls = BY_KEYWORD[keyword]
    kinds = FORMS[cls][1]
    given = {
        name: kinds[name].read(value) for name, value in zip(words[::2], words[1::2], strict=True)
    }
    found: dict[str, list[Any]] = {}
    at += 1
    while at < len(lines) and lines[at][0] > indent:
        inner, (name,) = lines[at]
        at += 1
        own = found.setdefault(name, [])
        if name in CODES:
            steps, at = _code(lines, at, inner)
            own.append(steps)
            continue
        while at < len(lines) and lines[at][0] > inner:
            value, at = _value(lines, at)
            own.append(value)
    for field in classes.fields(cls):
        if field.name not in kinds:
            own = found.get(field.name, [])
            is_one = field.name in ("rows", "first", "code", *SINGLE)
            given[field.name] = own[0] if is_one else tuple(own)
    return cls(**given), at


def _code(lines: list[tuple[int, list[str]]], at: int, indent: int) -> tuple[Code, int]:
    steps = []
    while at < len(lines) and lines[at][0] > indent:
        out, sign, name, *args = lines[at][1]
        if sign != "=":
            raise ValueError(f"'{' '.join(lines[at][1])}' is no step.")
        steps.append(Step(name, out, tuple(args)))
        at += 1
    return tuple(steps), at
