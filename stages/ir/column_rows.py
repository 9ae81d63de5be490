"""Imperative columns of the dataflow IR: variables that change while a walk visits the levels.

A column has variables, each with a number for every level of a range of its own, or with one number
(the `planes`). They begin with the values of `init`. The walk visits the levels `start .. stop`,
downwards if not `forward`, and acts at each by the rows of `body`:

    row   ::= Scalar a0, a1, ... | Literal | Map | Get | GetAt | Set | SetAt
            | If row... (Else row...)? End
            | While row... Holds row... End

A `Scalar` is an argument at the level. The rows between `While` and `Holds` compute its condition;
those after it act as long as that is true. A row is known to the rows after it in the same block,
and in the blocks inside these. Columns never see each other, so they may run in any order.

The results are the variables after the last level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from ...runtime.language import Dimension
from ...runtime.process import classes
from .bounds import Bound, Range, Ranges, greatest, least
from .dataflow_rows import Literal, Map, Ref, Scalar, Value

Dims: TypeAlias = tuple[Dimension, ...]
Complaints: TypeAlias = Iterator[str]


@classes.frozen(kw_only=True)
class Column(Value):
    """Imperative columns along `axis`; see the module. Only `Result` uses the value itself.

    `levels` has the levels of each variable; columns have all of these, and those that it gives for
    planes. An argument without `axis` is constant in a column. `dims` are those of all operands and
    the axis; the dtype is that of the first variable.
    """

    body: tuple[Value, ...]
    init: tuple[Ref, ...]
    args: tuple[Ref, ...]
    planes: tuple[int, ...]
    axis: Dimension
    forward: bool
    start: Bound
    stop: Bound
    levels: Ranges

    @property
    def operands(self) -> tuple[Ref, ...]:
        """What the variables begin with, and arguments."""
        return *self.init, *self.args

    @property
    def whole(self) -> Range:
        """The levels around those of all variables."""
        low, high = (each.start for each in self.levels), (each.stop for each in self.levels)
        return Range(self.axis, least(low), greatest(high))

    def dims_of(self, variable: int) -> Dims:
        """Return the dimensions of a variable."""
        if variable not in self.planes:
            return self.dims
        return tuple(dim for dim in self.dims if dim is not self.axis)


@classes.frozen(kw_only=True)
class Get(Value):
    """A variable at the level, or `offset` levels further; printed `get 0+1`.

    Outside of its levels it is the nearest one.
    """

    variable: int
    offset: int = 0


@classes.frozen(kw_only=True)
class GetAt(Value):
    """A variable on the level that a row gives, or the nearest one; printed `get 0 at %3`."""

    variable: int
    at: Ref

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The level."""
        return (self.at,)


@classes.frozen(kw_only=True)
class Set(Value):
    """Change a variable at the level, or `offset` levels further; printed `set 0+0 %3`.

    Outside of its levels nothing happens.
    """

    variable: int
    value: Ref
    offset: int = 0

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The new value."""
        return (self.value,)


@classes.frozen(kw_only=True)
class SetAt(Value):
    """Change a variable on the level that a row gives; printed `set 0 at %3 %4`."""

    variable: int
    at: Ref
    value: Ref

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The level and the new value."""
        return self.at, self.value


@classes.frozen(kw_only=True)
class Marker(Value):
    """A row that only begins or ends a block; its dtype is bool."""

    dims: Dims = ()
    dtype: str = "bool"


@classes.frozen(kw_only=True)
class If(Marker):
    """Begin the block of rows for columns where `test` is true."""

    test: Ref

    @property
    def operands(self) -> tuple[Ref, ...]:
        """The condition."""
        return (self.test,)


@classes.frozen(kw_only=True)
class Else(Marker):
    """End that block, and begin the one for the other columns."""


@classes.frozen(kw_only=True)
class While(Marker):
    """Begin a loop, with the rows of its condition."""


@classes.frozen(kw_only=True)
class Holds(If):
    """End the condition of a loop, and begin the rows that it repeats while `test` is true."""


@classes.frozen(kw_only=True)
class End(Marker):
    """End what `If`, `Else` or `While` began."""


def ends(body: Sequence[Value]) -> dict[int, int]:
    """Return for each `If`, `Else`, `While` and `Holds` the row that ends its block.

    Raises:
        ValueError: if blocks are not nested properly.

    """
    found: dict[int, int] = {}
    open_: list[int] = []
    for number, row in enumerate(body):
        if isinstance(row, Else | Holds | End):
            before = {Else: If, Holds: While}.get(type(row))
            if not open_ or (before is not None and type(body[open_[-1]]) is not before):
                raise ValueError(f"row %{number} ends no block")
            if before is None and type(body[open_[-1]]) is While:
                raise ValueError(f"row %{number} ends a loop without a condition")
            found[open_.pop()] = number
        if isinstance(row, If | Else | While):
            open_.append(number)
    if open_:
        raise ValueError(f"row %{open_[-1]} has no end")
    return found


def known_rows(body: Sequence[Value]) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield each row with the rows that it may use."""
    stack: list[frozenset[int]] = [frozenset()]
    for number, row in enumerate(body):
        if isinstance(row, End | Else):
            stack.pop()
        yield number, stack[-1]
        if isinstance(row, If | Else | While) and not isinstance(row, Holds):
            stack.append(stack[-1])
        elif not isinstance(row, Marker):
            stack[-1] |= {number}


# --- rules ------------------------------------------------------------------------------------


def column_complaints(
    column: Column, state: Sequence[str], plain: Callable[[Value], Complaints]
) -> Complaints:
    """Yield the broken rules of the rows of an imperative column.

    `state` are the dtypes of its variables; `plain` gives the broken rules of a row that every
    program may have.
    """
    try:
        ends(column.body)
    except ValueError as error:
        yield f"has a body whose {error}"
        return
    if [each.dim for each in column.levels] != [column.axis] * len(state):
        yield "has levels that are not one range along its axis for each variable"
    if any(not 0 <= place < len(state) for place in column.planes):
        yield "has a plane that is no variable"
    for row, known in known_rows(column.body):
        value = column.body[row]
        if any(operand not in known for operand in value.operands):
            yield f"has a body whose row %{row} uses a row that is not defined before it"
        elif isinstance(value, Scalar | Literal | Map):
            yield from (f"has a body whose row %{row} {each}" for each in plain(value))
        elif isinstance(value, Get | GetAt | Set | SetAt | Marker):
            yield from (
                f"has a body whose row %{row} {each}" for each in _act(column, value, state)
            )
        else:
            yield f"has a '{type(value).__name__}' in its body"


def _act(column: Column, row: Value, state: Sequence[str]) -> Complaints:
    rows = column.body
    if isinstance(row, If) and rows[row.test].dtype != "bool":
        yield f"tests a '{rows[row.test].dtype}', expected 'bool'"
    if isinstance(row, GetAt | SetAt) and rows[row.at].dtype != "int64":
        yield f"takes its level from a '{rows[row.at].dtype}', expected 'int64'"
    if isinstance(row, Get | GetAt | Set | SetAt):
        is_moved = isinstance(row, GetAt | SetAt) or row.offset != 0
        if not 0 <= row.variable < len(state):
            yield f"names variable {row.variable}, of {len(state)}"
        elif row.dtype != state[row.variable]:
            yield "has a dtype other than that of its variable"
        elif isinstance(row, Set | SetAt) and rows[row.value].dtype != row.dtype:
            yield "sets a variable of another dtype"
        elif is_moved and row.variable in column.planes:
            yield "takes a plane at another level"
