"""Read the text of the loop IR back; see `forms.py` for its form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ....runtime.language import Dimension
from ....runtime.process import classes
from ..bound_reader import BoundReader
from ..bounds import PatchOrder, Range
from ..dataflow import OPERATIONS
from ..listing_forms import ROWS as REFS
from ..listing_line import INTEGER, NAME, Line
from .buffers import Buffer
from .column import Act, Column, If, Sweep, While
from .forms import BY_KEYWORD, FORMS, LOOPS
from .kernel import Choice, Group, Kernel, Seq, Step, in_order
from .nest import Compute, Instruction, Load, Nest, NestLoop, Row, Store


def read(text: str) -> Kernel:
    r"""Return the kernel of a text; raise `ValueError` for any error in it.

    >>> read("kernel empty\n").name
    'empty'
    """
    entries = [_Entry(line, number) for number, line in enumerate(text.splitlines(), 1)]
    outer: list[_Entry] = []
    for each in entries:
        while outer and outer[-1].indent >= each.indent:
            outer.pop()
        if outer:
            outer[-1].inner.append(each)
        outer.append(each)
    if not text.endswith("\n") or any(each.indent == 0 for each in entries[1:]):
        raise ValueError("The text of a kernel is a line 'kernel ...', and lines further in.")
    return _Reader().kernel(entries[0])


class _Entry(Line):
    """A line, the comment at its end, and the lines further in."""

    def __init__(self, text: str, number: int) -> None:
        bare = text.lstrip(" ")
        head, _, self.reason = f"  {bare}".partition("  # ")
        super().__init__(head.strip(), number)
        self.indent = len(text) - len(bare)
        self.inner: list[_Entry] = []


class _Reader(BoundReader):
    def __init__(self) -> None:
        super().__init__()
        self.nests: dict[str, Nest] = {}
        self.dims_of: dict[str, tuple[Dimension, ...]] = {}

    def kernel(self, line: _Entry) -> Kernel:
        """Return the kernel of all lines."""
        if not line.opens("kernel"):
            line.fail("'kernel'")
        name = line.name()
        line.end()
        found: dict[type[Any] | str, list[Any]] = {}
        for each in line.inner:
            value = self._part(each)
            each.end()
            kind = type(value) if each.word in BY_KEYWORD else each.word
            found.setdefault(kind, []).append(value)
            if isinstance(value, Buffer):
                self.dims_of[value.name] = value.dims
        kinds = ("scalar", Buffer, Group, Step, "slot", "")
        return Kernel(name, *(tuple(found.get(kind, ())) for kind in kinds))

    def _part(self, line: _Entry) -> Any:
        if line.word not in PARTS:
            return self.value(line) if line.word else line.reason
        line.opens(line.word)
        return PARTS[line.word](self, line)

    def value(self, line: _Entry) -> Any:
        """Return what a line and the lines further in say."""
        if line.opens(line.word) and line.word in self.nests:
            return self.nests[line.word]
        cls = BY_KEYWORD.get(line.word) or line.fail("a keyword")
        name = line.name() if cls in (Nest, PatchOrder) else ""
        given = self._fields(line, cls)
        line.end()
        has_rows = cls in (Nest, Column)
        held = [each for each in line.inner if not (has_rows and _is_code(each))]
        values = tuple(self._values(held))
        for field, types, how in FORMS[cls].held:
            own = tuple(each for each in values if isinstance(each, types))
            given[field] = (
                in_order(*own) if how == "body" else own if how == "many" else (*own, None)[0]
            )
        code = line.inner[len(held) :]
        if cls is Nest:
            given |= self._nest(code)
        elif cls is Column:
            given |= self._column(code)
        made = self._made(line, cls, given)
        if name:
            (self.nests if cls is Nest else self.orders)[name] = made
        return made

    def _made(self, line: Line, cls: type[Any], given: dict[str, Any]) -> Any:
        """Return a value; fields that are lists may be missing."""
        for field in classes.fields(cls):
            if field.name not in given and field.is_required:
                if not FORMS[cls].fields[field.name].is_list:
                    line.fail(f"'{field.name}'")
                given[field.name] = ()
        return cls(**given)

    def _fields(self, line: _Entry, cls: type[Any]) -> dict[str, Any]:
        form = FORMS[cls]
        given: dict[str, Any] = {form.said: line.word} if form.said else {}
        if any(field.name == "reason" for field in classes.fields(cls)):
            given["reason"] = line.reason
        bare = [(name, kind) for name, kind in form.fields.items() if kind.is_bare]
        given |= {name: kind.read(self, line) for name, kind in bare}
        while (word := line.match(NAME)) is not None:
            if word in given or word not in form.fields:
                line.fail(f"a field of '{line.word}' before this")
            given[word] = form.fields[word].read(self, line)
        return given

    def _values(self, lines: Iterable[_Entry]) -> Iterator[Any]:
        """Yield what lines say; 'if' and 'else' are one value."""
        choice: Choice | None = None
        for line in lines:
            if choice is not None and line.opens("else"):
                yield classes.evolve(choice, otherwise=in_order(*self._values(line.inner)))
                choice = None
            elif choice is None and line.opens("if"):
                when = self.bound(line)
                choice = Choice(when, in_order(*self._values(line.inner)), Seq(), line.reason)
            else:
                yield self.value(line)
            line.end()
        if choice is not None:
            raise ValueError("An 'if' has no 'else'.")

    def _nest(self, lines: Iterable[_Entry]) -> dict[str, Any]:
        loops: list[NestLoop] = []
        parts: list[Range] = []
        rows: dict[Row, Instruction] = {}

        def read_all(inner: Iterable[_Entry], level: int, part: int) -> None:
            for line in inner:
                if line.word in LOOPS:
                    loops.append(self._loop(line))
                    read_all(line.inner, level + 1, 0)
                elif line.opens("part"):
                    parts.append(self.range(line))
                    read_all(line.inner, level, len(parts) - 1)
                else:
                    row = line.row()
                    rows[row] = self._row(line, level=level, part=part)
                line.end()

        read_all(lines, 0, 0)
        if sorted(rows) != list(range(len(rows))):
            raise ValueError(f"The rows of a nest have the numbers {sorted(rows)}.")
        return {
            "loops": tuple(loops),
            "body": tuple(rows[row] for row in sorted(rows)),
            "parts": tuple(parts),
        }

    def _loop(self, line: _Entry) -> NestLoop:
        line.opens(line.word)
        return NestLoop(**self._fields(line, NestLoop))

    def _column(self, lines: list[_Entry]) -> dict[str, Any]:
        loops: list[NestLoop] = []
        while len(lines) == 1 and lines[0].word in LOOPS:
            loops.append(self._loop(lines[0]))
            lines[0].end()
            lines = lines[0].inner
        self._count = 0
        return {"loops": tuple(loops), "acts": self._acts(lines)}

    def _acts(self, lines: Iterable[_Entry]) -> tuple[Act, ...]:
        acts: list[Act] = []
        for line in lines:
            last = acts[-1] if acts else None
            if line.opens("if"):
                acts.append(If(line.row(), self._acts(line.inner)))
            elif isinstance(last, If) and line.opens("else"):
                acts[-1] = classes.evolve(last, otherwise=self._acts(line.inner))
            elif line.opens("while"):
                acts.append(While(self._acts(line.inner), -1, ()))
            elif isinstance(last, While) and line.opens("holds"):
                acts[-1] = classes.evolve(last, row=line.row(), acts=self._acts(line.inner))
            elif line.opens("sweep"):
                acts.append(Sweep(acts=self._acts(line.inner), **self._fields(line, Sweep)))
            else:
                line.expect(f"%{self._count} ")
                self._count += 1
                acts.append(self._row(line))
            line.end()
        return tuple(acts)

    def _row(self, line: _Entry, **where: int) -> Instruction:
        given: dict[str, Any] = {"dtype": line.name(), **where}
        op = line.name()
        cls = BY_KEYWORD.get(op)
        if op in OPERATIONS:
            return Compute(op=op, args=REFS.read(self, line), **given)
        if cls is None or not issubclass(cls, Instruction):
            line.fail("an instruction before this")
        if cls in (Load, Store):
            given |= self._place(line, cls)
        made: Instruction = self._made(line, cls, given | self._fields(line, cls))
        return made

    def _place(self, line: _Entry, cls: type[Any]) -> dict[str, Any]:
        name = line.name()
        places = list(line.several("]", lambda: self._index(line))) if line.accept("[") else []
        rows = tuple(row for row, _ in places)
        given: dict[str, Any] = {
            "buffer": name,
            "offsets": tuple(offset for _, offset in places),
            "rows": rows if any(row is not None for row in rows) else (),
        }
        if cls is Load:
            given["dims"] = self.dims_of[name] if name in self.dims_of else line.fail("a buffer")
        return given

    def _index(self, line: _Entry) -> tuple[Row | None, int]:
        row = line.row() if line.comes("%") else None
        offset = line.match(INTEGER)
        return row, int(offset or 0) if row is not None or offset else line.fail("an index")


# Lines of a kernel that no form describes.
PARTS: Final[Mapping[str, Callable[[BoundReader, Line], Any]]] = {
    "dimension": BoundReader.declare,
    "bound": BoundReader.define,
    "scalar": lambda _, line: (line.name(), line.name()),
    "slot": BoundReader.bound,
}


def _is_code(line: _Entry) -> bool:
    return line.word[:1] == "%" or line.word in (
        *LOOPS,
        "part",
        "sweep",
        "if",
        "else",
        "while",
        "holds",
    )
