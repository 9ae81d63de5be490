"""Build the table of a dataflow program: every different value becomes one row, once."""

from __future__ import annotations

from collections.abc import Iterable

from ...runtime.dimension import Dimension
from ..ir.dataflow import (
    COMPARISONS,
    PREDICATES,
    Input,
    Literal,
    Map,
    Ref,
    Scalar,
    Shift,
    Value,
    union_of,
)
from ..ir.literal import respell

BOOLEAN = frozenset((*COMPARISONS, *PREDICATES, "and", "or", "xor", "not"))


class Graph:
    """A table that grows; adding an equal row again gives the reference of the first.

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
        """Return the row of `value`."""
        row = self._rows.setdefault(value, len(self.values))
        if row == len(self.values):
            self.values.append(value)
        return row

    def input(self, name: str, dims: tuple[Dimension, ...], dtype: str, version: int = 0) -> Ref:
        """Read a field as it stands after `version` statements have written it."""
        return self.add(Input(name=name, dims=dims, dtype=dtype, version=version))

    def scalar(self, name: str, dtype: str) -> Ref:
        """Read a scalar parameter."""
        return self.add(Scalar(name=name, dims=(), dtype=dtype))

    def literal(self, dtype: str, text: str) -> Ref:
        """Give a number, in its canonical spelling."""
        return self.add(Literal(dims=(), dtype=dtype, text=respell(text, dtype)))

    def map(self, op: str, args: Iterable[Ref], dtype: str = "") -> Ref:
        """Combine values point by point; `dtype` is needed for 'cast' only."""
        args = tuple(args)
        dims = union_of(self.values[arg].dims for arg in args)
        # the last operand, because a select begins with its condition
        dtype = "bool" if op in BOOLEAN else dtype or self.values[args[-1]].dtype
        return self.add(Map(op=op, args=args, dims=dims, dtype=dtype))

    def shift(self, arg: Ref, dim: Dimension, offset: int) -> Ref:
        """Move a value along a dimension; one that does not vary there stays what it is."""
        value = self.values[arg]
        if offset == 0 or dim not in value.dims:
            return arg
        if isinstance(value, Shift) and value.dim is dim:
            return self.shift(value.arg, dim, value.offset + offset)
        return self.add(Shift(arg=arg, dim=dim, offset=offset, dims=value.dims, dtype=value.dtype))
