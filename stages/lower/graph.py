"""Build the table of a dataflow program with hash-consing: equal SSA values share one row."""

from __future__ import annotations

from collections.abc import Iterable

from ...runtime.language import Dimension, union_of
from ...runtime.language.operation_table import TABLE
from ...runtime.process import classes
from ..ir.column_rows import Column
from ..ir.dataflow import (
    Body,
    Bound,
    Collect,
    Displace,
    Gather,
    Index,
    Input,
    Level,
    Literal,
    Local,
    Map,
    Neighbours,
    Reduce,
    Ref,
    Region,
    Result,
    Scalar,
    Scan,
    Shift,
    Side,
    Table,
    Value,
)
from ..ir.literal import respell

BOOLEAN = frozenset(row.name for row in TABLE if row.gives == "bool")


class Graph:
    """A growing table of SSA values; adding an equal value again returns the existing row.

    >>> graph = Graph()
    >>> one = graph.literal("int32", "1")
    >>> graph.map("add", (one, one)) == graph.map("add", (one, one)), len(graph.values)
    (True, 2)
    """

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._rows: dict[Value, Ref] = {}

    def __getitem__(self, ref: Ref) -> Value:
        return self.values[ref]

    def add(self, value: Value) -> Ref:
        """Return the row of `value`; append one if it is new."""
        row = self._rows.setdefault(value, len(self.values))
        if row == len(self.values):
            self.values.append(value)
        return row

    def input(self, name: str, dims: tuple[Dimension, ...], dtype: str, version: int = 0) -> Ref:
        """Read a field after `version` statements have written it."""
        return self.add(Input(name=name, dims=dims, dtype=dtype, version=version))

    def scalar(self, name: str, dtype: str) -> Ref:
        """Read a scalar parameter."""
        return self.add(Scalar(name=name, dims=(), dtype=dtype))

    def literal(self, dtype: str, text: str) -> Ref:
        """Add a number in its canonical spelling."""
        return self.add(Literal(dims=(), dtype=dtype, text=respell(text, dtype)))

    def index(self, dim: Dimension) -> Ref:
        """Add the index along a dimension."""
        return self.add(Index(dim=dim, dims=(dim,), dtype="int64"))

    def map(self, op: str, args: Iterable[Ref], dtype: str = "") -> Ref:
        """Combine values point by point; `dtype` is needed for 'cast' only."""
        args = tuple(args)
        dims = union_of(self.values[arg].dims for arg in args)
        # the last operand, because a select begins with its condition
        dtype = "bool" if op in BOOLEAN else dtype or self.values[args[-1]].dtype
        return self.add(Map(op=op, args=args, dims=dims, dtype=dtype))

    def shift(self, arg: Ref, dim: Dimension, offset: int, onto: Dimension | None = None) -> Ref:
        """Shift a value along a dimension; return the value itself if it does not vary there.

        `onto` is the dimension of the result, if it is the staggered counterpart.
        """
        value, onto = self.values[arg], onto or dim
        if dim not in value.dims or (offset == 0 and onto is dim):
            return arg
        if isinstance(value, Shift) and value.onto is dim:
            return self.shift(value.arg, value.dim, value.offset + offset, onto)
        dims = tuple(onto if each is dim else each for each in value.dims)
        return self.add(Shift(arg=arg, dim=dim, offset=offset, dims=dims, dtype=value.dtype))

    def displace(self, arg: Ref, dim: Dimension, by: Ref) -> Ref:
        """Displace a value by another one; return the value itself if it does not vary there.

        A displacement of a displacement reads once, at the sum of both distances.
        """
        value = self.values[arg]
        if dim not in value.dims:
            return arg
        if isinstance(value, Displace) and value.dim is dim:
            further = self.displace(value.by, dim, by)
            return self.displace(value.arg, dim, self.map("add", map(self._wide, (by, further))))
        if isinstance(value, Index):
            return self.map("add", (arg, self._wide(by)))
        dims = union_of((value.dims, self.values[by].dims))
        return self.add(Displace(arg=arg, dim=dim, by=by, dims=dims, dtype=value.dtype))

    def _wide(self, ref: Ref) -> Ref:
        """Return an integer as one to which others can be added."""
        return ref if self.values[ref].dtype == "int64" else self.map("cast", (ref,), "int64")

    def gather(self, arg: Ref, table: Table, index: int) -> Ref:
        """Take one neighbour; return the value itself if it does not vary among neighbours."""
        value = self.values[arg]
        if table.source not in value.dims:
            return arg
        dims = gathered(value.dims, table)
        return self.add(
            Gather(arg=arg, table=table.name, index=index, dims=dims, dtype=value.dtype)
        )

    def neighbours(self, arg: Ref, table: Table) -> Ref:
        """Take all neighbours; return the value itself if it does not vary among neighbours."""
        value = self.values[arg]
        if table.source not in value.dims:
            return arg
        dims = union_of((gathered(value.dims, table), (table.local,)))
        return self.add(Neighbours(arg=arg, table=table.name, dims=dims, dtype=value.dtype))

    def collect(self, arg: Ref, table: Table, slots: Table, index: int | None = None) -> Ref:
        """Take the values at all points that a transposed table lists, or those of one slot.

        A value without slots is the same in all.
        """
        value = self.values[arg]
        if index is None and slots.source not in value.dims:
            return self.neighbours(arg, table)
        kept = (dim for dim in value.dims if dim not in (table.source, slots.source))
        dims = union_of((tuple(kept), (table.target, table.local)))
        return self.add(
            Collect(
                arg=arg, table=table.name, slots=slots.name, index=index, dims=dims,
                dtype=value.dtype,
            )
        )  # fmt: skip

    def reduce(self, op: str, arg: Ref, table: Table) -> Ref:
        """Combine the slots of a table's local dimension."""
        value = self.values[arg]
        dims = reduced(value.dims, table)
        return self.add(Reduce(op=op, arg=arg, table=table.name, dims=dims, dtype=value.dtype))

    def local(self, arg: Ref, dim: Dimension, index: int) -> Ref:
        """Take one slot; a slot of all neighbours becomes one neighbour."""
        value = self.values[arg]
        if dim not in value.dims:
            return arg
        if isinstance(value, Neighbours) and dim not in self.values[value.arg].dims:
            kept = without(value.dims, dim)
            return self.add(
                Gather(arg=value.arg, table=value.table, index=index, dims=kept, dtype=value.dtype)
            )
        dims = without(value.dims, dim)
        return self.add(Local(arg=arg, dim=dim, index=index, dims=dims, dtype=value.dtype))

    def level(self, arg: Ref, dim: Dimension, at: Bound) -> Ref:
        """Take the value at one index; return the value itself if it does not vary there."""
        value = self.values[arg]
        if dim not in value.dims:
            return arg
        dims = without(value.dims, dim)
        return self.add(Level(arg=arg, dim=dim, at=at, dims=dims, dtype=value.dtype))

    def region(self, boxes: tuple[tuple[Side, ...], ...], then: Ref, otherwise: Ref) -> Ref:
        """Choose by the index; return a branch if the region is everywhere or nowhere."""
        if then == otherwise or not boxes:
            return otherwise
        if () in boxes:
            return then
        ours, theirs = self.values[then], self.values[otherwise]
        inside = (tuple(side.dim for side in box) for box in boxes)
        dims = union_of((*inside, ours.dims, theirs.dims))
        return self.add(
            Region(boxes=boxes, then=then, otherwise=otherwise, dims=dims, dtype=ours.dtype)
        )

    def scan(
        self,
        body: Body,
        init: tuple[Ref, ...],
        args: tuple[Ref, ...],
        axis: Dimension,
        forward: bool,
        levels: tuple[Bound, Bound],
    ) -> tuple[Ref, ...]:
        """Add a scan; return one row for each leaf of the state."""
        dims = union_of([(axis,), *(self.values[each].dims for each in (*init, *args))])
        dtypes = [self.values[each].dtype for each in init]
        scan = self.add(
            Scan(
                body=body, init=init, args=args, axis=axis, forward=forward,
                start=levels[0], stop=levels[1], dims=dims, dtype=dtypes[0],
            )
        )  # fmt: skip
        return tuple(
            self.add(Result(scan=scan, index=index, dims=dims, dtype=dtype))
            for index, dtype in enumerate(dtypes)
        )

    def column(self, column: Column) -> tuple[Ref, ...]:
        """Add imperative columns, whose dimensions follow; return one row for each variable."""
        operands = [self.values[each] for each in column.operands]
        dims = union_of([(column.axis,), *(each.dims for each in operands)])
        made = classes.evolve(column, dims=dims, dtype=operands[0].dtype)
        row, dtypes = self.add(made), [self.values[each].dtype for each in made.init]
        return tuple(
            self.add(Result(scan=row, index=index, dims=made.dims_of(index), dtype=dtype))
            for index, dtype in enumerate(dtypes)
        )


class ColumnRows(Graph):
    """The rows of a column: each stands where it is added, because variables change."""

    def add(self, value: Value) -> Ref:
        """Append a row."""
        self.values.append(value)
        return len(self.values) - 1


Dims = tuple[Dimension, ...]


def without(dims: Dims, dim: Dimension) -> Dims:
    """Return the dimensions without one of them."""
    return tuple(each for each in dims if each is not dim)


def gathered(dims: Dims, table: Table) -> Dims:
    """Return dimensions with the target of a table for its source."""
    return union_of((without(dims, table.source), (table.target,)))


def reduced(dims: Dims, table: Table) -> Dims:
    """Return the dimensions of a reduction; with skip values the target dimension is among them."""
    kept = without(dims, table.local)
    return union_of((kept, (table.target,))) if table.skip else kept
