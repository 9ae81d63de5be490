"""The C++ names of everything in a kernel, the lines that define them, and what a text asks for.

So nobody searches text for names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Argument,
    Bound,
    Buffer,
    Kernel,
    Range,
    Stride,
    arrays_of,
    bodies,
)
from ..arena import extent
from ..interface import split
from ..soft_reads import Ends
from .dialect import Dialect
from .expressions import TYPES
from .options import WriterOptions

Passed: TypeAlias = tuple[str, int]  # kind and place of what a call passes
KINDS: Final = ("pointer", "slot", "int", "scalar")  # in the order of arguments
WITHIN: Final = """\
__attribute__((always_inline)) static inline s64 within(s64 i, s64 first, s64 stop) {
  return i < first ? first : i < stop ? i : stop - 1;
}"""


@classes.frozen
class TextUses:
    """The names in a text, and the helper functions that it calls.

    Attributes:
        names: each name with its kind and place if a call passes it, such as ("int", 3) for `n3`;
            with None if text around defines it.
        functions: the texts of helper functions, by name.

    """

    names: dict[str, Passed | None] = classes.field(factory=dict)
    functions: dict[str, str] = classes.field(factory=dict)

    def ask(self, name: str, argument: Passed | None = None) -> str:
        """Return a name, and keep that the text contains it."""
        self.names[name] = argument
        return name

    def add(self, other: TextUses) -> None:
        """Keep what another text asked for, which becomes a part of this one."""
        self.names.update(other.names)
        self.functions.update(other.functions)

    @property
    def arguments(self) -> tuple[Passed, ...]:
        """What a call passes to the text, kind by kind.

        >>> uses = TextUses()
        >>> uses.ask("n3", ("int", 3)) + uses.ask("p0", ("pointer", 0)) + uses.ask("a1")
        'n3p0a1'
        >>> uses.arguments
        (('pointer', 0), ('int', 3))
        """
        found = {argument for argument in self.names.values() if argument is not None}
        return tuple(sorted(found, key=lambda each: (KINDS.index(each[0]), each[1])))


@classes.frozen
class Scope:
    """The names of a kernel, and what a text has asked for of them.

    Attributes:
        kernel: whose names these are.
        places: the place of each integer of a call.
        options: those of the writer.
        dialect: how the platform spells rows.
        uses: what text has asked for; see `apart`.
        clamped: fields whose loads stay inside.
        tests: the number of each tested store, by group of stores and buffer.
        bounds: spells a bound where `n<place>` is not its name.
        strides: spells a stride of a buffer where that is not `n<place>` or `a0s1`.
        around: the names of the indices of loops around nests.
        buffers: the names of buffers.
        rows: pointers to rows of buffers that text around defines; other indices start there.
        narrow: fields with offsets of 32 bits, each with the field that has the same strides.

    """

    kernel: Kernel
    places: Mapping[Bound | Stride, int]
    options: WriterOptions
    dialect: Dialect
    uses: TextUses = classes.field(factory=TextUses)
    clamped: Ends = classes.field(factory=dict)
    tests: Mapping[tuple[int, str], int] = classes.field(factory=dict)
    bounds: Callable[[Bound], str] | None = None
    strides: Callable[[Buffer, int], str] | None = None
    around: Mapping[Dimension, str] = classes.field(factory=dict)
    buffers: Mapping[str, str] = classes.field()
    rows: Mapping[str, str] = classes.field(factory=dict)
    narrow: Mapping[str, str] = classes.field(factory=dict)
    by_name: Mapping[str, Buffer] = classes.field(init=False)

    @buffers.default
    def _names(self) -> dict[str, str]:
        """Return `p0`, `p1`, ... for fields and then tables, `a0`, `a1`, ... for arrays."""
        fields, tables, arrays = (
            [buffer.name for buffer in self.kernel.buffers if buffer.memory in kinds]
            for kinds in (("field",), ("table",), ("arena", "tile"))
        )
        given = {name: f"p{place}" for place, name in enumerate([*fields, *tables])}
        return given | {name: f"a{place}" for place, name in enumerate(arrays)}

    @by_name.default
    def _by_name(self) -> dict[str, Buffer]:
        return {buffer.name: buffer for buffer in self.kernel.buffers}

    def apart(self) -> Scope:
        """Return the same names for a text of its own, which has asked for nothing yet."""
        return classes.evolve(self, uses=TextUses())

    def ask(self, name: str) -> str:
        """Return a name that text around defines."""
        return self.uses.ask(name)

    def buffer(self, name: str) -> str:
        """Return the name of a buffer: a pointer to its index 0."""
        if name in self.rows:
            return self.uses.ask(self.rows[name])
        found = self.buffers[name]
        is_given = self.bounds is None and self.by_name[name].memory in ("field", "table")
        return self.uses.ask(found, ("pointer", int(found[1:])) if is_given else None)

    def slot(self, place: int) -> str:
        """Return the name of a slot of the arena."""
        return self.uses.ask(f"slot{place}", ("slot", place))

    def scalar(self, name: str) -> str:
        """Return the name of a scalar parameter."""
        place = [each for each, _ in self.kernel.scalars].index(name)
        return self.uses.ask(f"x{place}", ("scalar", place))

    def integer(self, source: Bound | Stride) -> str:
        """Return the name of an integer that a call passes."""
        place = self.places[source]
        return self.uses.ask(f"n{place}", ("int", place))

    def bound(self, bound: Bound) -> str:
        """Return a bound as an expression that needs no brackets around it."""
        if self.bounds is not None:
            return self.bounds(bound)
        symbol, constant = split(bound)
        if symbol is None:
            return str(constant)
        name = self.integer(symbol)
        return f"({plus(name, constant)})" if constant else name

    def ends(self, range_: Range) -> tuple[str, str]:
        """Return start and stop of a range."""
        return self.bound(range_.start), self.bound(range_.stop)

    def stride(self, buffer: Buffer, axis: int) -> str:
        """Return the elements from one index of an axis to the next."""
        if buffer.dims[axis] is buffer.unit:
            return "1"
        if self.strides is not None:
            return self.strides(buffer, axis)
        if buffer.memory in ("arena", "tile"):
            return self.uses.ask(f"{self.buffers[buffer.name]}s{axis}")
        return self.integer(Stride(self.narrow.get(buffer.name, buffer.name), axis))

    def term(self, buffer: Buffer, axis: int, index: str) -> str:
        """Return an index times the stride of its axis."""
        is_narrow = buffer.name in self.narrow
        index = f"s32({index})" if is_narrow else index
        if buffer.dims[axis] is buffer.unit:
            return index
        if buffer.dims[axis] is buffer.ring:
            index = f"({index} & {self.last_in_ring(buffer)})"
        stride = self.stride(buffer, axis)
        return f"{index} * {f's32({stride})' if is_narrow else stride}"

    def last_in_ring(self, buffer: Buffer) -> str:
        """Return the last place of the rows of an array that take turns."""
        return self.uses.ask(f"{self.buffers[buffer.name]}r")

    def inside(self, buffer: Buffer, axis: int, index: str) -> str:
        """Return an index of a load, clamped to the field if loads from it are."""
        if buffer.name not in self.clamped:
            return index
        start, stop = self.clamped[buffer.name][axis]
        return f"within({index}, {self.bound(start)}, {self.bound(stop)})"


def plus(text: str, number: int) -> str:
    """Return the text of a sum with a number.

    >>> plus("i1", -2), plus("i1", 0)
    ('i1 - 2', 'i1')
    """
    return f"{text} {'+' if number > 0 else '-'} {abs(number)}" if number else text


def places_of(known: Sequence[Bound | Stride]) -> dict[Bound | Stride, int]:
    """Return the place of each integer of a call."""
    return {source: place for place, source in enumerate(known)}


def stored_type(buffer: Buffer) -> str:
    """Return the type of an element in memory; a bool is a byte."""
    return TYPES["uint8" if buffer.dtype == "bool" else buffer.dtype][0]


Definition: TypeAlias = tuple[str, str]  # a name, and the line that defines it


def scalars(scope: Scope) -> Iterator[Definition]:
    """Read the scalar parameters that bodies use."""
    rows = (row for _, rows in bodies(scope.kernel) for row in rows)
    used = {row.name for row in rows if isinstance(row, Argument)}
    for place, (name, dtype) in enumerate(scope.kernel.scalars):
        if name in used:
            stored = TYPES["uint8" if dtype == "bool" else dtype][0]
            value = f"*(const {stored}*)((const char*)scalars + {8 * place})"
            test = " != 0" if dtype == "bool" else ""
            yield f"x{place}", f"  const {TYPES[dtype][0]} x{place} = {value}{test};"


def memory(scope: Scope) -> Iterator[Definition]:
    """Name the memory: fields at index 0, arrays in their slots moved to index 0."""
    kernel = scope.kernel
    touched = arrays_of(kernel)
    for buffer in kernel.buffers:
        if buffer.memory in ("field", "table") and buffer.name in touched:
            type_, name = stored_type(buffer), scope.buffers[buffer.name]
            yield name, f"  {type_}* const {name} = ({type_}*)ptrs[{name[1:]}];"
    for place in range(len(kernel.slots)):
        begin = (
            f"{scope.slot(place - 1)} + {scope.bound(kernel.slots[place - 1])}"
            if place
            else "(char*)arena"
        )
        yield f"slot{place}", f"  char* const slot{place} = {begin};"
    for buffer in kernel.buffers:
        if buffer.memory == "arena":
            yield from array(scope, buffer)


def array(scope: Scope, buffer: Buffer) -> Iterator[Definition]:
    """Define an array of the arena, moved to index 0, and its strides."""
    yield from strides(scope, buffer)
    yield moved(scope, buffer, scope.slot(buffer.slot), {})


def moved(
    scope: Scope, buffer: Buffer, place: str, tile: Mapping[Dimension, str], indent: str = "  "
) -> Definition:
    """Define an array at a place in memory, moved to index 0; its box begins at that of a tile."""
    origin = ""
    for axis, range_ in enumerate(buffer.box):
        start = scope.bound(range_.start)
        if range_.dim in tile:
            first = tile[range_.dim]
            start = f"({first} + {start})" if start != "0" else first
        if range_.dim is not buffer.ring:
            origin += f" - {scope.term(buffer, axis, start)}"
    type_, name = stored_type(buffer), scope.buffers[buffer.name]
    return name, f"{indent}{type_}* const {name} = ({type_}*){place}{origin};"


def strides(scope: Scope, buffer: Buffer) -> Iterator[Definition]:
    """Define the strides of an array, rows of the innermost dimension first."""
    ranges = {range_.dim: range_ for range_ in buffer.box}
    step, inner = "1", ""
    order = buffer.order[::-1]
    for place, dim in enumerate(order):
        if place:
            before = ranges[order[place - 1]]
            count = (
                f"({scope.last_in_ring(buffer)} + 1)"
                if before.dim is buffer.ring
                else _count(scope, before)
            )
            step = count if step == "1" else f"{scope.ask(inner)} * {count}"
        inner = f"{scope.buffers[buffer.name]}s{buffer.dims.index(dim)}"
        if dim is not buffer.unit:
            yield inner, f"  const s64 {inner} = {step};"


def _count(scope: Scope, range_: Range) -> str:
    symbol, constant = split(extent(range_))
    return (
        str(constant)
        if symbol is None
        else f"({scope.bound(range_.stop)} - {scope.bound(range_.start)})"
    )
