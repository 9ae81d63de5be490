"""Print the loop IR; `reader.py` reads the text back.

A nest is printed once and has a name after that. A bound that others share is defined before them:
`bound $0 = min(n, stop(out, K))`. `forms.py` has the form of a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....runtime.process import classes
from ..bounds import PatchOrder
from ..dataflow_names import Names, quoted, rows_of
from .column import Column, If, While
from .forms import FORMS
from .kernel import Choice, Kernel, Seq
from .nest import Access, Compute, Instruction, Load, Nest, Row, Store
from .traverse import nests_of


def show(kernel: Kernel) -> str:
    """Print a kernel."""
    return "\n".join(_Printer(kernel).kernel(kernel)) + "\n"


class _Printer(Names):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.nests = {nest: f"n{number}" for number, nest in enumerate(nests_of(kernel))}
        self.printed: set[Nest] = set()
        self.row = 0  # of a column

    def kernel(self, kernel: Kernel) -> Iterator[str]:
        """Yield the lines of a kernel."""
        yield from (
            f"kernel {quoted(kernel.name)}",
            *(f"  dimension {label} {dim.kind}" for dim, label in self.labels.items()),
            *self.lines(tuple(self.orders), 1),
            *(f"  {line}" for line in self.definitions()),
            *(f"  scalar {quoted(name)} {dtype}" for name, dtype in kernel.scalars),
            *self.lines((*kernel.buffers, *kernel.groups), 1),
            *(f"  slot {self.bound(size)}" for size in kernel.slots),
            *(f"  # {note}" for note in kernel.notes),
            *self.lines(kernel.steps, 1),
        )

    def lines(self, value: Any, depth: int) -> Iterator[str]:
        """Yield the lines of a part of a kernel, or of several."""
        indent = "  " * depth
        match value:
            case tuple():
                for each in value:
                    yield from self.lines(each, depth)
            case Seq():
                yield from self.lines(value.steps, depth)
            case Choice() | If():
                when = f"%{value.row}" if isinstance(value, If) else self.bound(value.when)
                yield from (
                    f"{indent}if {when}{_because(value)}",
                    *self.lines(value.then, depth + 1),
                    *([f"{indent}else"] if value.otherwise else []),
                    *self.lines(value.otherwise, depth + 1),
                )
            case While():
                yield from (
                    f"{indent}while",
                    *self.lines(value.condition, depth + 1),
                    f"{indent}holds %{value.row}",
                    *self.lines(value.acts, depth + 1),
                )
            case Instruction():
                yield f"{indent}{self._instruction(self.row, value)}"
                self.row += 1
            case Nest() if value in self.printed:
                yield f"{indent}{self.nests[value]}"
            case _:
                yield f"{indent}{self._head(value)}{_because(value)}"
                for field, *_ in FORMS[type(value)].held:
                    held = getattr(value, field)
                    yield from () if held is None else self.lines(held, depth + 1)
                if isinstance(value, Nest):
                    self.printed.add(value)
                    yield from self._loops(value, depth + 1)
                if isinstance(value, Column):
                    yield from self._column(value, depth + 1)

    def _head(self, value: Any) -> str:
        form = FORMS[type(value)]
        name = (
            self.nests.get(value)
            if isinstance(value, Nest)
            else self.orders.get(value)
            if isinstance(value, PatchOrder)
            else None
        )
        words = [
            getattr(value, form.said) if form.said else form.keyword,
            *([name] if name else []),
        ]
        return " ".join([*words, *self._fields(value)])

    def _fields(self, value: Any) -> Iterator[str]:
        """Yield the bare fields, and the others that differ from their defaults."""
        defaults = {field.name: field.default for field in classes.fields(type(value))}
        for name, kind in FORMS[type(value)].fields.items():
            given = getattr(value, name)
            if kind.is_bare:
                yield kind.write(self, given)
            elif given != defaults[name] and not (kind.is_list and not given):
                yield " ".join(filter(None, (name, kind.write(self, given))))

    def _loops(self, nest: Nest, depth: int) -> Iterator[str]:
        yield from self._rows(nest, 0, None, depth)
        for level, loop in enumerate(nest.loops, 1):
            yield f"{'  ' * depth}{self._head(loop)}"
            depth += 1
            if level < len(nest.loops) or not nest.parts:
                yield from self._rows(nest, level, None, depth)
        for number, part in enumerate(nest.parts):
            yield f"{'  ' * depth}part {self.range(part)}"
            yield from self._rows(nest, len(nest.loops), number, depth + 1)

    def _rows(self, nest: Nest, level: int, part: int | None, depth: int) -> Iterator[str]:
        for row, each in enumerate(nest.body):
            if each.level == level and part in (None, each.part):
                yield f"{'  ' * depth}{self._instruction(row, each)}"

    def _column(self, column: Column, depth: int) -> Iterator[str]:
        self.row = 0
        for loop in column.loops:
            yield f"{'  ' * depth}{self._head(loop)}"
            depth += 1
        yield from self.lines(column.acts, depth)

    def _instruction(self, row: Row, each: Instruction) -> str:
        match each:
            case Compute(op=op, args=args):
                what = op + rows_of(args)
            case Load() | Store():
                place = FORMS[type(each)].keyword, quoted(each.buffer) + _place(each)
                what = " ".join([*place, *self._fields(each)])
            case _:
                what = self._head(each)
        return f"%{row} {each.dtype} {what}"


def _because(value: Any) -> str:
    reason = getattr(value, "reason", "")
    return f"  # {reason}" if reason else ""


def _place(access: Access) -> str:
    if not access.offsets and isinstance(access, Store):
        return ""
    places = [
        str(offset) if row is None else f"%{row}{offset:+d}" if offset else f"%{row}"
        for row, offset in access.coordinates(len(access.offsets))
    ]
    return f"[{', '.join(places)}]"
