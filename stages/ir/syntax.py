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

from ...runtime.language import DataType, Dimension
from ...runtime.process import classes
from .syntax_rows import (
    Broadcast,
    CallOf,
    Cast,
    ConcatWhere,
    Displace,
    Element,
    Expression,
    Inside,
    Literal,
    LocalElement,
    Name,
    Neighbour,
    Neighbours,
    Operation,
    Reduction,
    Ref,
    Regions,
    Select,
    ShiftBy,
    TupleOf,
)

__all__ = [
    "Assign", "Broadcast", "CallOf", "CallStatement", "Callee", "Cast", "ConcatWhere", "Displace",
    "DomainRange", "Element", "Expression", "If", "Inside", "Literal", "LocalElement", "Name",
    "Neighbour", "Neighbours", "Operation", "Operator", "Output", "OutputSlice", "Parameter",
    "Program", "Reduction", "Ref", "Regions", "Return", "Root", "Scan", "Select", "ShiftBy",
    "Statement", "TupleOf", "Unpack",
]  # fmt: skip


@classes.frozen
class Assign:
    """Bind a new version of a local variable."""

    target: str
    value: Ref


@classes.frozen
class Unpack:
    """Bind several names to the elements of a tuple; `starred` is the index of `*rest` or -1."""

    targets: tuple[str, ...]
    starred: int
    value: Ref


@classes.frozen
class If:
    """Choose by a scalar condition; variables bound in both branches stay defined."""

    condition: Ref
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@classes.frozen
class Return:
    """Return the result."""

    value: Ref


Statement: TypeAlias = Assign | Unpack | If | Return


@classes.frozen
class Parameter:
    """A named argument."""

    name: str
    type: DataType


@classes.frozen
class Operator:
    """A field operator."""

    name: str
    parameters: tuple[Parameter, ...]
    nodes: tuple[Expression, ...]
    body: tuple[Statement, ...]
    result: DataType


@classes.frozen
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


@classes.frozen
class DomainRange:
    """A dimension of a `domain=`; `start` and `stop` are integer scalar expressions."""

    dim: Dimension
    start: Ref
    stop: Ref


@classes.frozen
class OutputSlice:
    """One axis of `a[1:-1]`: relative bounds, negative from the end, None if absent."""

    start: int | None
    stop: int | None


@classes.frozen
class Output:
    """The output of one leaf of a result: a leaf of a parameter, whole, sliced, or on a domain.

    `slices` and `domain` are empty if the call writes the whole field; at most one is given.
    """

    parameter: str
    path: tuple[int, ...]
    slices: tuple[OutputSlice, ...] = ()
    domain: tuple[DomainRange, ...] = ()


@classes.frozen
class CallStatement:
    """One statement of a program: call an operator and write the leaves of its result.

    `outputs` are in the order of `types.leaves(result)`.
    """

    callee: str
    args: tuple[Ref, ...]
    outputs: tuple[Output, ...]


@classes.frozen
class Program:
    """Operator calls in order."""

    name: str
    parameters: tuple[Parameter, ...]
    nodes: tuple[Expression, ...]
    body: tuple[CallStatement, ...]


Root: TypeAlias = Operator | Scan | Program
