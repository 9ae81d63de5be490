"""Dataflow IR: the values of a program in SSA form, without loops or memory.

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
    statement ::= store...                a statement reads all its values before it writes
    store     ::= output[box] (of [box])? = value

SSA values are rows of one table and refer to earlier rows only; a reference is a row number. Equal
values share one row (hash-consing), so structural equality is identity. The IR has no tuples: a
leaf `pair.0.1` is an element of a parameter. `Input(u, version=n)` is field `u` after n statements
have written it. The IR has no broadcast: a value is constant along the dimensions that it lacks,
both as an operand and in a store.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, TypeAlias
from typing import Literal as OneOf

import attrs

from ...runtime.language.dimension import Dimension, flip_staggered, in_canonical_order
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
        """The rows of the operands."""
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
class OfOne(Value):
    """A value that looks at one other, `arg`, elsewhere than where it stands."""

    arg: Ref

    @property
    def operands(self) -> tuple[Ref, ...]:
        """That other value."""
        return (self.arg,)


@attrs.frozen(kw_only=True)
class Shift(OfOne):
    """The value `offset` indices further along `dim`; printed `shift %1 I+1`.

    The result may have the staggered counterpart `onto` in place of `dim`: then index i on `onto`
    reads index i + offset on `dim`.
    """

    dim: Dimension
    offset: int

    @property
    def onto(self) -> Dimension:
        """The dimension of the result: `dim`, or its staggered counterpart."""
        return self.dim if self.dim in self.dims else flip_staggered(self.dim)


@attrs.frozen(kw_only=True)
class Displace(Value):
    """The value `by` indices further along `dim`; `by` is a value; printed `displace %1 K %2`.

    An index outside the range of the argument (of an input, or the levels of a scan) is clamped to
    it: the result is undefined, but no access is out of bounds.
    """

    arg: Ref
    dim: Dimension
    by: Ref

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The value and its distance."""
        return self.arg, self.by


@attrs.frozen(kw_only=True)
class Gather(OfOne):
    """The value at neighbour `index` of a table; printed `gather %1 E2C[0]`.

    The target dimension of the table replaces its source dimension. At a skip value the result is
    undefined, but no access is out of bounds.
    """

    table: str
    index: int


@attrs.frozen(kw_only=True)
class Neighbours(OfOne):
    """The values at all neighbours, over the local dimension too; printed `neighbours %1 C2E`."""

    table: str


@attrs.frozen(kw_only=True)
class Reduce(OfOne):
    """Combine the valid slots of a table's local dimension, in order; printed `sum %1 over C2E`.

    `op` is sum, max or min. A sum starts at 0, the others at the first valid slot; without a valid
    slot their result is the lowest (max) or highest (min) finite number of the dtype. A value
    without the local dimension is equal in all slots. If the table has skip values, the result has
    its target dimension.
    """

    op: str
    table: str


@attrs.frozen(kw_only=True)
class Local(OfOne):
    """Slot `index` of a value with a local dimension; printed `local %1 E2C[1]`."""

    dim: Dimension
    index: int


@attrs.frozen
class Side:
    """The start and stop of a region's box along one dimension; None is infinity."""

    dim: Dimension
    start: Bound | None
    stop: Bound | None


@attrs.frozen(kw_only=True)
class Region(Value):
    """`then` inside any of the boxes, `otherwise` outside all; each is computed on its part only.

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
    """The body of a scan at one level, on scalars: a table of values without dimensions.

    Its `Scalar` rows are named `s0, s1, ...` (the leaves of the state) and `a0, a1, ...` (the
    arguments); `results` are the rows of the next state.
    """

    values: tuple[Value, ...]
    results: tuple[Ref, ...]


@attrs.frozen(kw_only=True)
class Scan(Value):
    """Scan columns along `axis` over the levels `start .. stop`, downwards if not `forward`.

    The levels are those that the statement writes; a statement that writes other levels has another
    scan. `init` and `args` are rows; an argument without `axis` is constant in a column. Only
    `Result` uses the value itself; its dtype is that of the first leaf of the state. The results
    are undefined on levels outside `start .. stop`.
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
    """A neighbour table: indices of `source` over `target` x `local`; with `skip` -1 may occur.

    `source` is `local` where no offset says what the table holds: reductions need no more.
    """

    name: str
    source: Dimension
    target: Dimension
    local: Dimension
    width: int
    skip: bool


@attrs.frozen
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


@attrs.frozen
class Store:
    """Write `value` to the box of a field leaf, which may be a part of an output's box `whole`."""

    target: str
    box: Ranges
    value: Ref
    whole: Ranges | None = None

    @property
    def output(self) -> Store:
        """The store of the whole output."""
        return self if self.whole is None else attrs.evolve(self, box=self.whole, whole=None)


@attrs.frozen
class Statement:
    """A group of stores that all read before any of them writes."""

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
    """The box of a field leaf that a statement reads; `pointwise` if it reads no other point.

    If `hard` is given, only that part of the box must exist: the code has a version that clamps the
    other reads, which `where` hides.
    """

    statement: int
    name: str
    box: Ranges
    pointwise: bool
    hard: Ranges | None = None


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
            longest = in_canonical_order((*longest, *dims)) if longest else dims
    return longest


def is_canonical(dims: tuple[Dimension, ...]) -> bool:
    """Tell whether `dims` stand in canonical order, each once."""
    return dims == in_canonical_order(dims)
