"""The places of a nest: its values, blocks and accesses, which appear as steps need them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from ...runtime.language import Dimension
from ...runtime.process import CodegenError
from ..ir.loops import (
    ITEMSIZES,
    Argument,
    Compute,
    Constant,
    Index,
    Load,
    Nest,
    Number,
    Row,
    State,
    Store,
    marks_of,
)
from . import program as encoded
from .instructions import Emit, compute
from .lanes import FIRST, Lanes
from .naming import CALL, Naming
from .program import Place, Step


class Places:
    """The places of one nest, and the steps around its lanes."""

    def __init__(self, naming: Naming, nest: Nest) -> None:
        self.naming = naming
        self.nest = nest
        self.rows = nest.body
        self.lanes = Lanes(nest, naming.rings_of(nest))
        self.streams = marks_of(nest).streams
        self.lane_loop = self.lanes.loop  # of the section that is written
        self.row_blocks: dict[Row, Place] = {}  # rows of which many are computed at once
        self.loops = {loop.range.dim: number for number, loop in enumerate(nest.loops)}
        self.values = len(nest.loops)
        self.levels = list(range(1, len(nest.loops) + 1))  # by value the loops around it
        self.blocks = 0
        self.free: dict[int, list[Place]] = {}  # blocks by the size of their numbers
        self.sizes: dict[Place, int] = {}
        self.known: list[encoded.Known] = []
        self.accesses: list[encoded.Access] = []
        self.points: dict[tuple[int, ...] | encoded.Access, Place] = {}
        self.around: list[list[Step]] = [[] for _ in range(self.lanes.outer + 1)]
        self.single: dict[Row, Place] = {}  # rows that are values
        self.filled: dict[Place, Place] = {}  # values that fill a block for good
        self.wide: dict[Row, Place] = {}
        self.kept: dict[Row, Place] = {}  # rows of a strip that its inner loop reads
        self.states: list[Place] = []

    # --- rows -------------------------------------------------------------------------------------

    def is_single(self, row: Row) -> bool:
        """Tell whether a row is a value around the lanes."""
        each = self.rows[row]
        if isinstance(each, CALL):
            return True
        if isinstance(each, Index):
            return self.loops[each.dim] != self.lane_loop
        return self.lanes.is_around(each.level) and not self.is_of_row(row)

    def is_of_row(self, row: Row) -> bool:
        """Tell whether a value changes with the loop right around the lanes only."""
        outer = self.lanes.outer
        return self.has_rows and outer > 0 and self.rows[row].level == outer

    @functools.cached_property
    def in_lanes(self) -> frozenset[Row]:
        """The rows that have a value for each lane, other than indices and states."""
        return frozenset(
            row
            for row, each in enumerate(self.rows)
            if not isinstance(each, Index | State) and not self.is_single(row)
        )

    @functools.cached_property
    def has_rows(self) -> bool:
        """Whether values of several rows may be computed before the first row is stored."""
        if any(loop.range.dim in self.lanes.rings for loop in self.nest.loops[: self.lanes.outer]):
            return False  # arrays keep a few rows at a time
        stores = [row for row in self.rows if isinstance(row, Store)]
        loads = [row for row in self.rows if isinstance(row, Load)]
        return not any(
            load.level == self.lanes.outer and self.naming.may_meet(load, store)
            for load in loads
            for store in stores
        )

    def new_value(self, level: int) -> Place:
        """Return a value that has so many loops around it."""
        self.levels.append(level)
        self.values += 1
        return f"v{self.values - 1}"

    def value_of(self, row: Row) -> Place:
        """Return the value of a row; those that the call knows are made here."""
        if row in self.single:
            return self.single[row]
        each = self.rows[row]
        match each:
            case Index(dim=dim):
                return f"v{self.loops[dim]}"
            case Constant(text=text):
                made = encoded.Known(self.values, "constant", each.dtype, text)
            case Argument(name=name):
                place = [scalar for scalar, _ in self.naming.kernel.scalars].index(name)
                made = encoded.Known(self.values, "scalar", each.dtype, place=place)
            case Number(bound=bound):
                count = self.naming.count(bound)
                made = encoded.Known(self.values, "number", each.dtype, count=count)
            case _:
                raise TypeError(f"Row {row} has no value.")
        self.known.append(made)
        self.single[row] = self.new_value(0)
        return self.single[row]

    def one_number(self, row: Row) -> Place:
        """Return the place of one number for all lanes."""
        if row in self.row_blocks:
            return f"r{self.row_blocks[row][1:]}"
        return self.value_of(row)

    def is_of_strip(self, row: Row) -> bool:
        """Tell whether a row is computed before the loop inside of a strip."""
        is_around = self.is_single(row) or row in self.row_blocks
        return not is_around and self.lanes.section(row) == FIRST

    def computed(self, emit: Emit, each: Compute, places: Sequence[Place]) -> Place:
        """Emit an operation on operands at places, and return that of its result."""
        dtypes = [self.rows[arg].dtype for arg in each.args]
        second = self.rows[each.args[1]] if len(each.args) > 1 else None
        exponent = second.text if isinstance(second, Constant) else ""
        own = self.naming.own_functions
        return compute(emit, each.op, each.dtype, places, dtypes, own, exponent)

    # --- accesses ---------------------------------------------------------------------------------

    def dims_of(self, name: str) -> tuple[Dimension, ...]:
        """Return the dimensions of a buffer."""
        return self.naming.buffer(name)[1].dims

    def check_store(self, store: Store) -> None:
        """Refuse a store that there is no instruction for."""
        if store.add:
            raise CodegenError("A store that adds to what is there cannot be encoded.")

    def axes(
        self,
        access: Load | Store,
        dims: Sequence[Dimension],
        told: Mapping[Row, Place] | None = None,
    ) -> tuple[encoded.Axis, ...]:
        """Return how an access finds its indices; `told` are the blocks of rows in lanes."""
        rows = access.rows or (None,) * len(dims)
        offsets = access.offsets or (0,) * len(dims)
        along = self._index_of_lanes(access, dims)
        return tuple(
            ("lane", 0, offset) if row == along else self._axis(dim, row, offset, told or {})
            for dim, row, offset in zip(dims, rows, offsets, strict=True)
        )

    def told_rows(self, access: Load | Store, dims: Sequence[Dimension]) -> list[Row]:
        """Return the rows that give an access its indices; that of the lanes is not needed."""
        along = self._index_of_lanes(access, dims)
        return [row for row in access.rows if row is not None and row != along]

    def _index_of_lanes(self, access: Load | Store, dims: Sequence[Dimension]) -> Row:
        """Return the row of an access that is the index of the lanes, -1 if it has lanes anyway.

        So it is where a field has the dimension between that of the loop, or another name for it.
        """
        rows = access.rows or (None,) * len(dims)
        has_lanes = any(
            row is None and self.loops.get(dim) == self.lane_loop
            for dim, row in zip(dims, rows, strict=True)
        )
        found = [
            row
            for row in access.rows
            if row is not None
            and isinstance(each := self.rows[row], Index)
            and self.loops[each.dim] == self.lane_loop
        ]
        return found[0] if len(found) == 1 and not has_lanes else -1

    def _axis(
        self, dim: Dimension, row: Row | None, offset: int, told: Mapping[Row, Place]
    ) -> encoded.Axis:
        if row is None:
            number = self.loops.get(dim)
            if number is None:
                return ("fixed", 0, offset)
            is_lane = number == self.lane_loop
            return ("lane", 0, offset) if is_lane else ("value", number, offset)
        if row in told:
            return ("block", int(told[row][1:]), offset)
        if row in self.row_blocks:
            return ("row", int(self.wide.get(row, self.row_blocks[row])[1:]), offset)
        each = self.rows[row]
        place = self.value_of(row)
        if each.dtype != "int64":
            if row not in self.wide:
                name = f"cast.int64.{each.dtype}"
                level = 0 if isinstance(each, CALL) else each.level
                self.wide[row] = self.new_value(level)
                self.around[level].append(Step(name, self.wide[row], (place,)))
            place = self.wide[row]
        return ("value", int(place[1:]), offset)

    def access(self, access: Load | Store, axes: tuple[encoded.Axis, ...]) -> Place:
        """Return an access of its own."""
        number, buffer = self.naming.buffer(access.buffer)
        if len(axes) > encoded.MOST_AXES:
            raise CodegenError(f"'{buffer.name}' has more dimensions than can be encoded.")
        kinds = [kind for kind, _, _ in axes]
        is_row = (
            "lane" in kinds
            and "block" not in kinds
            and buffer.dims[kinds.index("lane")] is buffer.unit
        )
        streams = is_row and isinstance(access, Store) and access.buffer in self.streams
        self.accesses.append(encoded.Access(number, axes, is_row, streams=streams))
        return f"a{len(self.accesses) - 1}"

    def found(
        self, access: Load | Store, axes: tuple[encoded.Axis, ...], code: list[Step]
    ) -> Place:
        """Return an access whose row is found as far outside as its indices allow."""
        number, _ = self.naming.buffer(access.buffer)
        key = encoded.Access(number, axes)
        has_block = any(kind == "block" for kind, _, _ in axes)
        if key in self.points and not has_block:
            return self.points[key]
        place = self.access(access, axes)
        levels = [self.levels[number] for kind, number, _ in axes if kind == "value"]
        levels += [self.lanes.outer for kind, _, _ in axes if kind == "row"]
        level = max(levels, default=0)
        if level <= self.lanes.outer:
            self.around[level].append(Step("point", place))
            if not has_block:
                self.points[key] = place
        else:
            code.append(Step("point", place))
        return place

    # --- blocks -----------------------------------------------------------------------------------

    def block(self, dtype: str) -> Place:
        """Return a block; one that was in use has numbers of the same size, see `chains.h`."""
        size = ITEMSIZES[dtype]
        if self.free.get(size):
            return self.free[size].pop()
        self.sizes[f"t{self.blocks}"] = size
        return self.lasting()

    def give_back(self, block: Place) -> None:
        """Let other rows take a block."""
        self.free.setdefault(self.sizes[block], []).append(block)

    def lasting(self) -> Place:
        """Return a block that no other row takes."""
        self.blocks += 1
        return f"t{self.blocks - 1}"
