"""Dataflow IR: what a program computes, without saying where or when.

    program   ::= leaves, values, statements
    value     ::= Input | Scalar | Literal
                | Map(op, value...)       pointwise; dims are the canonical union of the operands'
                | Shift(value, dim, n)    g(i) = f(i + n)
                | Displace(value, dim, value)
                | Gather(value, table, k) | Neighbours(value, table)
                | Reduce(op, value, table)    op is sum, max or min
                | Local(value, dim, k)
                | Region(boxes, value, value)
                | Scan(body, first states, arguments) and Result(scan, k)
    statement ::= store...                all values of a statement are read before it writes
    store     ::= output[box] = value

Values are rows of one table, each referring to earlier rows only; a reference
is a row number, and equal rows are one row (hash-consing), so structural equality is
identity. Tuples do not exist here: a leaf `pair.0.1` is an element of a parameter.
`Input(u, version=n)` is field `u` as it stands after n statements have written it.
There is no broadcast: a value is constant along the dimensions that it does not have,
where it is combined with others and where it is stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, TypeAlias
from typing import Literal as OneOf

import attrs

from ...runtime.language.dimension import Dimension, flip_staggered
from ...runtime.language.operation_table import TABLE
from .bounds import Bound, DomainSymbol, Ranges

Ref: TypeAlias = int

REDUCTIONS: Final = ("sum", "max", "min")
OPERATIONS: Final = tuple(row.name for row in TABLE)


@attrs.frozen(kw_only=True)
class Value:
    """A row of the table: numbers of one dtype over dimensions in canonical order."""

    dims: tuple[Dimension, ...]
    dtype: str

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The rows that this one is made from."""
        return ()


@attrs.frozen(kw_only=True)
class Input(Value):
    """Read a field parameter; printed `input u` or `input u @1` after one write."""

    name: str
    version: int = 0


@attrs.frozen(kw_only=True)
class Scalar(Value):
    """Read a scalar parameter; printed `scalar dt`."""

    name: str


@attrs.frozen(kw_only=True)
class Literal(Value):
    """A number in its canonical spelling; printed `literal 0.5`."""

    text: str


@attrs.frozen(kw_only=True)
class Map(Value):
    """Combine values point by point; printed `add %1 %2`."""

    op: str
    args: tuple[Ref, ...]

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The arguments."""
        return self.args


@attrs.frozen(kw_only=True)
class Shift(Value):
    """The value `offset` indices further along `dim`; printed `shift %1 I+1`.

    The result may have the staggered counterpart of `dim` for it: then it is read `offset` further
    on `dim` than it stands on `onto`.
    """

    arg: Ref
    dim: Dimension
    offset: int

    @property
    def onto(self) -> Dimension:
        """The dimension of the result: `dim`, or its staggered counterpart."""
        return self.dim if self.dim in self.dims else flip_staggered(self.dim)

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The value that is shifted."""
        return (self.arg,)


@attrs.frozen(kw_only=True)
class Displace(Value):
    """The value `by` indices further along `dim`, `by` a value too; printed `displace %1 K %2`.

    An index outside the range that the argument has (an input its own, a scan its levels) is moved
    to the nearest inside: what it gives is undefined, but never read from outside.
    """

    arg: Ref
    dim: Dimension
    by: Ref

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The value that is read, and how far away."""
        return self.arg, self.by


@attrs.frozen(kw_only=True)
class Gather(Value):
    """The value at neighbour `index` of a table; printed `gather %1 E2C[0]`.

    The source dimension of the table becomes its target dimension. Where the entry is a skip value
    the value is undefined, but never read from outside.
    """

    arg: Ref
    table: str
    index: int

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The value that is gathered."""
        return (self.arg,)


@attrs.frozen(kw_only=True)
class Neighbours(Value):
    """The values at all neighbours: the table's local dim is new; printed `neighbours %1 C2E`."""

    arg: Ref
    table: str

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The value that is gathered."""
        return (self.arg,)


@attrs.frozen(kw_only=True)
class Reduce(Value):
    """Combine the valid slots of a table's local dimension, in order; printed `sum %1 over C2E`.

    `op` is sum, max or min. A sum starts at 0; the others at the first valid slot, and with none
    the result is the lowest (max) or highest (min) finite number of the dtype. A value without
    the local dimension is the same in every slot. Where slots may be missing, the result has the
    target dimension of the table.
    """

    op: str
    arg: Ref
    table: str

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The value that is reduced."""
        return (self.arg,)


