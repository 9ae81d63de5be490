"""The dataflow IR as a listing that a person reads, and that parses back.

    program diffuse(u, out)
    dimension I horizontal
    field u: [I] float64
    field out: [I] float64
    %0 = input u : [I] float64          on I: start(out, I) .. stop(out, I) + 1
    %1 = shift %0 I+1 : [I] float64     on I: start(out, I) .. stop(out, I)
    statement
      out[I: start(out, I) .. stop(out, I)] = %1
    read 0 u[I: start(out, I) + 1 .. stop(out, I) + 1]

A name that is no chain of identifiers stands in quotes; a dimension that shares its
name with another one is followed by its kind, `K[vertical]`. A leaf says where it stands
(`field u at 1.0: ...`) only where its name does not. Equal programs have equal listings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from ...runtime.dimension import Dimension
from .bounds import Apply, Bound, Const, DomainSymbol, Range, Ranges, ScalarSymbol, parts
from .dataflow import Dataflow, Input, Leaf, Literal, Map, Read, Scalar, Shift, Value
from .dataflow_reader import Parts, natural_paths, read
from .listing_line import NAME, NUMBER

WIDEST = 64  # boxes stand in one column, unless a row is longer than this


class Listed(Protocol):
    """What a listing shows; `Lowered` is it."""

    @property
    def program(self) -> Dataflow:
        """The program."""

    @property
    def boxes(self) -> tuple[Ranges, ...]:
        """The box of each value, or nothing before they are inferred."""

    @property
    def reads(self) -> tuple[Read, ...]:
        """What each statement reads."""


def show(lowered: Listed) -> str:
    """Print a program, the box of each value, and what its statements read."""
    program = lowered.program
    names = Names(_dimensions(lowered))
    lines = [f"program {quoted(program.name)}({', '.join(map(quoted, program.parameters))})"]
    lines += [f"dimension {label} {dim.kind}" for dim, label in names.labels.items()]
    paths = natural_paths(program.parameters)
    lines += [names.leaf(leaf, paths(leaf.name)) for leaf in program.leaves]
    rows = [f"%{row} = {names.value(value)}" for row, value in enumerate(program.values)]
    width = min(WIDEST, max(map(len, rows), default=0))
    for row, text in enumerate(rows):
        boxed = row < len(lowered.boxes)
        lines.append(f"{text:{width}}  on {names.box(lowered.boxes[row])}" if boxed else text)
    for statement in program.statements:
        lines.append("statement")
        lines += [
            f"  {quoted(store.target)}[{names.box(store.box)}] = %{store.value}"
            for store in statement.stores
        ]
    for each in lowered.reads:
        where = f"read {each.statement} {quoted(each.name)}[{names.box(each.box)}]"
        lines.append(f"{where} pointwise" if each.pointwise else where)
    return "\n".join(lines) + "\n"


def parse(text: str) -> Parts:
    """Return program, boxes and reads of a listing; damaged text raises `ValueError` only."""
    return read(text)


def quoted(name: str) -> str:
    """Return a name as it stands in a listing.

    >>> quoted("pair.0"), quoted("my field")
    ('pair.0', '"my field"')
    """
    return name if NAME.fullmatch(name) else json.dumps(name)


class Names:
    """Prints what mentions dimensions, each under its label."""

    def __init__(self, dims: Iterable[Dimension]) -> None:
        order = sorted(set(dims), key=lambda dim: (dim.kind.value, dim.value))
        count = Counter(dim.value for dim in order)
        self.labels = {
            dim: quoted(dim.value) + (f"[{dim.kind}]" if count[dim.value] > 1 else "")
            for dim in order
        }

    def type(self, value: Value | Leaf) -> str:
        """Print dimensions and dtype."""
        if not value.dims:
            return value.dtype
        return f"[{', '.join(self.labels[dim] for dim in value.dims)}] {value.dtype}"

    def leaf(self, leaf: Leaf, natural: tuple[int, ...]) -> str:
        """Print the declaration of a leaf."""
        where = "" if leaf.path == natural else f" at {'.'.join(map(str, leaf.path))}"
        return f"{leaf.kind} {quoted(leaf.name)}{where}: {self.type(leaf)}"

    def value(self, value: Value) -> str:
        """Print what a row computes, and its type."""
        match value:
            case Input():
                version = f" @{value.version}" if value.version else ""
                what = f"input {quoted(value.name)}{version}"
            case Scalar():
                what = f"scalar {quoted(value.name)}"
            case Literal():
                plain = NUMBER.fullmatch(value.text)
                what = f"literal {value.text if plain else json.dumps(value.text)}"
            case Map():
                what = " ".join([value.op, *(f"%{arg}" for arg in value.args)])
            case Shift():
                what = f"shift %{value.arg} {self.labels[value.dim]}{value.offset:+d}"
            case _:
                raise TypeError(f"'{type(value).__name__}' is no value of the dataflow IR.")
        return f"{what} : {self.type(value)}"

    def box(self, box: Ranges) -> str:
        """Print the ranges of a box; a point is `()`."""
        return ", ".join(map(self.range, box)) or "()"

    def range(self, each: Range) -> str:
        """Print `I: 0 .. n`."""
        return f"{self.labels[each.dim]}: {self.bound(each.start)} .. {self.bound(each.stop)}"

    def bound(self, bound: Bound) -> str:
        """Print a bound as `str` does, with names in quotes where they need them."""
        match bound:
            case Const():
                return str(bound.value)
            case ScalarSymbol():
                return quoted(bound.name)
            case DomainSymbol():
                return f"{bound.end}({quoted(bound.field)}, {self.labels[bound.dim]})"
            case Apply():
                inner = [self.bound(arg) for arg in bound.args]
                return " + ".join(inner) if bound.op == "add" else f"{bound.op}({', '.join(inner)})"


def _dimensions(lowered: Listed) -> Iterator[Dimension]:
    program = lowered.program
    for leaf in program.leaves:
        yield from leaf.dims
    for value in program.values:
        yield from value.dims
        if isinstance(value, Shift):
            yield value.dim
    boxes = [store.box for statement in program.statements for store in statement.stores]
    for box in (*boxes, *lowered.boxes, *(each.box for each in lowered.reads)):
        for each in box:
            yield each.dim
            yield from _inside(each.start)
            yield from _inside(each.stop)


def _inside(bound: Bound) -> Iterator[Dimension]:
    return (part.dim for part in parts(bound) if isinstance(part, DomainSymbol))
