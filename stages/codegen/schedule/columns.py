"""Write imperative columns: loops over columns around the acts of a walk over their levels.

Variables with levels are arrays over all columns, planes are registers. First the arrays get what
the variables begin with; a field that a column only reads is no array, but read in its place. The
arguments of a level are computed at its start. `acts/tidying.py` moves what does not vary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....runtime.language.dimension import Dimension
from ....runtime.process import classes
from ...ir import bounds, column_rows, dataflow
from ...ir.bounds import Bound, Range, Ranges
from ...ir.loops import column as loops_ir
from ...ir.loops.buffers import Buffer
from ...ir.loops.column import Act, Column
from ...ir.loops.nest import (
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    NestLoop,
    Number,
    Reading,
    Row,
    Store,
    with_operands,
)
from .body import BodyWriter
from .discovery import Homes
from .needs import Need
from .order import THREADED, order_dims
from .points import Points

INT = "int64"


@classes.frozen
class Place:
    """A column: its node, what it needs, the arrays of its variables with levels, of its results.

    `held` has an array for each variable with levels; `results` those of planes that others read.
    """

    points: Points
    node: int
    group: int
    box: Ranges
    homes: Homes
    needs: Mapping[int, Need]
    held: Mapping[int, Buffer]
    results: Mapping[int, Buffer]

    @property
    def column(self) -> column_rows.Column:
        """The value."""
        value = self.points.nodes[self.node].value
        assert isinstance(value, column_rows.Column)  # the caller looks
        return value


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
    dtypes = tuple(_dtype(place, each) for each in column.planes)
    return Column(place.group, loops, acts, reason, dtypes, tuple(dict.fromkeys(writer.reads)))


def _is_plain(load: Load) -> bool:
    """Tell whether a load always reads its element, at a known distance from the column."""
    return load.when is None and not load.is_told


def _dtype(place: Place, variable: int) -> str:
    operand, _ = place.points.nodes[place.node].operands[variable]
    return place.points.nodes[operand].value.dtype


class _Writer:
    """The acts of a column while they are written; rows have numbers in their order."""

    def __init__(self, place: Place, loops: tuple[NestLoop, ...]) -> None:
        self.place = place
        self.column = place.column
        self.loops = loops
        self.reads: list[Reading] = []
        self.rows: list[Instruction] = []
        self.made: dict[int, Row] = {}  # by row of the body
        self.ends = column_rows.ends(self.column.body)
        sets = column_rows.Set | column_rows.SetAt
        self.changed = {row.variable for row in self.column.body if isinstance(row, sets)}
        self.args: list[Row] = []
        self.fields: dict[int, Load] = {}  # by variable that nobody changes: its level 0

    def acts(self) -> tuple[Act, ...]:
        """Return the acts: first values, the walk, results that are planes."""
        column = self.column
        first = self._planes()
        levels = self._levels()
        walk = Range(column.axis, column.start, column.stop)
        inner = self._arguments(walk)
        inner += self._block(0, len(column.body))
        sweep = loops_ir.Sweep(walk, tuple(inner), backward=not column.forward)
        return (*first, *levels, sweep, *self._results())

    # --- before and after the walk --------------------------------------------------------------

    def _planes(self) -> list[Act]:
        operands = self.place.points.nodes[self.place.node].operands
        acts, rows = self._computed([operands[each] for each in self.column.planes], ())
        for register, row in enumerate(rows):
            made = loops_ir.Set(dtype=self.rows[row].dtype, register=register, value=row)
            acts.append(self._add(made))
        return acts

    def _levels(self) -> list[Act]:
        """Give the arrays the values that variables begin with."""
        held, operands = self.place.held, self.place.points.nodes[self.place.node].operands
        sweeps: list[Act] = []
        for levels in dict.fromkeys(self.column.levels[each] for each in held):
            walk = NestLoop("sequential", levels)
            like = [each for each in held if self.column.levels[each] == levels]
            acts, rows = self._computed([operands[each] for each in like], (walk,))
            for variable, row in zip(like, rows, strict=True):
                made = self.rows[row]
                if variable not in self.changed and isinstance(made, Load) and _is_plain(made):
                    self.fields[variable] = made
                else:
                    acts.append(self._store(held[variable], row))
            sweeps.append(loops_ir.Sweep(levels, tuple(acts)))
        return sweeps

    def _arguments(self, walk: Range) -> list[Act]:
        operands = self.place.points.nodes[self.place.node].operands
        wanted = operands[len(self.column.init) :]
        acts, self.args = self._computed(wanted, (NestLoop("sequential", walk),))
        return acts

    def _results(self) -> list[Act]:
        acts: list[Act] = []
        for variable, array in self.place.results.items():
            register = self.column.planes.index(variable)
            acts.append(self._add(loops_ir.Get(dtype=array.dtype, register=register)))
            acts.append(self._store(array, len(self.rows) - 1))
        return acts

    def _computed(
        self, wanted: Sequence[tuple[int, tuple[tuple[int, int], ...]]], inner: tuple[NestLoop, ...]
    ) -> tuple[list[Act], list[Row]]:
        """Return the rows that compute some points, and where each of these stands."""
        place = self.place
        writer = BodyWriter(place.points, wanted, (*self.loops, *inner), place.homes, cut=False)
        found = [writer.row(each) for each in wanted]
        first = len(self.rows)
        acts: list[Act] = []
        for row in writer.rows:
            moved = with_operands(row, lambda each: first + each)
            acts.append(self._add(classes.evolve(moved, level=0, part=0)))
        self.reads += writer.reads(place.needs)
        return acts, [first + each for each in found]

    # --- the walk ---------------------------------------------------------------------------------

    def _block(self, first: int, stop: int) -> list[Act]:
        acts: list[Act] = []
        at = first
        while at < stop:
            row = self.column.body[at]
            if isinstance(row, column_rows.While):
                holds = self.ends[at]
                at = self._loop(acts, at, holds)
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
                self._value(acts, at, Constant(dtype=row.dtype, text=text))
            case dataflow.Map(op=op, args=args):
                inner = tuple(self.made[each] for each in args)
                self._value(acts, at, Compute(dtype=row.dtype, op=op, args=inner))
            case column_rows.Get() if row.variable in self.column.planes:
                register = self.column.planes.index(row.variable)
                self._value(acts, at, loops_ir.Get(dtype=row.dtype, register=register))
            case column_rows.Set() if row.variable in self.column.planes:
                register = self.column.planes.index(row.variable)
                value = self.made[row.value]
                acts.append(
                    self._add(loops_ir.Set(dtype=row.dtype, register=register, value=value))
                )
            case column_rows.Get() | column_rows.GetAt():
                self._get(acts, at, row)
            case column_rows.Set() | column_rows.SetAt():
                self._put(acts, row)
            case _:
                raise TypeError(f"The code generator does not know '{type(row).__name__}'.")
        return acts

    def _get(self, acts: list[Act], at: int, row: column_rows.Get | column_rows.GetAt) -> None:
        found, axis = self._variable(row.variable), self.column.axis
        if isinstance(row, column_rows.Get) and self._is_inside(row):
            by, index = row.offset, None
        else:
            by, index = 0, self._level(acts, row)
            levels = self.column.levels[row.variable]
            last = self._bound(acts, bounds.add(levels.stop, -1))
            index = self._computed_row(acts, "minimum", index, last)
            index = self._computed_row(acts, "maximum", index, self._bound(acts, levels.start))
        offsets = tuple(
            offset + by * (dim is axis)
            for dim, offset in zip(found.dims, found.offsets, strict=True)
        )
        rows = tuple(index if dim is axis else None for dim in found.dims)
        rows = rows if any(each is not None for each in rows) else ()
        self._value(acts, at, classes.evolve(found, offsets=offsets, rows=rows))

    def _variable(self, variable: int) -> Load:
        """Return the load of a variable at the level."""
        if variable in self.fields:
            return classes.evolve(self.fields[variable], level=0)
        array = self.place.held[variable]
        zeros = (0,) * len(array.dims)
        return Load(dtype=array.dtype, buffer=array.name, dims=array.dims, offsets=zeros)

    def _put(self, acts: list[Act], row: column_rows.Set | column_rows.SetAt) -> None:
        array, value = self.place.held[row.variable], self.made[row.value]
        if isinstance(row, column_rows.Set) and self._is_inside(row):
            acts.append(self._store(array, value, row.offset))
            return
        index = self._level(acts, row)
        levels = self.column.levels[row.variable]
        low, high = (self._bound(acts, end) for end in (levels.start, levels.stop))
        above = self._compared(acts, "ge", index, low)
        below = self._compared(acts, "lt", index, high)
        when = self._compared(acts, "and", above, below)
        acts.append(loops_ir.If(when, (self._store(array, value, 0, index),)))

    def _level(self, acts: list[Act], row: dataflow.Value) -> Row:
        """Return the row of the level that a row reads or changes."""
        if isinstance(row, column_rows.GetAt | column_rows.SetAt):
            return self.made[row.at]
        assert isinstance(row, column_rows.Get | column_rows.Set)  # the callers look
        here = self._row(acts, Index(dtype=INT, dim=self.column.axis))
        by = self._row(acts, Constant(dtype=INT, text=str(row.offset)))
        return self._computed_row(acts, "add", here, by)

    def _is_inside(self, row: column_rows.Get | column_rows.Set) -> bool:
        """Tell whether a variable surely has all levels of the walk, moved by the offset."""
        column, levels = self.column, self.column.levels[row.variable]
        start, stop = (bounds.add(each, row.offset) for each in (column.start, column.stop))
        return bounds.is_at_least(start, levels.start) and bounds.is_at_least(levels.stop, stop)

    # --- rows -------------------------------------------------------------------------------------

    def _add(self, instruction: Instruction) -> Instruction:
        self.rows.append(instruction)
        return instruction

    def _row(self, acts: list[Act], instruction: Instruction) -> Row:
        acts.append(self._add(instruction))
        return len(self.rows) - 1

    def _value(self, acts: list[Act], at: int, instruction: Instruction) -> None:
        self.made[at] = self._row(acts, instruction)

    def _computed_row(self, acts: list[Act], op: str, *args: Row) -> Row:
        return self._row(acts, Compute(dtype=INT, op=op, args=args))

    def _compared(self, acts: list[Act], op: str, *args: Row) -> Row:
        return self._row(acts, Compute(dtype="bool", op=op, args=args))

    def _bound(self, acts: list[Act], bound: Bound) -> Row:
        return self._row(acts, Number(dtype=INT, bound=bound))

    def _store(
        self, array: Buffer, value: Row, offset: int = 0, index: Row | None = None
    ) -> Instruction:
        axis = self.column.axis
        offsets = tuple(offset * (dim is axis) for dim in array.dims)
        rows = (
            tuple(index if dim is axis else None for dim in array.dims) if index is not None else ()
        )
        made = Store(dtype=array.dtype, buffer=array.name, value=value, offsets=offsets, rows=rows)
        return self._add(made)