@attrs.frozen(kw_only=True)
class Local(Value):
    """Slot `index` of a value with a local dimension; printed `local %1 E2C[1]`."""

    arg: Ref
    dim: Dimension
    index: int

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The value with the local dimension."""
        return (self.arg,)


@attrs.frozen
class Side:
    """Where a box of a region begins and ends along one dimension; None is infinity."""

    dim: Dimension
    start: Bound | None
    stop: Bound | None


@attrs.frozen(kw_only=True)
class Region(Value):
    """`then` inside any of the boxes, `otherwise` outside all; each is needed on its part only.

    A box restricts the dimensions that it names; the boxes do not overlap.
    Printed `region [K: 0 .. n] %1 %2`.
    """

    boxes: tuple[tuple[Side, ...], ...]
    then: Ref
    otherwise: Ref

    @property
    def operands(self) -> tuple[Ref, ...]:
        """Both branches."""
        return self.then, self.otherwise


@attrs.frozen
class Body:
    """What a scan does at one level, on scalars: a table of values without dimensions.

    Its `Scalar` rows are named `s0, s1, ...` (the leaves of the state) and `a0, a1, ...` (the
    arguments); `results` are the rows of the next state.
    """

    values: tuple[Value, ...]
    results: tuple[Ref, ...]


@attrs.frozen(kw_only=True)
class Scan(Value):
    """Walk columns along `axis` over the levels `start .. stop`, downwards if not `forward`.

    The levels are those that the statement writes; one that writes others has another scan. `init`
    and `args` are rows; an argument without `axis` is constant in the column. The value itself
    is never used but through `Result`; its dtype is that of the first leaf of the state. At levels
    that it does not walk its results are undefined.
    """

    body: Body
    init: tuple[Ref, ...]
    args: tuple[Ref, ...]
    axis: Dimension
    forward: bool
    start: Bound
    stop: Bound

    @property
    def operands(self) -> tuple[Ref, ...]:
        """First states and arguments."""
        return *self.init, *self.args


@attrs.frozen(kw_only=True)
class Result(Value):
    """One leaf of the state of a scan at every level; printed `result %5 1`."""

    scan: Ref
    index: int

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The scan."""
        return (self.scan,)


@attrs.frozen
class Table:
    """A neighbour table: `target` x `local` indices of `source`; `skip` says that -1 may occur."""

    name: str
    source: Dimension
    target: Dimension
    local: Dimension
    width: int
    skip: bool


@attrs.frozen
class Leaf:
    """A field or scalar inside a parameter; `path` is the parameter's index and those inside it.

    `ranges` are those of a field whose domain is compiled in, empty where only a call knows it.
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


@attrs.frozen
class Store:
    """Write `value` to the box of a field leaf."""

    target: str
    box: Ranges
    value: Ref


@attrs.frozen
class Statement:
    """Stores that all read before any of them writes."""

    stores: tuple[Store, ...]


@attrs.frozen
class Dataflow:
    """A whole program; `parameters` are the names that a caller uses, in order."""

    name: str
    parameters: tuple[str, ...]
    leaves: tuple[Leaf, ...]
    values: tuple[Value, ...]
    statements: tuple[Statement, ...]
    tables: tuple[Table, ...] = ()


@attrs.frozen
class Read:
    """The box of a field leaf that a statement reads, and whether only point by point."""

    statement: int
    name: str
    box: Ranges
    pointwise: bool


def union_of(lists: Iterable[tuple[Dimension, ...]]) -> tuple[Dimension, ...]:
    """Return the dimensions of all the lists in canonical order: by kind, then by name.

    >>> I, K = Dimension("I"), Dimension("K", "vertical")
    >>> [dim.value for dim in union_of([(K,), (I, K)])]
    ['I', 'K']
    """
    return _union(tuple(lists))


@lru_cache(maxsize=4096)
def _union(lists: tuple[tuple[Dimension, ...], ...]) -> tuple[Dimension, ...]:
    longest: tuple[Dimension, ...] = ()
    for dims in lists:
        if dims != longest and not set(dims) <= set(longest):
            longest = tuple(sorted({*longest, *dims}, key=_place)) if longest else dims
    return longest


def is_canonical(dims: tuple[Dimension, ...]) -> bool:
    """Tell whether `dims` stand in canonical order, each once."""
    return dims == tuple(sorted(dims, key=_place)) and len(set(dims)) == len(dims)


def _place(dim: Dimension) -> tuple[str, str]:
    # 'horizontal' < 'local' < 'vertical'; a staggered dimension stands where its base does
    return dim.kind.value, dim.value.removeprefix("_Staggered")
