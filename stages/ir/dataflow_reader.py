"""Read the listing of a dataflow program back; see `dataflow_text` for its form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, get_args
from typing import Literal as OneOf

from ...runtime.dimension import Dimension, DimensionKind
from ...runtime.types import SCALARS
from .bounds import Apply, Bound, Const, DomainSymbol, Operation, Range, Ranges, ScalarSymbol
from .dataflow import (
    OPERATIONS,
    Dataflow,
    Input,
    Leaf,
    Literal,
    Map,
    Read,
    Scalar,
    Shift,
    Statement,
    Store,
    Value,
)
from .listing_line import INTEGER, PATH, Line

Parts: TypeAlias = tuple[Dataflow, tuple[Ranges, ...], tuple[Read, ...]]
Path: TypeAlias = tuple[int, ...]

FUNCTIONS: Final[Mapping[str, Operation]] = {
    str(op): op for op in get_args(Operation) if op != "add"
}


def natural_paths(parameters: Sequence[str]) -> Callable[[str], Path]:
    """Return a function from the name of a leaf to the path that follows from it.

    >>> natural_paths(("u", "pair"))("pair.0.1")
    (1, 0, 1)
    """
    places = {name: index for index, name in reversed(list(enumerate(parameters)))}

    def path_of(name: str) -> Path:
        inside: list[int] = []
        while name not in places:
            name, dot, last = name.rpartition(".")
            if not dot or not last.isdecimal():
                return ()
            inside.insert(0, int(last))
        return (places[name], *inside)

    return path_of


def read(text: str) -> Parts:
    """Return program, boxes and reads; whatever is wrong with the text is a `ValueError`."""
    if not text.endswith("\n"):
        raise ValueError("The listing of a dataflow program ends in the middle of a line.")
    return _Reader(text[:-1].split("\n")).program()


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = [Line(text, number) for number, text in enumerate(lines, 1)]
        self._next = 0
        self._dims: dict[str, Dimension] = {}

    def program(self) -> Parts:
        line = self._line("program")
        name = line.name()
        line.expect("(")
        parameters = tuple(line.several(")", line.name))
        line.end()
        for line in self._while("dimension"):
            self._dimension(line)
        leaves = tuple(self._leaves(natural_paths(parameters)))
        values, boxes = self._values()
        statements = [Statement(tuple(self._stores(len(values)))) for _ in self._while("statement")]
        reads = tuple(self._read(line, len(statements)) for line in self._while("read"))
        if self._next < len(self._lines):
            self._lines[self._next].fail("a row, statement or read")
        program = Dataflow(name, parameters, leaves, values, tuple(statements))
        return program, boxes, reads

    def _line(self, keyword: str) -> Line:
        for line in self._while(keyword):
            return line
        raise ValueError(f"The listing has no line that begins with '{keyword}'.")

    def _while(self, keyword: str) -> Iterator[Line]:
        while self._next < len(self._lines) and self._lines[self._next].opens(keyword):
            self._next += 1
            yield self._lines[self._next - 1]

    def _dimension(self, line: Line) -> None:
        name = line.name()
        label, kind = name, None
        if line.accept("["):
            kind = line.name()
            line.expect("]")
            label = f"{name}[{kind}]"
        last = line.name()
        if label in self._dims or kind not in (None, last):
            line.fail("another dimension")
        self._dims[label] = Dimension(name, DimensionKind(last))
        line.end()

    def _dim(self, line: Line) -> Dimension:
        label = line.name()
        if label not in self._dims and line.accept("["):
            label = f"{label}[{line.name()}]"
            line.expect("]")
        return self._dims.get(label) or line.fail("a dimension that is declared")

    def _type(self, line: Line) -> tuple[tuple[Dimension, ...], str]:
        line.expect(":")
        dims: tuple[Dimension, ...] = ()
        if line.accept("["):
            dims = tuple(line.several("]", lambda: self._dim(line)))
        dtype = line.name()
        return (dims, dtype) if dtype in SCALARS else line.fail("a dtype")

    def _leaves(self, path_of: Callable[[str], Path]) -> Iterator[Leaf]:
        kinds: tuple[OneOf["field", "scalar"], ...] = ("field", "scalar")
        while self._next < len(self._lines):
            line = self._lines[self._next]
            kind = next((each for each in kinds if line.opens(each)), None)
            if kind is None:
                return
            self._next += 1
            name = line.name()
            path = path_of(name)
            if line.accept("at "):
                path = tuple(map(int, (line.match(PATH) or line.fail("a path")).split(".")))
            dims, dtype = self._type(line)
            line.end()
            yield Leaf(name, path, kind, dtype, dims)

    def _values(self) -> tuple[tuple[Value, ...], tuple[Ranges, ...]]:
        values: list[Value] = []
        boxes: list[Ranges] = []
        while self._next < len(self._lines) and self._lines[self._next].opens(f"%{len(values)}"):
            line = self._lines[self._next]
            line.expect("=")
            values.append(self._value(line, len(values)))
            if line.accept("on "):
                boxes.append(self._box(line))
            line.end()
            self._next += 1
        if boxes and len(boxes) != len(values):
            raise ValueError("Some values have a box and some have none.")
        return tuple(values), tuple(boxes)

    def _value(self, line: Line, row: int) -> Value:
        op = line.name()
        match op:
            case "input":
                name = line.name()
                version = line.integer() if line.accept("@") else 0
                dims, dtype = self._type(line)
                return Input(name=name, version=version, dims=dims, dtype=dtype)
            case "scalar":
                name = line.name()
                dims, dtype = self._type(line)
                return Scalar(name=name, dims=dims, dtype=dtype)
            case "literal":
                text = line.text()
                dims, dtype = self._type(line)
                return Literal(text=text, dims=dims, dtype=dtype)
            case "shift":
                arg, dim, offset = line.row(row), self._dim(line), line.integer()
                dims, dtype = self._type(line)
                return Shift(arg=arg, dim=dim, offset=offset, dims=dims, dtype=dtype)
        if op not in OPERATIONS:
            line.fail("an operation")
        args: list[int] = []
        while not line.comes(":"):
            args.append(line.row(row))
        dims, dtype = self._type(line)
        return Map(op=op, args=tuple(args), dims=dims, dtype=dtype)

    def _stores(self, count: int) -> Iterator[Store]:
        while self._next < len(self._lines) and self._lines[self._next].is_indented():
            line = self._lines[self._next]
            target = line.name()
            line.expect("[")
            box = self._box(line)
            line.expect("]")
            line.expect("=")
            value = line.row(count)
            line.end()
            self._next += 1
            yield Store(target, box, value)

    def _read(self, line: Line, count: int) -> Read:
        statement = line.integer()
        if not 0 <= statement < count:
            line.fail("the number of a statement")
        name = line.name()
        line.expect("[")
        box = self._box(line)
        line.expect("]")
        pointwise = line.accept("pointwise")
        line.end()
        return Read(statement, name, box, pointwise)

    def _box(self, line: Line) -> Ranges:
        if line.accept("()"):
            return ()
        ranges = [self._range(line)]
        while line.accept(","):
            ranges.append(self._range(line))
        return tuple(ranges)

    def _range(self, line: Line) -> Range:
        dim = self._dim(line)
        line.expect(":")
        start = self._bound(line)
        line.expect("..")
        return Range(dim, start, self._bound(line))

    def _bound(self, line: Line) -> Bound:
        """Read a sum; operations that are still open wait on a stack, each with its terms."""
        waiting: list[tuple[Operation, list[Bound], list[Bound]]] = []
        terms: list[Bound] = []
        while True:
            atom = self._atom(line)
            if isinstance(atom, str):
                waiting.append((atom, [], terms))
                terms = []
                continue
            terms.append(atom)
            while not line.accept("+"):
                value = terms[0] if len(terms) == 1 else Apply("add", tuple(terms))
                if not waiting:
                    return value
                op, args, outer = waiting[-1]
                args.append(value)
                if line.accept(","):
                    terms = []
                    break
                line.expect(")")
                waiting.pop()
                terms = [*outer, Apply(op, tuple(args))]

    def _atom(self, line: Line) -> Bound | Operation:
        """Read a constant, a symbol, or the operation that opens a list of arguments."""
        number = line.match(INTEGER)
        if number is not None:
            return Const(int(number))
        plain = not line.comes('"')
        name = line.name()
        if not plain or not line.accept("("):
            return ScalarSymbol(name)
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        end: OneOf["start", "stop"] = "start" if name == "start" else "stop"
        if name != end:
            line.fail("a function of bounds before its arguments")
        field = line.name()
        line.expect(",")
        dim = self._dim(line)
        line.expect(")")
        return DomainSymbol(end, field, dim)
