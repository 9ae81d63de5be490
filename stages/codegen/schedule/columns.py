"""Write imperative columns: loops over columns around the acts of a walk over their levels.

Variables with levels are arrays over all columns, planes are registers. First the arrays get what
the variables begin with; a field that a column only reads is no array, but read in its place. The
arguments of a level are computed at its start. `acts/tidying.py` moves what does not vary.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import column_rows, dataflow
from ...ir.loops import (
    Act,
    Column,
    Compute,
    Constant,
    Load,
    NestLoop,
    Range,
    Reading,
    Row,
    column as loops_ir,
    with_operands,
)
from .body import BodyWriter
from .column_accesses import ColumnAccesses, Place
from .order import THREADED, order_dims


def column_of(place: Place, units: Sequence[Dimension], reason: str) -> Column:
    """Return the column of the loop IR."""
    column = place.column
    ranges = {each.dim: each for each in place.box if each.dim is not column.axis}
    order, _ = order_dims(list(ranges), units)
    loops = tuple(
        NestLoop("parallel" if level < THREADED else "sequential", ranges[dim])
        for level, dim in enumerate(order)
    )
    writer = _Writer(place, loops)
    acts = writer.acts()
    dtypes = tuple(
        place.points.nodes[writer.operands[each][0]].value.dtype for each in column.planes
    )
    return Column(place.group, loops, acts, reason, dtypes, tuple(dict.fromkeys(writer.reads)))


class _Writer(ColumnAccesses):
    """The acts of a column while they are written; rows have numbers in their order."""

    def __init__(self, place: Place, loops: tuple[NestLoop, ...]) -> None:
        super().__init__(place)
        self.loops = loops
        self.reads: list[Reading] = []
        self.ends = column_rows.ends(self.column.body)
        sets = column_rows.Set | column_rows.SetAt
        self.changed = {row.variable for row in self.column.body if isinstance(row, sets)}
        self.operands = place.points.nodes[place.node].operands
        self.args: list[Row] = []

    def acts(self) -> tuple[Act, ...]:
        """Return the acts: first values, the walk, results that are planes."""
        column = self.column
        first = (*self._planes(), *self._levels())
        walk = Range(column.axis, column.start, column.stop)
        inner = (*self._arguments(walk), *self._block(0, len(column.body)))
        sweep = loops_ir.Sweep(walk, inner, backward=not column.forward)
        return (*first, sweep, *self._results())

    # --- before and after the walk --------------------------------------------------------------

    def _planes(self) -> list[Act]:
        acts, rows = self._computed([self.operands[each] for each in self.column.planes], ())
        for register, row in enumerate(rows):
            made = loops_ir.Set(dtype=self.rows[row].dtype, register=register, value=row)
            acts.append(self.add(made))
        return acts

    def _levels(self) -> list[Act]:
        """Give the arrays the values that variables begin with."""
        held = self.place.held
        sweeps: list[Act] = []
        for levels in dict.fromkeys(self.column.levels[each] for each in held):
            walk = NestLoop("sequential", levels)
            like = [each for each in held if self.column.levels[each] == levels]
            acts, rows = self._computed([self.operands[each] for each in like], (walk,))
            for variable, row in zip(like, rows, strict=True):
                made = self.rows[row]
                if (
                    isinstance(made, Load)
                    and variable not in self.changed
                    and made.when is None
                    and not made.is_told
                ):  # it always reads its element, at a known distance from the column
                    self.fields[variable] = made
                else:
                    acts.append(self.store(held[variable], row))
            sweeps.append(loops_ir.Sweep(levels, tuple(acts)))
        return sweeps

    def _arguments(self, walk: Range) -> list[Act]:
        wanted = self.operands[len(self.column.init) :]
        acts, self.args = self._computed(wanted, (NestLoop("sequential", walk),))
        return acts

    def _results(self) -> list[Act]:
        acts: list[Act] = []
        for variable, array in self.place.results.items():
            register = self.column.planes.index(variable)
            acts.append(self.add(loops_ir.Get(dtype=array.dtype, register=register)))
            acts.append(self.store(array, len(self.rows) - 1))
        return acts

    def _computed(
        self, wanted: Sequence[tuple[int, tuple[tuple[int, int], ...]]], inner: tuple[NestLoop, ...]
    ) -> tuple[list[Act], list[Row]]:
        """Return the rows that compute some points, and where each of these stands."""
        place = self.place
        writer = BodyWriter(place.points, wanted, (*self.loops, *inner), place.homes)
        found = [writer.row(each) for each in wanted]
        first = len(self.rows)
        acts: list[Act] = []
        for row in writer.rows:
            moved = with_operands(row, lambda each: first + each)
            acts.append(self.add(classes.evolve(moved, level=0, part=0)))
        self.reads += writer.reads(place.needs)
        return acts, [first + each for each in found]

    # --- the walk ---------------------------------------------------------------------------------

    def _block(self, at: int, stop: int) -> list[Act]:
        acts: list[Act] = []
        while at < stop:
            row = self.column.body[at]
            if isinstance(row, column_rows.While):
                at = self._loop(acts, at, self.ends[at])
            elif isinstance(row, column_rows.If):
                at = self._choice(acts, at, row)
            else:
                acts += self._act(at, row)
            at += 1
        return acts

    def _loop(self, acts: list[Act], at: int, holds: int) -> int:
        row, end = self.column.body[holds], self.ends[holds]
        assert isinstance(row, column_rows.If)  # the rules say so
        condition = tuple(self._block(at + 1, holds))
        inner = tuple(self._block(holds + 1, end))
        acts.append(loops_ir.While(condition, self.made[row.test], inner))
        return end

    def _choice(self, acts: list[Act], at: int, row: column_rows.If) -> int:
        end = self.ends[at]
        then, otherwise = tuple(self._block(at + 1, end)), tuple[Act, ...]()
        if isinstance(self.column.body[end], column_rows.Else):
            at, end = end, self.ends[end]
            otherwise = tuple(self._block(at + 1, end))
        acts.append(loops_ir.If(self.made[row.test], then, otherwise))
        return end

    def _act(self, at: int, row: dataflow.Value) -> list[Act]:
        """Return the acts of a row that opens no block; note where its value stands."""
        acts: list[Act] = []
        match row:
            case dataflow.Scalar(name=name):
                self.made[at] = self.args[int(name[1:])]
            case dataflow.Literal(text=text):
                self.value(acts, at, Constant(dtype=row.dtype, text=text))
            case dataflow.Map(op=op, args=args):
                inner = tuple(self.made[each] for each in args)
                self.value(acts, at, Compute(dtype=row.dtype, op=op, args=inner))
            case column_rows.Get() if row.variable in self.column.planes:
                register = self.column.planes.index(row.variable)
                self.value(acts, at, loops_ir.Get(dtype=row.dtype, register=register))
            case column_rows.Set() if row.variable in self.column.planes:
                register = self.column.planes.index(row.variable)
                value = self.made[row.value]
                acts.append(self.add(loops_ir.Set(dtype=row.dtype, register=register, value=value)))
            case column_rows.Get() | column_rows.GetAt():
                self.get(acts, at, row)
            case column_rows.Set() | column_rows.SetAt():
                self.put(acts, row)
            case _:
                raise TypeError(f"The code generator does not know '{type(row).__name__}'.")
        return acts
