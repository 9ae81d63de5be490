"""Write how the acts of a column read and change its variables, and the rows of these acts."""

from __future__ import annotations

from collections.abc import Mapping

from ....runtime.process import classes
from ...ir import bounds, column_rows
from ...ir.loops import (
    Act,
    Bound,
    Buffer,
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Number,
    Ranges,
    Row,
    Store,
    column as loops_ir,
)
from .discovery import Homes
from .index_rows import INT
from .needs import Need
from .points import Points


@classes.frozen
class Place:
    """A column: its node, its value, what it needs, and its arrays.

    `held` has an array for each variable with levels; `results` those of planes that others read.
    """

    points: Points
    node: int
    column: column_rows.Column
    group: int
    box: Ranges
    homes: Homes
    needs: Mapping[int, Need]
    held: Mapping[int, Buffer]
    results: Mapping[int, Buffer]


class ColumnAccesses:
    """The rows of a column while they are written, with what tells where variables are.

    `made` are the rows of the body that have one here, `fields` the level 0 of what nobody changes.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.column = place.column
        self.rows: list[Instruction] = []
        self.made: dict[int, Row] = {}
        self.fields: dict[int, Load] = {}

    def get(self, acts: list[Act], at: int, row: column_rows.Get | column_rows.GetAt) -> None:
        """Read a variable at the level, or at another one, the nearest that it has."""
        found, axis = self._variable(row.variable), self.column.axis
        if isinstance(row, column_rows.Get) and self._is_inside(row):
            by, index = row.offset, None
        else:
            by, index = 0, self._level(acts, row)
            levels = self.column.levels[row.variable]
            last = self._bound(acts, bounds.add(levels.stop, -1))
            index = self._computed_row(acts, "minimum", index, last)
            index = self._computed_row(acts, "maximum", index, self._bound(acts, levels.start))
        offsets = tuple(offset + by * (dim is axis) for dim, _, offset in found.places)
        rows = tuple(index if dim is axis else None for dim in found.dims)
        rows = rows if any(each is not None for each in rows) else ()
        self.value(acts, at, classes.evolve(found, offsets=offsets, rows=rows))

    def _variable(self, variable: int) -> Load:
        """Return the load of a variable at the level."""
        if variable in self.fields:
            return classes.evolve(self.fields[variable], level=0)
        array = self.place.held[variable]
        return Load(
            dtype=array.dtype, buffer=array.name, dims=array.dims, offsets=(0,) * len(array.dims)
        )

    def put(self, acts: list[Act], row: column_rows.Set | column_rows.SetAt) -> None:
        """Change a variable at the level, or at another one if it has that."""
        array, value = self.place.held[row.variable], self.made[row.value]
        if isinstance(row, column_rows.Set) and self._is_inside(row):
            acts.append(self.store(array, value, row.offset))
            return
        index = self._level(acts, row)
        levels = self.column.levels[row.variable]
        low, high = (self._bound(acts, end) for end in (levels.start, levels.stop))
        above = self._computed_row(acts, "ge", index, low, dtype="bool")
        below = self._computed_row(acts, "lt", index, high, dtype="bool")
        when = self._computed_row(acts, "and", above, below, dtype="bool")
        acts.append(loops_ir.If(when, (self.store(array, value, 0, index),)))

    def _level(
        self,
        acts: list[Act],
        row: column_rows.Get | column_rows.GetAt | column_rows.Set | column_rows.SetAt,
    ) -> Row:
        """Return the row of the level that a row reads or changes."""
        if isinstance(row, column_rows.GetAt | column_rows.SetAt):
            return self.made[row.at]
        here = self._row(acts, Index(dtype=INT, dim=self.column.axis))
        by = self._row(acts, Constant(dtype=INT, text=str(row.offset)))
        return self._computed_row(acts, "add", here, by)

    def _is_inside(self, row: column_rows.Get | column_rows.Set) -> bool:
        """Tell whether a variable surely has all levels of the walk, moved by the offset."""
        column, levels = self.column, self.column.levels[row.variable]
        start, stop = (bounds.add(each, row.offset) for each in (column.start, column.stop))
        return bounds.is_at_least(start, levels.start) and bounds.is_at_least(levels.stop, stop)

    # --- rows -----------------------------------------------------------------------------------

    def add(self, instruction: Instruction) -> Instruction:
        """Add a row."""
        self.rows.append(instruction)
        return instruction

    def _row(self, acts: list[Act], instruction: Instruction) -> Row:
        acts.append(self.add(instruction))
        return len(self.rows) - 1

    def value(self, acts: list[Act], at: int, instruction: Instruction) -> None:
        """Add the row that has the value of a row of the body."""
        self.made[at] = self._row(acts, instruction)

    def _computed_row(self, acts: list[Act], op: str, *args: Row, dtype: str = INT) -> Row:
        return self._row(acts, Compute(dtype=dtype, op=op, args=args))

    def _bound(self, acts: list[Act], bound: Bound) -> Row:
        return self._row(acts, Number(dtype=INT, bound=bound))

    def store(
        self, array: Buffer, value: Row, offset: int = 0, index: Row | None = None
    ) -> Instruction:
        """Add a row that stores an array at the level, some levels further, or at an index."""
        axis = self.column.axis
        offsets = tuple(offset * (dim is axis) for dim in array.dims)
        rows = (
            tuple(index if dim is axis else None for dim in array.dims) if index is not None else ()
        )
        return self.add(
            Store(dtype=array.dtype, buffer=array.name, value=value, offsets=offsets, rows=rows)
        )
