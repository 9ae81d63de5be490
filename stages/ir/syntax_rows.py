"""The rows of the typed syntax tree: names, numbers, operations, accesses, calls.

`syntax` has the grammar and imports all names of this module; other modules import from there.
"""

from __future__ import annotations

from typing import TypeAlias

from ...runtime.language import DataType, Dimension, DomainType, OffsetType
from ...runtime.process import classes

Ref: TypeAlias = int


@classes.frozen(kw_only=True)
class Expression:
    """A row of the table; `type` is the type of its value."""

    type: DataType | DomainType


@classes.frozen(kw_only=True)
class Name(Expression):
    """Read a parameter or the latest version of a local variable."""

    id: str


@classes.frozen(kw_only=True)
class Literal(Expression):
    """A number; `text` is its canonical spelling: 'True', '3', '0.1', 'inf', 'nan'."""

    text: str


@classes.frozen(kw_only=True)
class Operation(Expression):
    """A pointwise operation or math builtin on scalars and fields.

    `op` is an operation of the dataflow IR (`add`, `lt`, `sqrt`, ...) except `cast` and `select`.
    """

    op: str
    args: tuple[Ref, ...]


@classes.frozen(kw_only=True)
class Select(Expression):
    """`where` (mask a field) or a ternary (condition a scalar), element-wise on tuples."""

    condition: Ref
    then: Ref
    otherwise: Ref


@classes.frozen(kw_only=True)
class TupleOf(Expression):
    """Make a tuple or a named collection."""

    elements: tuple[Ref, ...]


@classes.frozen(kw_only=True)
class Element(Expression):
    """Read one element of a tuple or of a named collection."""

    of: Ref
    index: int


@classes.frozen(kw_only=True)
class ShiftBy(Expression):
    """Apply a field to a Cartesian offset: g(i) = f(i + offset).

    `dim` is the dimension of the field, `onto` that of the result: the same, or its staggered
    counterpart (then g on `onto` at i reads f on `dim` at i + offset).
    """

    field: Ref
    dim: Dimension
    offset: int
    onto: Dimension | None = None


@classes.frozen(kw_only=True)
class Displace(Expression):
    """`f(as_offset(Off, by))`: g(i) = f(i + by(i)) along `dim`; `by` is an integer field."""

    field: Ref
    dim: Dimension
    by: Ref


@classes.frozen(kw_only=True)
class Neighbour(Expression):
    """`f(E2C[k])`: the value at neighbour `index` of table `offset`."""

    field: Ref
    offset: OffsetType
    index: int


@classes.frozen(kw_only=True)
class Neighbours(Expression):
    """`f(C2E)`: the values at all neighbours; the type has the local dimension of the table."""

    field: Ref
    offset: OffsetType


@classes.frozen(kw_only=True)
class Reduction(Expression):
    """Combine over a local dimension, in the order of the slots; `op` is sum, max or min."""

    op: str
    field: Ref
    dim: Dimension


@classes.frozen(kw_only=True)
class LocalElement(Expression):
    """`coeff[E2CDim(k)]`: slot `index` of a field with the local dimension `dim`."""

    field: Ref
    dim: Dimension
    index: int


@classes.frozen(kw_only=True)
class Inside(Expression):
    """`K < n`: the region of a comparison with an int32 scalar; `op` is lt, le, gt, ge, eq, ne."""

    dim: Dimension
    op: str
    bound: Ref


@classes.frozen(kw_only=True)
class Regions(Expression):
    """`a & b` or `a | b` of regions; `op` is and, or."""

    op: str
    left: Ref
    right: Ref


@classes.frozen(kw_only=True)
class ConcatWhere(Expression):
    """`concat_where(region, then, otherwise)`, element-wise on tuples.

    Each branch is computed, and read, on its own part only.
    """

    region: Ref
    then: Ref
    otherwise: Ref


@classes.frozen(kw_only=True)
class Broadcast(Expression):
    """Repeat a field or scalar over the dimensions of `type`."""

    arg: Ref


@classes.frozen(kw_only=True)
class Cast(Expression):
    """Convert to the dtype of `type`, element-wise on tuples."""

    arg: Ref


@classes.frozen(kw_only=True)
class CallOf(Expression):
    """Call another operator; `callee` is its key in `Parsed.operators`, arguments in its order."""

    callee: str
    args: tuple[Ref, ...]
