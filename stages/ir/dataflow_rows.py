"""The rows of the dataflow IR: what a value is, and which rows it is made from.

`dataflow` has the grammar and imports all names of this module; other modules import from there.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ...runtime.language import Dimension, flip_staggered
from ...runtime.language.operation_table import TABLE
from ...runtime.process import classes
from .bounds import Bound

Ref: TypeAlias = int

REDUCTIONS: Final = ("sum", "max", "min")
OPERATIONS: Final = tuple(row.name for row in TABLE)


@classes.frozen(kw_only=True)
class Value:
    """A row of the table: numbers of one dtype over dimensions in canonical order."""

    dims: tuple[Dimension, ...]
    dtype: str

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The rows of the operands."""
        return ()


@classes.frozen(kw_only=True)
class Input(Value):
    """Read a field parameter; printed `input u` or `input u @1` after one write."""

    name: str
    version: int = 0


@classes.frozen(kw_only=True)
class Scalar(Value):
    """Read a scalar parameter; printed `scalar dt`."""

    name: str


@classes.frozen(kw_only=True)
class Literal(Value):
    """A number in its canonical spelling; printed `literal 0.5`."""

    text: str


@classes.frozen(kw_only=True)
class Index(Value):
    """The index along `dim` itself, an int64; printed `index K`."""

    dim: Dimension


@classes.frozen(kw_only=True)
class Map(Value):
    """Combine values point by point; printed `add %1 %2`."""

    op: str
    args: tuple[Ref, ...]

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The arguments."""
        return self.args


@classes.frozen(kw_only=True)
class OfOne(Value):
    """A value that looks at one other, `arg`, elsewhere than where it stands."""

    arg: Ref

    @property
    def operands(self) -> tuple[Ref, ...]:
        """That other value."""
        return (self.arg,)


@classes.frozen(kw_only=True)
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


@classes.frozen(kw_only=True)
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


@classes.frozen(kw_only=True)
class Gather(OfOne):
    """The value at neighbour `index` of a table; printed `gather %1 E2C[0]`.

    The target dimension of the table replaces its source dimension. At a skip value the result is
    undefined, but no access is out of bounds.
    """

    table: str
    index: int


@classes.frozen(kw_only=True)
class Neighbours(OfOne):
    """The values at all neighbours, over the local dimension too; printed `neighbours %1 C2E`."""

    table: str


@classes.frozen(kw_only=True)
class Collect(OfOne):
    """The values at all points that have a point for a neighbour; printed `collect %1 E2V_t E2V_s`.

    `table` is the transpose of a neighbour table: it lists the points. `slots` has for each of them
    the slot in which it has the neighbour, which is the slot that is read of a value with the local
    dimension. If `index` is given, the value is 0 where the slot is another one; printed
    `collect %1 E2V_t E2V_s slot 0`. Where nothing is listed the result is undefined.
    """

    table: str
    slots: str
    index: int | None = None


@classes.frozen(kw_only=True)
class Reduce(OfOne):
    """Combine the valid slots of a table's local dimension, in order; printed `sum %1 over C2E`.

    `op` is sum, max or min. A sum starts at 0, the others at the first valid slot; without a valid
    slot their result is the lowest (max) or highest (min) finite number of the dtype. A value
    without the local dimension is equal in all slots. If the table has skip values, the result has
    its target dimension.
    """

    op: str
    table: str


@classes.frozen(kw_only=True)
class Local(OfOne):
    """Slot `index` of a value with a local dimension; printed `local %1 E2C[1]`."""

    dim: Dimension
    index: int


@classes.frozen(kw_only=True)
class Level(OfOne):
    """The value at index `at` along `dim`, which the result lacks; printed `level %1 K at n`."""

    dim: Dimension
    at: Bound


@classes.frozen
class Side:
    """The start and stop of a region's box along one dimension; None is infinity."""

    dim: Dimension
    start: Bound | None
    stop: Bound | None


@classes.frozen(kw_only=True)
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


@classes.frozen
class Body:
    """The body of a scan at one level, on scalars: a table of values without dimensions.

    Its `Scalar` rows are named `s0, s1, ...` (the leaves of the state) and `a0, a1, ...` (the
    arguments); `results` are the rows of the next state.
    """

    values: tuple[Value, ...]
    results: tuple[Ref, ...]


@classes.frozen(kw_only=True)
class Scan(Value):
    """Scan columns along `axis` over the levels `start .. stop`, downwards if not `forward`.

    The levels are those that the statement writes; a statement that writes other levels has another
    scan. `init` and `args` are rows; an argument without `axis` is constant in a column, and a
    first state always is. Only
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


@classes.frozen(kw_only=True)
class Result(Value):
    """One leaf of the state of a scan at every level; printed `result %5 1`."""

    scan: Ref
    index: int

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The scan."""
        return (self.scan,)
