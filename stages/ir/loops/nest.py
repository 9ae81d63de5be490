"""Loop nests of the loop IR: loops, and a body of instructions.

A body is a flat table; a reference is the row of an earlier instruction. `level` is the number of
loops around an instruction; loop invariants stand outside the inner loops. The innermost loop may
consist of several parts in sequence; an instruction inside it belongs to one `part`. The states of
a scan are set before the innermost loop and advance at the end of each iteration. Every decision
carries its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal as OneOf, TypeAlias, TypeVar

from ....runtime.language import Dimension
from ....runtime.process import classes
from ..bounds import Bound, Range, Ranges
from .kernel import Node

Row: TypeAlias = int
M = TypeVar("M", bound="Marks")


@classes.frozen
class NestLoop:
    """A loop over one dimension; threads share adjacent `parallel` loops as one collapsed loop.

    Threads also share a `vector` loop without other loops around it. On a GPU, each iteration of
    the `thread` loops together is a thread of its own. With a `step` an iteration works on that
    many indices.
    """

    kind: OneOf["parallel", "sequential", "vector", "thread"]
    range: Range
    backward: bool = False
    step: int = 1


@classes.frozen(kw_only=True)
class Instruction:
    """A row of a body; `level` counts the loops around it, `part` the parts of the innermost."""

    dtype: str
    level: int = 0
    part: int = 0

    @property
    def operands(self) -> tuple[Row, ...]:
        """The rows that this one is made from."""
        return ()


@classes.frozen(kw_only=True)
class Access(Instruction):
    """A load or a store, at the current indices plus `offsets`; empty offsets are all 0.

    If `rows` names an instruction for an axis, its value replaces the current index. If `when` is
    false, nothing is touched.
    """

    buffer: str
    offsets: tuple[int, ...] = ()
    rows: tuple[Row | None, ...] = ()
    when: Row | None = None

    @property
    def operands(self) -> tuple[Row, ...]:
        """The indices and the condition."""
        return tuple(row for row in (*self.rows, self.when) if row is not None)

    @property
    def is_told(self) -> bool:
        """Whether a row gives the index of an axis, as a table of neighbours does."""
        return any(row is not None for row in self.rows)

    def coordinates(self, axes: int) -> tuple[tuple[Row | None, int], ...]:
        """Return for each of so many axes the row of its index (None: the current one), the offset.

        >>> Access(dtype="float64", buffer="u", offsets=(0, 1)).coordinates(2)
        ((None, 0), (None, 1))
        """
        rows, offsets = self.rows or (None,) * axes, self.offsets or (0,) * axes
        return tuple(zip(rows, offsets, strict=True))


@classes.frozen(kw_only=True)
class Load(Access):
    """Read a buffer of dimensions `dims`; on an axis without a loop the offset is the index.

    If `when` is false, the value is 0.
    """

    dims: tuple[Dimension, ...]

    @property
    def places(self) -> tuple[tuple[Dimension, Row | None, int], ...]:
        """For each axis its dimension, the row of its index (None: the current one), the offset."""
        coordinates = self.coordinates(len(self.dims))
        return tuple((dim, *each) for dim, each in zip(self.dims, coordinates, strict=True))


@classes.frozen(kw_only=True)
class Constant(Instruction):
    """A number in its canonical spelling."""

    text: str


@classes.frozen(kw_only=True)
class Argument(Instruction):
    """A scalar parameter."""

    name: str


@classes.frozen(kw_only=True)
class Compute(Instruction):
    """An operation of the dataflow IR; `cast` converts to the dtype of the row."""

    op: str
    args: tuple[Row, ...]

    @property
    def operands(self) -> tuple[Row, ...]:
        """The arguments."""
        return self.args


@classes.frozen(kw_only=True)
class Index(Instruction):
    """The current index along a dimension."""

    dim: Dimension


@classes.frozen(kw_only=True)
class Number(Instruction):
    """The value of a bound, known at the call."""

    bound: Bound


@classes.frozen(kw_only=True)
class State(Instruction):
    """A state of the scan after the previous level."""

    index: int


@classes.frozen(kw_only=True)
class Advance(Instruction):
    """Update a state at the end of the level."""

    index: int
    value: Row

    @property
    def operands(self) -> tuple[Row, ...]:
        """The next value."""
        return (self.value,)


@classes.frozen(kw_only=True)
class Store(Access):
    """Write a row to a buffer; with `add` it is added to what is there."""

    value: Row
    add: bool = False

    @property
    def operands(self) -> tuple[Row, ...]:
        """The stored row, the indices and the condition."""
        return (self.value, *super().operands)


def with_operands(row: Instruction, place: Callable[[Row], Row]) -> Instruction:
    """Return an instruction with its operands replaced by `place`."""
    match row:
        case Compute(args=args):
            return classes.evolve(row, args=tuple(map(place, args)))
        case Advance(value=value):
            return classes.evolve(row, value=place(value))
        case Access(rows=rows, when=when):
            moved = tuple(None if each is None else place(each) for each in rows)
            made = classes.evolve(row, rows=moved, when=None if when is None else place(when))
            return (
                classes.evolve(made, value=place(made.value)) if isinstance(made, Store) else made
            )
    return row


@classes.frozen
class Reading:
    """The box in which a nest reads a buffer; it reads nothing if the box is empty.

    `moved` tells that the nest clamps indices to the buffer, so that the box only requires one
    index along the clamped dimensions.
    """

    buffer: str
    box: Ranges
    moved: bool = False


@classes.frozen
class Marks:
    """What a platform decided about a nest: `CpuMarks` or `GpuMarks`.

    The nest asks memory for the rows of the loads `asked` `ahead` iterations before it needs them.
    """

    ahead: int = 0
    asked: tuple[Row, ...] = ()

    platform: ClassVar[str]


@classes.frozen
class Nest(Node):
    """A loop nest: loops around a body, for a `group` of stores of the kernel.

    `states` are the dtype and the initial value of each state of a scan.
    """

    group: int
    loops: tuple[NestLoop, ...]
    body: tuple[Instruction, ...]
    reason: str
    reads: tuple[Reading, ...] = ()
    parts: tuple[Range, ...] = ()
    states: tuple[tuple[str, Row], ...] = ()
    marks: Marks | None = None

    @property
    def box(self) -> Ranges:
        """The ranges of the loops."""
        return tuple(loop.range for loop in self.loops)


def marks_as(kind: type[M], nest: Nest) -> M:
    """Return what a platform decided about a nest, the defaults before that."""
    return nest.marks if isinstance(nest.marks, kind) else kind()


def marked_as(kind: type[Marks], nest: Nest, **changes: Any) -> Nest:
    """Return a nest with other marks, with none if all are the defaults."""
    made = classes.evolve(marks_as(kind, nest), **changes)
    return classes.evolve(nest, marks=None if made == kind() else made)


@classes.frozen
class Each(Node):
    """A nest for the elements of list `elements` of a patch of a mesh, in place of all elements.

    It runs for `all` of them, for those that the patch owns, or for the rest. A CPU prefetches the
    rows of the loads `asked`.
    """

    elements: int
    nest: Nest
    part: OneOf["all", "owned", "rest"] = "all"
    asked: tuple[Row, ...] = ()
