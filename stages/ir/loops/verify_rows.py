"""Verify the rows of nests and columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ....runtime.language import Dimension, DimensionKind
from ....runtime.process import classes
from ..dataflow import OPERATIONS
from .buffers import Buffer
from .column import Act, Column, Get, If, Set, Sweep, While
from .cpu import CpuMarks
from .nest import Access, Advance, Compute, Instruction, Load, Nest, Row, State, Store
from .traverse import accesses, arrays_of

SHARED: Final = ("parallel", "vector", "thread")  # loops whose iterations run at the same time
ARRAYS: Final = ("arena", "tile", "shared")

Problem: TypeAlias = tuple[Row, str]
Dims: TypeAlias = Sequence[Dimension]


def row_problems(
    node: Nest | Column, buffers: Mapping[str, Buffer], filled: set[str], around: Dims = ()
) -> tuple[list[Problem], set[str]]:
    """Return the problems of rows, and the buffers that are `filled` after them.

    Loops over the dimensions `around` stand around the nest or column.
    """
    shared = [loop.range.dim for loop in node.loops if loop.kind in SHARED]
    checks = _Checks(buffers, shared, filled)
    if isinstance(node, Nest):
        after = filled | arrays_of(node, Store)
        return [*_of_nest(node, checks, around), *_of_marks(node)], after
    acting = _Acting(node, classes.evolve(checks, filled=set(filled)), around)
    return list(acting.problems()), acting.checks.filled


@classes.frozen
class _Checks:
    """What the rules of an access depend on: buffers, shared loops, the buffers stored before."""

    buffers: Mapping[str, Buffer]
    shared: Dims
    filled: set[str]

    def of_row(self, row: Instruction, dims: Dims, around: Dims) -> Iterator[str]:
        """Yield the problems of a row that has the loops over `around` of those over `dims`."""
        if isinstance(row, Compute) and row.op not in OPERATIONS:
            yield f"unknown operation '{row.op}'"
        if isinstance(row, Access):
            buffer = self.buffers.get(row.buffer)
            if buffer is None:
                yield f"unknown buffer '{row.buffer}'"
            else:
                yield from self._of_access(row, buffer, dims, around)

    def _of_access(self, row: Access, buffer: Buffer, dims: Dims, around: Dims) -> Iterator[str]:
        axes = len(buffer.dims)
        if isinstance(row, Load) and row.dims != buffer.dims:
            yield f"dimensions are not those of '{buffer.name}'"
        if len(row.offsets) != axes and (row.offsets or isinstance(row, Load)):
            yield f"dimensions or offsets are not those of '{buffer.name}'"
        named = row.rows or (None,) * axes
        own = [dim for dim, index in zip(buffer.dims, named, strict=False) if index is None]
        if any(dim not in dims and dim.kind is not DimensionKind.LOCAL for dim in own):
            yield f"buffer '{buffer.name}' has a dimension that no loop walks"
        elif any(dim in dims and dim not in around for dim in own):
            yield f"stands outside a loop that buffer '{buffer.name}' needs"
        if isinstance(row, Load):
            if buffer.memory in ARRAYS and buffer.name not in self.filled:
                yield f"reads '{buffer.name}' before a nest has written it"
        elif buffer.memory == "table":
            yield f"writes table '{buffer.name}'"
        elif any(dim not in own for dim in self.shared):
            yield f"iterations of a shared loop store one element of '{buffer.name}'"


def _of_nest(nest: Nest, checks: _Checks, around: Dims) -> Iterator[Problem]:
    dims = tuple(loop.range.dim for loop in nest.loops)
    for row, each in enumerate(nest.body):
        if not 0 <= each.level <= len(dims):
            yield row, f"level {each.level} is not one of {len(dims)} loops"
        if not 0 <= each.part < max(1, len(nest.parts)):
            yield row, f"there is no part {each.part}"
        for operand in each.operands:
            if not 0 <= operand < row:
                yield row, f"refers to row %{operand}, which is not defined before it"
                continue
            other = nest.body[operand]
            if other.level > each.level:
                yield row, f"stands outside a loop that its operand %{operand} needs"
            elif other.level == len(dims) and other.part != each.part:
                yield row, f"its operand %{operand} stands in another part"
        if isinstance(each, State | Advance) and each.index >= len(nest.states):
            yield row, f"there is no state {each.index}"
        if isinstance(each, Get | Set):
            yield row, "a nest has states, no registers"
        for problem in checks.of_row(each, (*around, *dims), (*around, *dims[: each.level])):
            yield row, problem


def _of_marks(nest: Nest) -> Iterator[Problem]:
    marks = nest.marks
    for row in marks.asked if marks else ():
        if not 0 <= row < len(nest.body) or not isinstance(nest.body[row], Load):
            yield row, "is loaded ahead, but is no load"
    if isinstance(marks, CpuMarks):
        rows = [*(row for row, _ in marks.usual), *(r for a, b, _ in marks.slides for r in (a, b))]
        for row in rows:
            if not 0 <= row < len(nest.body):
                yield row, "has a mark, but is no row"
        if not arrays_of(nest, Store).issuperset(marks.streams):
            yield 0, f"streams {', '.join(marks.streams)}, which it does not all store"


class _Acting:
    """Checks the acts of a column in the order of its text."""

    def __init__(self, column: Column, checks: _Checks, around: Dims) -> None:
        self.column = column
        self.around = around
        self.checks = checks
        self.stored = {each.buffer for each in accesses(column, Store)}
        self.row = -1

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of all acts."""
        dims = (*self.around, *(loop.range.dim for loop in self.column.loops))
        yield from self._of_acts(self.column.acts, set(), dims)

    def _of_acts(self, acts: Iterable[Act], known: set[Row], dims: Dims) -> Iterator[Problem]:
        """Yield the problems of acts; add to `known` their rows."""
        for act in acts:
            match act:
                case Sweep():
                    yield from self._of_acts(act.acts, set(known), (*dims, act.range.dim))
                case If():
                    yield from self._unknown(act.row, known)
                    before, after = set(self.checks.filled), []
                    for side in (act.then, act.otherwise):
                        self._fill(before)
                        yield from self._of_acts(side, set(known), dims)
                        after.append(set(self.checks.filled))
                    self._fill(after[0] & after[1])
                case While():
                    inside = set(known)
                    yield from self._of_acts(act.condition, inside, dims)
                    yield from self._unknown(act.row, inside)
                    yield from self._of_acts(act.acts, inside, dims)
                case _:
                    self.row += 1
                    for problem in self._of_act(act, known, dims):
                        yield self.row, problem
                    known.add(self.row)
                    if isinstance(act, Store):
                        self.checks.filled.add(act.buffer)

    def _fill(self, names: set[str]) -> None:
        self.checks = classes.evolve(self.checks, filled=set(names))

    def _of_act(self, row: Instruction, known: set[Row], dims: Dims) -> Iterator[str]:
        for operand in row.operands:
            yield from (problem for _, problem in self._unknown(operand, known))
        if isinstance(row, State | Advance):
            yield "a column has registers, no states"
        if isinstance(row, Get | Set) and not 0 <= row.register < len(self.column.registers):
            yield f"there is no register {row.register}"
        yield from self.checks.of_row(row, dims, dims)
        if isinstance(row, Load) and row.buffer in self.stored and self._is_other(row):
            yield f"loads another column of '{row.buffer}', which the columns store"

    def _is_other(self, load: Load) -> bool:
        across = {loop.range.dim for loop in self.column.loops}
        return any(d in across and (row is not None or offset) for d, row, offset in load.places)

    def _unknown(self, row: Row, known: set[Row]) -> Iterator[Problem]:
        if row not in known:
            yield self.row, f"refers to row %{row}, which is not defined before it"
