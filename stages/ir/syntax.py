"""The typed syntax tree: one operator or program as a table of expressions and statements.

    operator   ::= parameters, nodes, body of statements, result type
                 | the same with an axis, a direction and a first state: a scan
    node       ::= Name | Literal | Operation | Select | TupleOf | Element
                 | ShiftBy | Displace | Neighbour | Neighbours | Reduction | LocalElement
                 | Broadcast | Cast | CallOf
                 | Inside | Regions | ConcatWhere
    statement  ::= Assign | Unpack | If | Return
    program    ::= parameters, nodes, statements: call, outputs, domains

Expressions are rows of a table in the order of evaluation (operands before their users, statement
after statement); a reference is a row number. Walks over a table do not recurse on its depth.
`spans[i]` is the place of row i in the source; spans are stored outside the tree, so moving a
function does not change it.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from ...runtime.language.dimension import Dimension
from ...runtime.language.types import DataType, DomainType, OffsetType

Ref: TypeAlias = int


@attrs.frozen(kw_only=True)
class Expression:
    """A row of the table; `type` is the type of its value."""

    type: DataType | DomainType


@attrs.frozen(kw_only=True)
class Name(Expression):
    """Read a parameter or the latest version of a local variable."""

    id: str


@attrs.frozen(kw_only=True)
class Literal(Expression):
    """A number; `text` is its canonical spelling: 'True', '3', '0.1', 'inf', 'nan'."""

    text: str


@attrs.frozen(kw_only=True)
class Operation(Expression):
    """A pointwise operation or math builtin on scalars and fields.

    `op` is an operation of the dataflow IR (`add`, `lt`, `sqrt`, ...) except `cast` and `select`.
    """

    op: str
    args: tuple[Ref, ...]


@attrs.frozen(kw_only=True)
class Select(Expression):
    """`where` (mask a field) or a ternary (condition a scalar), element-wise on tuples."""

    condition: Ref
    then: Ref
    otherwise: Ref


@attrs.frozen(kw_only=True)
class TupleOf(Expression):
    """Make a tuple or a named collection."""

    elements: tuple[Ref, ...]


@attrs.frozen(kw_only=True)
class Element(Expression):
    """Read one element of a tuple or of a named collection."""

    of: Ref
    index: int


@attrs.frozen(kw_only=True)
class ShiftBy(Expression):
    """Apply a field to a Cartesian offset: g(i) = f(i + offset).

    `dim` is the dimension of the field, `onto` that of the result: the same, or its staggered
    counterpart (then g on `onto` at i reads f on `dim` at i + offset).
    """

    field: Ref
    dim: Dimension
    offset: int
    onto: Dimension | None = None


@attrs.frozen(kw_only=True)
class Displace(Expression):
    """`f(as_offset(Off, by))`: g(i) = f(i + by(i)) along `dim`; `by` is an integer field."""

    field: Ref
    dim: Dimension
    by: Ref


@attrs.frozen(kw_only=True)
class Neighbour(Expression):
    """`f(E2C[k])`: the value at neighbour `index` of table `offset`."""

    field: Ref
    offset: OffsetType
    index: int


@attrs.frozen(kw_only=True)
class Neighbours(Expression):
    """`f(C2E)`: the values at all neighbours; the type has the local dimension of the table."""

    field: Ref
    offset: OffsetType


@attrs.frozen(kw_only=True)
class Reduction(Expression):
    """Combine over a local dimension, in the order of the slots; `op` is sum, max or min."""

    op: str
    field: Ref
    dim: Dimension


@attrs.frozen(kw_only=True)
class LocalElement(Expression):
    """`coeff[E2CDim(k)]`: slot `index` of a field with the local dimension `dim`."""

    field: Ref
    dim: Dimension
    index: int


@attrs.frozen(kw_only=True)
class Inside(Expression):
    """`K < n`: the region of a comparison with an int32 scalar; `op` is lt, le, gt, ge, eq, ne."""

    dim: Dimension
    op: str
    bound: Ref


@attrs.frozen(kw_only=True)
class Regions(Expression):
    """`a & b` or `a | b` of regions; `op` is and, or."""

    op: str
    left: Ref
    right: Ref


@attrs.frozen(kw_only=True)
class ConcatWhere(Expression):
    """`concat_where(region, then, otherwise)`, element-wise on tuples.

    Each branch is computed, and read, on its own part only.
    """

    region: Ref
    then: Ref
    otherwise: Ref


@attrs.frozen(kw_only=True)
class Broadcast(Expression):
    """Repeat a field or scalar over the dimensions of `type`."""

    arg: Ref


@attrs.frozen(kw_only=True)
class Cast(Expression):
    """Convert to the dtype of `type`, element-wise on tuples."""

    arg: Ref


@attrs.frozen(kw_only=True)
class CallOf(Expression):
    """Call another operator; `callee` is its key in `Parsed.operators`, arguments in its order."""

    callee: str
    args: tuple[Ref, ...]


@attrs.frozen
class Assign:
    """Bind a new version of a local variable."""

    target: str
    value: Ref


@attrs.frozen
class Unpack:
    """Bind several names to the elements of a tuple; `starred` is the index of `*rest` or -1."""

    targets: tuple[str, ...]
    starred: int
    value: Ref


@attrs.frozen
class If:
    """Choose by a scalar condition; variables bound in both branches stay defined."""

    condition: Ref
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@attrs.frozen
class Return:
    """Return the result."""

    value: Ref


Statement: TypeAlias = Assign | Unpack | If | Return


@attrs.frozen
class Parameter:
    """A named argument."""

    name: str
    type: DataType


@attrs.frozen
class Operator:
    """A field operator."""

    name: str
    parameters: tuple[Parameter, ...]
    nodes: tuple[Expression, ...]
    body: tuple[Statement, ...]
    result: DataType


@attrs.frozen
class Scan:
    """A scan operator: an operator on the scalars of one point, walked along `axis`.

    The first parameter is the state and `result` its type; a call returns that type with fields in
    place of scalars. `init` are the leaves of the initial state, as literals of the state's dtypes.
    The `args` of a call (`CallOf`) do not contain the state.
    """

    name: str
    parameters: tuple[Parameter, ...]
    nodes: tuple[Expression, ...]
    body: tuple[Statement, ...]
    result: DataType
    axis: Dimension
    forward: bool
    init: tuple[str, ...]


Callee: TypeAlias = Operator | Scan


@attrs.frozen
class DomainRange:
    """A dimension of a `domain=`; `start` and `stop` are integer scalar expressions."""

    dim: Dimension
    start: Ref
    stop: Ref


@attrs.frozen
class OutputSlice:
    """One axis of `a[1:-1]`: relative bounds, negative from the end, None if absent."""

    start: int | None
    stop: int | None


@attrs.frozen
class Output:
    """The output of one leaf of a result: a leaf of a parameter, whole, sliced, or on a domain.

    `slices` and `domain` are empty if the call writes the whole field; at most one is given.
    """

    parameter: str
    path: tuple[int, ...]
    slices: tuple[OutputSlice, ...] = ()
    domain: tuple[DomainRange, ...] = ()


@attrs.frozen
class CallStatement:
    """One statement of a program: call an operator and write the leaves of its result.

    `outputs` are in the order of `types.leaves(result)`.
    """

    callee: str
    args: tuple[Ref, ...]
    outputs: tuple[Output, ...]


@attrs.frozen
class Program:
    """Operator calls in order."""

    name: str
    parameters: tuple[Parameter, ...]
    nodes: tuple[Expression, ...]
    body: tuple[CallStatement, ...]


Root: TypeAlias = Operator | Scan | Program
