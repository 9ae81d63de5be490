"""The typed tree of a GTScript stencil: blocks of assignments, with functions and `if` resolved.

    stencil    ::= variables, nodes, block...
    block      ::= order, interval, assignment...        order is parallel, forward or backward
    assignment ::= while...: variable (at level)? = node (where mask)? (inside region)?
    node       ::= Number | Read(variable, offsets, level?, element...) | Operation(op, node...)

Nodes are rows of a table; a reference is a row number. A branch of an `if` is a mask on each of
its assignments; the mask of a condition on fields is a variable of its own, because the condition
is evaluated once. A function is inlined. Assignments of one statement of the text have the same
`statement`.

Data axes are resolved: each element of a field with data axes is a variable of its own, "v.0", and
a read of one that is known at the call only is a choice among them. A table keeps its axes.
"""

from __future__ import annotations

from typing import Literal as OneOf, TypeAlias

from ...runtime.process import classes

Ref: TypeAlias = int
Offset: TypeAlias = tuple[int, int, int]
Order: TypeAlias = OneOf["parallel", "forward", "backward"]


@classes.frozen
class Variable:
    """A field or scalar of the caller, or a temporary; `axes` are the letters of its axes.

    A mask is a temporary that only the statement that assigns it reads. The level is the number of
    the level itself. A table has no axes but those of its `sizes`.
    """

    name: str
    kind: OneOf["field", "scalar", "temporary", "mask", "level", "table"]
    dtype: str
    axes: str
    sizes: tuple[int, ...] = ()


@classes.frozen(kw_only=True)
class Node:
    """A row of the table of expressions."""

    dtype: str

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The rows of the operands."""
        return ()


@classes.frozen(kw_only=True)
class Number(Node):
    """A number in its canonical spelling."""

    text: str


@classes.frozen(kw_only=True)
class Read(Node):
    """Read a variable, at offsets along I, J and K.

    With a `level` the value of that row is the offset along K, or the level itself if the read
    `is_absolute`. A table is read at `places`, one row for each of its axes.
    """

    variable: int
    offset: Offset = (0, 0, 0)
    level: Ref | None = None
    is_absolute: bool = False
    places: tuple[Ref, ...] = ()

    @property
    def operands(self) -> tuple[Ref, ...]:
        """What says where it reads."""
        return (*(() if self.level is None else (self.level,)), *self.places)


@classes.frozen(kw_only=True)
class Operation(Node):
    """An operation of the dataflow IR on operands of its types."""

    op: str
    args: tuple[Ref, ...]

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The arguments."""
        return self.args


@classes.frozen
class End:
    """A bound relative to the start of the domain, or to its end."""

    of_end: bool
    offset: int

    def __str__(self) -> str:
        return f"{'end' if self.of_end else 'start'}{self.offset:+}"


@classes.frozen
class Limits:
    """The indices of a region along I and J: (start, stop); None is infinity."""

    i: tuple[End | None, End | None]
    j: tuple[End | None, End | None]


@classes.frozen
class Assign:
    """Assign a node to a variable, where the mask holds, inside a region.

    It may be assigned `offset` levels further, or as many as the row `level` gives. `loops` are the
    numbers of the `while` around it; the first assignment of each is its condition, to a mask.
    """

    variable: int
    value: Ref
    statement: int
    mask: Ref | None = None
    region: Limits | None = None
    offset: int = 0
    level: Ref | None = None
    loops: tuple[int, ...] = ()

    @property
    def roots(self) -> tuple[Ref | None, ...]:
        """The expressions that it reads."""
        return self.value, self.mask, self.level

    @property
    def moves(self) -> bool:
        """Whether it writes another level than its own."""
        return bool(self.offset) or self.level is not None


@classes.frozen
class Block:
    """The assignments of one interval of a computation."""

    order: Order
    start: End
    stop: End
    body: tuple[Assign, ...]


@classes.frozen
class Stencil:
    """A whole stencil."""

    name: str
    variables: tuple[Variable, ...]
    nodes: tuple[Node, ...]
    blocks: tuple[Block, ...]
