"""Dataflow IR: the values of a program in SSA form, without loops or memory.

    program   ::= leaves, values, statements
    value     ::= Input | Scalar | Literal | Index(dim)
                | Map(op, value...)       pointwise; dims are the canonical union of the operands'
                | Shift(value, dim, n)    g(i) = f(i + n)
                | Displace(value, dim, value)
                | Gather(value, table, k) | Neighbours(value, table)
                | Collect(value, transposed table, its slots, k)
                | Reduce(op, value, table)    op is sum, max or min
                | Local(value, dim, k)
                | Level(value, dim, bound)
                | Region(boxes, value, value)
                | Scan(body, first states, arguments) and Result(scan, k)
                | Column(body, first values, arguments) and Result(column, k)    see `column_rows`
    statement ::= store...                a statement reads all its values before it writes
    store     ::= output[box] (of [box])? = value

SSA values are rows of one table and refer to earlier rows only; a reference is a row number. Equal
values share one row (hash-consing), so structural equality is identity. The IR has no tuples: a
leaf `pair.0.1` is an element of a parameter. `Input(u, version=n)` is field `u` after n statements
have written it. The IR has no broadcast: a value is constant along the dimensions that it lacks,
both as an operand and in a store.
"""

from __future__ import annotations

from typing import Literal as OneOf

from ...runtime.language import Dimension
from ...runtime.process import classes
from .bounds import (
    Apply,
    Bound,
    Const,
    DomainSymbol,
    Range,
    Ranges,
    ScalarSymbol,
    TableBound,
    add,
    difference,
    greatest,
    is_empty_box,
    least,
    maximum,
    minimum,
    parts,
    subtract,
    table_range,
)
from .dataflow_rows import (
    OPERATIONS,
    REDUCTIONS,
    Body,
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
    OfOne,
    Reduce,
    Ref,
    Region,
    Result,
    Scalar,
    Scan,
    Shift,
    Side,
    Value,
)

__all__ = [
    "OPERATIONS", "REDUCTIONS", "Apply", "Body", "Bound", "Collect", "Const", "Dataflow",
    "Displace", "DomainSymbol", "Gather", "Index", "Input", "Leaf", "Level", "Literal", "Local",
    "Map", "Neighbours", "OfOne", "Range", "Ranges", "Read", "Reduce",
    "Ref", "Region", "Result", "Scalar", "ScalarSymbol", "Scan", "Shift", "Side", "Statement",
    "Store", "Table", "TableBound", "Value", "add", "difference", "greatest", "is_empty_box",
    "least", "maximum", "minimum", "parts", "subtract", "table_range",
]  # fmt: skip


@classes.frozen
class Table:
    """A neighbour table: indices of `source` over `target` x `local`; with `skip` -1 may occur.

    `source` is `local` where no offset says what the table holds: reductions need no more.
    """

    name: str
    source: Dimension
    target: Dimension
    local: Dimension
    width: int
    skip: bool


@classes.frozen
class Leaf:
    """A field or scalar in a parameter; `path` is the index of the parameter and those inside it.

    `ranges` is the domain of a field if it is compiled in, else empty.
    """

    name: str
    path: tuple[int, ...]
    kind: OneOf["field", "scalar"]
    dtype: str
    dims: tuple[Dimension, ...] = ()
    ranges: Ranges = ()

    def ends(self, dim: Dimension) -> tuple[Bound, Bound]:
        """Return the first index along a dimension, and one past the last."""
        for known in self.ranges:
            if known.dim is dim:
                return known.start, known.stop
        return DomainSymbol("start", self.name, dim), DomainSymbol("stop", self.name, dim)


@classes.frozen
class Store:
    """Write `value` to the box of a field leaf, which may be a part of an output's box `whole`."""

    target: str
    box: Ranges
    value: Ref
    whole: Ranges | None = None

    @property
    def output(self) -> Store:
        """The store of the whole output."""
        return self if self.whole is None else classes.evolve(self, box=self.whole, whole=None)


@classes.frozen
class Statement:
    """A group of stores that all read before any of them writes."""

    stores: tuple[Store, ...]


@classes.frozen
class Dataflow:
    """A whole program; `parameters` are the names that a caller uses, in order."""

    name: str
    parameters: tuple[str, ...]
    leaves: tuple[Leaf, ...]
    values: tuple[Value, ...]
    statements: tuple[Statement, ...]
    tables: tuple[Table, ...] = ()


@classes.frozen
class Read:
    """The box of a field leaf that a statement reads; `pointwise` if it reads no other point.

    If `hard` is given, only that part of the box must exist: the code has a version that clamps the
    other reads, which `where` hides.
    """

    statement: int
    name: str
    box: Ranges
    pointwise: bool
    hard: Ranges | None = None
