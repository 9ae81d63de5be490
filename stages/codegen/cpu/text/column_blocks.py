"""What sweeps of a block of columns have in common: rows, and what is kept between loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .....runtime.language import Dimension
from .....runtime.process import classes
from ....ir.loops import (
    ITEMSIZES,
    LINE,
    Access,
    Column,
    Get,
    Index,
    Instruction,
    Load,
    Row,
    Set,
    Store,
    Sweep,
    instructions,
)
from ...rows import TYPES, Body, Scope, is_float, stored_type
from .simd import registers_of

BLOCK: Final = 64  # columns that walk the levels together


@classes.define
class ColumnBlock:
    """What the parts of a block have in common.

    Attributes:
        body: the rows, which are read by their names in a lane.
        lanes: the columns of a strip.
        mask: the type of masks, as wide as most numbers.
        inner, outer: the names of the indices across columns.
        stored: the buffers that columns change.
        registers: their dtypes.
        homes: by row with a name the loop over lanes, as (part, loop), that computes it.
        kept: rows that other loops over lanes read; True if another part does.
        carried: registers that a part reads before it sets them.
        uniform: rows with one value for all lanes.

    """

    body: Body
    lanes: int
    mask: str
    inner: str
    outer: Mapping[Dimension, str]
    stored: frozenset[str]
    registers: tuple[str, ...]
    homes: dict[Row, tuple[int, int]] = classes.field(factory=dict)
    kept: dict[Row, bool] = classes.field(factory=dict)
    carried: set[int] = classes.field(factory=set)
    uniform: set[Row] = classes.field(factory=set)

    @classmethod
    def of(cls, scope: Scope, column: Column) -> ColumnBlock:
        """Return the beginning."""
        dims = [loop.range.dim for loop in column.loops]
        rows = tuple(instructions(column))
        positions = {**scope.around, **{dim: f"i{level}" for level, dim in enumerate(dims)}}
        told = {
            scope.by_name[row.buffer].dims[axis]
            for row in rows
            if isinstance(row, Access)
            for axis, index in enumerate(row.rows)
            if index is not None
        }
        outer_dims = [dim for dim in dims[:-1] if dim not in told]
        body = Body(scope, column.group, rows, len(dims), None, positions, {})
        body = _in_rows(body, outer_dims)
        sizes = {ITEMSIZES[row.dtype] for row in rows if is_float(row.dtype)} or {8}
        stored = frozenset(row.buffer for row in rows if isinstance(row, Store))
        lanes = registers_of(rows) * max(LINE, scope.options.vector_bytes) // min(sizes)
        mask = "s64" if 8 in sizes else "s32"
        outer = {dim: positions[dim] for dim in outer_dims}
        return cls(body, lanes, mask, f"i{len(dims) - 1}", outer, stored, column.registers)

    def walk(self, sweep: Sweep) -> None:
        """Give the index of a sweep a name."""
        positions = {**self.body.positions, sweep.range.dim: f"i{self.body.depth}"}
        self.body = classes.evolve(self.body, positions=positions)

    def arrays(self) -> Iterator[str]:
        """Define what a block keeps from level to level."""
        far = sorted(row for row, is_far in self.kept.items() if is_far)
        yield from self.pointers()
        for name_, dtype in (
            *((f"g{register}", self.registers[register]) for register in sorted(self.carried)),
            *((f"k{row}", self.body.rows[row].dtype) for row in far),
        ):
            # parts take pointers by value: a reference would keep all that they read in memory
            yield f"alignas({LINE}) {self.type(dtype)} {name_}_[{BLOCK}] = {{}};"
            yield f"{self.type(dtype)}* const {name_} = {name_}_;"

    def pointers(self) -> Iterator[str]:
        """Define the pointers to rows."""
        scope, whole = self.body.scope, classes.evolve(self.body.scope, rows={})
        for name_, pointer in scope.rows.items():
            buffer = scope.by_name[name_]
            terms = [whole.buffer(name_)]
            for axis, dim in enumerate(buffer.dims):
                if dim in self.outer:
                    terms.append(whole.term(buffer, axis, self.outer[dim]))
            yield f"{stored_type(buffer)}* const {pointer} = {' + '.join(terms)};"

    def type(self, dtype: str) -> str:
        """Return the type of a number of a lane in an array."""
        return self.mask if dtype == "bool" else TYPES[dtype][0]

    def is_uniform(self, row: Instruction) -> bool:
        """Tell whether a row has one value for all lanes."""
        if any(each not in self.uniform for each in row.operands):
            return False
        positions = self.body.positions
        match row:
            case Index(dim=dim):
                return positions[dim] != self.inner
            case Load(buffer=buffer, places=places):
                own = (
                    positions.get(dim) == self.inner for dim, index, _ in places if index is None
                )
                return buffer not in self.stored and not any(own)
        return not isinstance(row, Get | Set | Store)


def _in_rows(body: Body, outer: Sequence[Dimension]) -> Body:
    """Return a body whose accesses start at pointers to rows, where all that they can.

    Rows that are indices along the outer loops, and fields that clamp them, need the indices.
    `outer` has none along which accesses have indices of their own.
    """
    scope = body.scope
    used = {row.buffer for row in body.rows if isinstance(row, Access)}
    if scope.clamped or any(isinstance(row, Index) and row.dim in outer for row in body.rows):
        return body
    rows = {name_: f"r{place}" for place, name_ in enumerate(sorted(used))}
    positions = {**body.positions, **dict.fromkeys(outer, "0")}
    return classes.evolve(body, scope=classes.evolve(scope, rows=rows), positions=positions)
