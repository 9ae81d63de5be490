"""Write a sweep of a block of columns, or acts outside of sweeps, with columns in lanes.

Where a condition holds is a mask: changes of lanes elsewhere leave what is there, and a loop ends
with its last lane. Loops over lanes that compilers vectorise and those that they do not alternate;
what a later loop reads is kept in an array of the strip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TypeAlias

from .....runtime.process import classes
from ....ir.loops import LINE, Act, Get, If, Instruction, Row, Set, Store, Sweep, While
from ...rows import DIRECT, NAMELESS, TYPES, Body, element, line, loop_over, name, operand
from .column_blocks import ColumnBlock
from .lane_work import is_heavy, is_serial
from .simd import SIMD
from .threads import indented

Term: TypeAlias = tuple[str | Row, bool]  # a mask, or a row and which value of it
Path: TypeAlias = tuple[Term, ...]


@classes.define
class _Segment:
    """A loop over the lanes of a strip while it is written."""

    place: tuple[int, int]
    is_serial: bool
    lines: list[str] = classes.field(factory=list)
    conditions: dict[Path, str] = classes.field(factory=dict)
    reduced: list[str] = classes.field(factory=list)


class LanePart:
    """A sweep, or acts outside of sweeps, as a function of a strip."""

    def __init__(self, shared: ColumnBlock, number: int, sweep: Sweep | None) -> None:
        self.shared = shared
        self.number = number
        self.sweep = sweep
        self.body = shared.body
        self.before: list[str] = []  # around all strips
        self.lines: list[str] = []
        self.arrays: list[str] = []
        self.masks = count()
        self.loops = count()
        self.set: set[int] = set()
        self.got: set[int] = set()
        self.segment: _Segment | None = None
        self.numbers: Iterator[int] = count()

    def written(self, acts: Iterable[Act], numbers: Iterator[int]) -> Iterator[str]:
        """Write the function, and the loops that call it."""
        self.numbers = numbers
        self._acts(acts, ())
        self._flush()
        lanes, shared = self.shared.lanes, self.shared
        near = [row for row, is_far in shared.kept.items() if not is_far]
        own = [row for row in near if shared.homes[row][0] == self.number]
        for row in sorted(own):
            type_ = shared.type(self.body.rows[row].dtype)
            self.arrays.append(f"alignas({LINE}) {type_} k{row}[{lanes}];")
        for register in sorted(self.got - shared.carried):
            type_ = shared.type(shared.registers[register])
            self.arrays.append(f"alignas({LINE}) {type_} g{register}[{lanes}];")
        level, given = "", ""
        if self.sweep is not None:
            index = self.body.positions[self.sweep.range.dim]
            level, given = f", s64 {index}", f", {index}"
        called = f"part{self.number}"
        masked = self.body.scope.ask("masked")
        strips = (
            "s64 b = first;",
            f"for (; b + {lanes} <= last; b += {lanes}) {called}(b, {lanes}{given});",
            f"if (b < last) {masked}({called}, b, last - b{given});",
        )
        if not self.lines:
            yield from self.before
            return
        yield from (
            *self.before,
            f"const auto {called} = [=](s64 b, s64 count{level}) INLINE {{",
            "  const s64 o = b - first;",
            *indented(self.arrays),
            *indented(self.lines),
            "};",
        )
        if self.sweep is None:
            yield from ("{", *indented(strips), "}")
        else:
            ends = self.body.scope.ends(self.sweep.range)
            yield loop_over(given[2:], ends, backward=self.sweep.backward)
            yield from (*indented(strips), "}")

    # --- acts -----------------------------------------------------------------------------------

    def _acts(self, acts: Iterable[Act], path: Path) -> None:
        for act in acts:
            match act:
                case If(row=row, then=then, otherwise=otherwise):
                    write = self._guarded if is_heavy(act) else self._acts
                    for side, truth in ((then, True), (otherwise, False)):
                        sure = set(self.set)
                        write(side, (*path, (row, truth)))
                        self.set = sure
                case While():
                    self._while(act, path)
                case Sweep():
                    raise TypeError("A sweep stands in another one.")  # `acts_in_lanes` looks
                case _:
                    self._row(next(self.numbers), act, path)

    def _guarded(self, acts: Sequence[Act], path: Path) -> None:
        """Write acts that are left out where no lane needs them."""
        if not acts:
            return
        mask = self._mask(path, is_reduced=True)
        self._flush()
        self._block(f"if (any_{mask}) {{", acts, ((mask, True),))

    def _block(self, head: str, acts: Sequence[Act], path: Path) -> None:
        around, self.lines = self.lines, []
        self._acts(acts, path)
        self._flush()
        self.lines = [*around, head, *indented(self.lines), "}"]

    def _while(self, loop: While, path: Path) -> None:
        """Write a loop: its mask loses the lanes that are done, until it is empty."""
        mask = self._mask(path)
        self._flush()
        around, self.lines, sure = self.lines, [], set(self.set)
        own: Path = ((mask, True),)
        self._acts(loop.condition, own)
        self._mask((*own, (loop.row, True)), mask, is_reduced=True)
        self._flush()
        self.lines.append(f"if (!any_{mask}) break;")
        self._acts(loop.acts, own)
        self._flush()
        self.lines = [*around, "for (;;) {", *indented(self.lines), "}"]
        self.set = sure

    def _mask(self, path: Path, mask: str = "", *, is_reduced: bool = False) -> str:
        """Compute a mask, and with `is_reduced` whether a lane has it."""
        segment = self._open(is_serial=False)
        condition = self._condition(segment, path)
        if not mask:
            mask = f"m{next(self.masks)}"
            self.arrays.append(f"alignas({LINE}) {self.shared.mask} {mask}[{self.shared.lanes}];")
        segment.lines.append(f"{mask}[l] = {condition} ? -1 : 0;" if path else f"{mask}[l] = -1;")
        if is_reduced:
            self.lines.append(f"{self.shared.mask} any_{mask} = 0;")
            segment.lines.append(f"any_{mask} |= {mask}[l];")
            segment.reduced.append(f"any_{mask}")
        return mask

    # --- rows -----------------------------------------------------------------------------------

    def _row(self, number: Row, row: Instruction, path: Path) -> None:
        shared = self.shared
        if shared.is_uniform(row):
            shared.uniform.add(number)
            if not isinstance(row, NAMELESS):
                (self.before if self.sweep is None else self.lines).append(line(self.body, number))
            return
        if isinstance(row, NAMELESS):
            return
        segment = self._open(is_serial=is_serial(row, self.body))
        for each in row.operands:
            self._read(segment, each)
        if isinstance(row, Store):
            segment.lines.append(self._stored(segment, row, path))
            return
        if isinstance(row, Set):
            self._set(segment, row, path)
            return
        shared.homes[number] = segment.place
        if isinstance(row, Get):
            self._get(segment, number, row)
        else:
            segment.lines.append(line(self._names(segment), number))
        if number in shared.kept:
            value = f"{name(self.body, number)}{' ? -1 : 0' if row.dtype == 'bool' else ''}"
            segment.lines.append(f"{self._kept(number)} = {value};")

    def _get(self, segment: _Segment, number: Row, row: Get) -> None:
        self.got.add(row.register)
        if row.register not in self.set:
            self.shared.carried.add(row.register)
        value = self._register(row.register) + (" != 0" if row.dtype == "bool" else "")
        segment.lines.append(f"const {TYPES[row.dtype][0]} {name(self.body, number)} = {value};")

    def _set(self, segment: _Segment, row: Set, path: Path) -> None:
        # where nothing is known before, lanes without the condition never read it
        is_first = row.register not in self.set | self.shared.carried
        condition = "" if is_first else self._condition(segment, path)
        self.set.add(row.register)
        self.got.add(row.register)
        value, to = operand(self._names(segment), row.value), self._register(row.register)
        value = f"({value} ? -1 : 0)" if row.dtype == "bool" else value
        segment.lines.append(f"{to} = {f'{condition} ? {value} : {to}' if condition else value};")

    def _stored(self, segment: _Segment, row: Store, path: Path) -> str:
        condition, body = self._condition(segment, path), self._names(segment)
        value, place = operand(body, row.value), element(body, row, DIRECT)
        if row.add:
            made = body.scope.dialect.operation("add", row.dtype, [place, value], [row.dtype] * 2)
            body.scope.uses.functions.update(made.functions)
            value = made.text
        when = [] if row.when is None else [operand(body, row.when)]
        tests = " & ".join([condition, *when] if path else when)
        if not tests:
            return f"{place} = {value};"
        if segment.is_serial:
            return f"if ({tests}) {place} = {value};"
        return f"{place} = {condition} ? {value} : {place};"

    def _register(self, register: int) -> str:
        return f"g{register}[{'o + l' if register in self.shared.carried else 'l'}]"

    def _kept(self, row: Row) -> str:
        return f"k{row}[{'o + l' if self.shared.kept[row] else 'l'}]"

    # --- loops over lanes -----------------------------------------------------------------------

    def _open(self, *, is_serial: bool) -> _Segment:
        """Return a loop over lanes of this kind, the last one if it is."""
        if self.segment is None or self.segment.is_serial != is_serial:
            self._flush()
            self.segment = _Segment((self.number, next(self.loops)), is_serial)
        return self.segment

    def _flush(self) -> None:
        """Write the loop over lanes that is open."""
        segment, self.segment = self.segment, None
        if segment is None:
            return
        clause = f" reduction(| : {', '.join(segment.reduced)})" if segment.reduced else ""
        inner = self.shared.inner
        self.lines += [
            *([] if segment.is_serial else [SIMD + clause]),
            f"for (s64 l = 0; l < {self.shared.lanes}; ++l) if (l < count) {{",
            f"  const s64 {inner} = b + l;",
            *indented(segment.lines),
            "}",
        ]

    def _read(self, segment: _Segment, row: Row) -> None:
        """Note that a loop over lanes reads a row, which an earlier one may have computed."""
        home = self.shared.homes.get(row)
        if home is not None and home != segment.place:
            is_far = self.shared.kept.get(row, False) or home[0] != segment.place[0]
            self.shared.kept[row] = is_far

    def _names(self, segment: _Segment) -> Body:
        """Return the body with the names of rows in a loop over lanes."""
        names = {
            row: f"({self._kept(row)} != 0)"
            if self.body.rows[row].dtype == "bool"
            else self._kept(row)
            for row in self.shared.kept
            if self.shared.homes[row] != segment.place
        }
        return classes.evolve(self.body, names=names)

    def _condition(self, segment: _Segment, path: Path) -> str:
        """Return the name of the condition under which acts run, '' for none."""
        if path and path not in segment.conditions:
            terms = []
            for term, truth in path:
                if isinstance(term, str):
                    terms.append(f"({term}[l] != 0)")
                else:
                    self._read(segment, term)
                    value = operand(self._names(segment), term)
                    terms.append(value if truth else f"!{value}")
            made = f"c{len(segment.conditions)}"
            segment.lines.append(f"const b8 {made} = {' & '.join(terms)};")
            segment.conditions[path] = made
        return segment.conditions.get(path, "")
