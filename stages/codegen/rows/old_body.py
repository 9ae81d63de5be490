"""Write the instructions of one loop nest as C++, and the pointers to the rows that they use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from ....runtime.language.dimension import Dimension
from ...ir.flat_kernel import Buffer
from ...ir.nests import (
    Advance,
    Argument,
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Nest,
    Number,
    Row,
    State,
    Store,
)
from .checks import is_nothing, tested
from .extrema import spelled, trees
from .names import Names, stored_type
from .operations import TYPES, express, literal, vectorised, written_out

# For each axis: the row of its index (None: the index of the loop), and an offset.
Places: TypeAlias = tuple[tuple[int | None, int], ...]
# Instructions without a variable: their text stands at each use.
NAMELESS: Final = (Constant, Argument, Index, Number)


class BodyText:
    """The instructions of one nest as text; row pointers contain all indices but the innermost.

    With `later`, the pointers are to the rows that the code prefetches.
    """

    def __init__(self, names: Names, nest: Any, *, later: bool = False) -> None:
        self.names = names
        self.nest = nest
        self.later = later
        self.group = nest.statement if isinstance(nest, Nest) else nest.group
        self.dims = [loop.range.dim for loop in nest.loops]
        self.trees = (
            {}
            if not isinstance(nest, Nest) or nest.slides
            else trees(nest.body, len(nest.loops), nest.states)
        )
        self.rows: dict[tuple[str, Places], str] = {}
        for row in [nest.body[number] for number in nest.asked] if later else nest.body:
            if isinstance(row, Load | Store):
                key = self._key(row)
                if key is not None:
                    self.rows.setdefault(key, f"{'q' if later else 'r'}{len(self.rows)}")

    # --- blocks of text -------------------------------------------------------------------------

    def at(
        self, level: int, part: int = 0, kept: Mapping[str, str] | None = None, deeper: int = 0
    ) -> Iterator[str]:
        """Write the instructions inside `level` loops, for one part of the innermost loop.

        A store to one of the rows `kept` writes lane `l` of the array that `kept` names.
        """
        indent = "  " * (level + 2 + deeper)
        inside = level == len(self.dims)
        for number, row in enumerate(self.nest.body):
            here = row.level == level and (not inside or row.part == part)
            if here and not isinstance(row, NAMELESS):
                yield indent + self._line(number, row, kept or {})

    def usual(self, indent: str) -> Iterator[str]:
        """Write the instructions around the innermost loop again for the usual conditions."""
        values = dict(self.nest.usual)
        changed = set(values)
        for number, row in enumerate(self.nest.body):
            if number in values:
                yield f"{indent}const b8 {self._name(number)} = {str(values[number]).lower()};"
            elif row.level < len(self.dims) and not changed.isdisjoint(row.operands):
                changed.add(number)
                yield indent + self._line(number, row, {})

    def line(self, number: Row, kept: Mapping[str, str] | None = None) -> str:
        """Write one instruction."""
        return self._line(number, self.nest.body[number], kept or {})

    def is_usual(self) -> str:
        """Return the test that all conditions have their usual values."""
        return " && ".join(
            f"{'' if value else '!'}{self._name(row)}" for row, value in self.nest.usual
        )

    def states(self, indent: str) -> Iterator[str]:
        """Define the states of a scan before its loop."""
        for k, (dtype, row) in enumerate(self.nest.states):
            yield f"{indent}{TYPES[dtype][0]} s{k} = {self._operand(row)};"

    def pointers(self, indent: str) -> Iterator[str]:
        """Define a pointer for each row: all indices but the innermost are summed outside its loop.

        Compilers would keep the parts of an address that a neighbour table gives and sum them for
        each strip. An empty instruction makes them keep the sum.
        """
        if self.later:
            for number in self._indices():
                yield indent + self._line(number, self.nest.body[number], {})
        for (name, places), row in self.rows.items():
            buffer = self.names.by_name[name]
            address = self._address(buffer, places)
            is_told = any(place is not None for place, _ in places)
            held = f' asm("" : "+r"({row}));' if is_told else ""
            yield f"{indent}{stored_type(buffer)}* {row} = {address};{held}"

    def for_later(self) -> BodyText:
        """Return the text of the rows that the code prefetches."""
        return BodyText(self.names, self.nest, later=True)

    def ahead(self) -> str:
        """Define which iteration of the next outer loop to prefetch for, within its range."""
        around = len(self.dims) - 2
        loop = self.nest.loops[around]
        start, stop = self.names.bound(loop.range.start), self.names.bound(loop.range.stop)
        far = self.nest.ahead * loop.step
        if loop.backward:
            return f"const s64 j{around} = later({start}, i{around} - {far});"
        return f"const s64 j{around} = earlier(i{around} + {far}, {stop} - {loop.step});"

    def stored(self) -> dict[str, str]:
        """Return each row that non-temporal stores write, and its buffer."""
        return {
            self.rows[key]: access.buffer
            for access in self.nest.body
            if isinstance(access, Store) and access.buffer in self.nest.streams
            if (key := self._key(access)) is not None
        }

    def _indices(self) -> list[Row]:
        """Return the instructions outside the innermost loop that compute the prefetched rows."""
        found: set[Row] = set()
        rows = [row for _, places in self.rows for row, _ in places if row is not None]
        while rows:
            number = rows.pop()
            if number not in found and self._moves(number):
                number = self._unclamped(number)
                if not isinstance(self.nest.body[number], NAMELESS):
                    found.add(number)
                rows.extend(self.nest.body[number].operands)
        return sorted(found)

    def _unclamped(self, number: Row) -> Row:
        """Return the index that bounds clamp: to prefetch what is not there does no harm."""
        row = self.nest.body[number]
        while isinstance(row, Compute) and row.op in ("minimum", "maximum"):
            first, second = row.args
            if not isinstance(self.nest.body[second], Number):
                break
            number, row = first, self.nest.body[first]
        return number

    # --- rows of memory -------------------------------------------------------------------------

    def _places(self, access: Load | Store) -> list[tuple[int | None, int]]:
        """Return row and offset of each axis."""
        count = len(self.names.by_name[access.buffer].dims)
        if not isinstance(access, Load):
            return [(None, offset) for offset in access.offsets or (0,) * count]
        return list(zip(access.rows or (None,) * count, access.offsets, strict=True))

    def _key(self, access: Load | Store) -> tuple[str, Places] | None:
        """Return the key of a row; None for a load across the innermost loop."""
        buffer = self.names.by_name[access.buffer]
        if not self.dims or self.dims[-1] not in buffer.dims:
            return None
        places = self._places(access)
        inner = buffer.dims.index(self.dims[-1])
        rows = [self.nest.body[row] for row, _ in places if row is not None]
        if places[inner][0] is not None or any(row.level == len(self.dims) for row in rows):
            return None
        places[inner] = (None, 0)
        return access.buffer, tuple(places)

    def _address(self, buffer: Buffer, places: Places) -> str:
        """Return the address of a row: all indices but that of the innermost loop."""
        terms = [
            self.names.term(buffer, axis, index)
            for axis, dim in enumerate(buffer.dims)
            if dim is not self.dims[-1]
            and (index := self._index_of(buffer, axis, *places[axis])) != "0"
        ]
        return " + ".join([self.names.buffers[buffer.name], *terms])

    def _index_of(self, buffer: Buffer, axis: int, row: int | None, offset: int) -> str:
        index = self._index(buffer.dims[axis], row, offset)
        return self.names.inside(buffer, axis, index)

    def _index(self, dim: Dimension, row: int | None, offset: int) -> str:
        if row is not None:
            name = self._operand(row)
        elif dim in self.dims:
            name = self._position(dim)
        else:
            return str(offset)
        return name if not offset else f"({name} {'+' if offset > 0 else '-'} {abs(offset)})"

    def _position(self, dim: Dimension) -> str:
        """Return the current index of the loop over a dimension."""
        level = self.dims.index(dim)
        return f"{'j' if self.later and level == len(self.dims) - 2 else 'i'}{level}"

    def _place(self, access: Load | Store) -> str:
        buffer = self.names.by_name[access.buffer]
        places = self._places(access)
        key = self._key(access)
        axes = range(len(buffer.dims))
        if key is not None:
            axes = range(buffer.dims.index(self.dims[-1]), buffer.dims.index(self.dims[-1]) + 1)
        terms = [
            self.names.term(buffer, axis, index)
            for axis in axes
            if (index := self._index_of(buffer, axis, *places[axis])) != "0"
        ]
        pointer = self.names.buffers[access.buffer] if key is None else self.rows[key]
        return f"{pointer}[{' + '.join(terms) or '0'}]"

    # --- instructions ---------------------------------------------------------------------------

    def _line(self, number: int, row: Instruction, kept: Mapping[str, str]) -> str:
        if isinstance(row, Store):
            key = self._key(row)
            array = kept.get(self.rows[key]) if key is not None else None
            place = f"{array}[l]" if array else self._place(row)
            value = self._operand(row.value)
            store = self.names.tests.get((self.group, row.buffer))
            test = "" if store is None else f" {tested(store, row.dtype, value)}"
            return f"{place} = {value};{test}"
        if isinstance(row, Advance):
            return f"s{row.index} = {self._operand(row.value)};"
        if number in self.trees and isinstance(row, Compute):
            value, functions = spelled(row, self.trees[number], self._operand)
            self.names.functions.update(functions)
        else:
            value = self._value(row)
        return f"const {TYPES[row.dtype][0]} {self._name(number)} = {value};"

    def _value(self, row: Instruction) -> str:
        if isinstance(row, Load):
            value = self._place(row)
            if row.when is not None:
                value = f"({self._operand(row.when)} ? {value} : {TYPES[row.dtype][0]}(0))"
            return f"{value}{' != 0' if row.dtype == 'bool' else ''}"
        if isinstance(row, State):
            return f"s{row.index}"
        if isinstance(row, Compute):
            args = [self._operand(arg) for arg in row.args]
            dtypes = [self.nest.body[arg].dtype for arg in row.args]
            written = express(row.op, row.dtype, args, dtypes)
            if self.names.options.vector_math:
                written = vectorised(row.op, row.dtype, args, dtypes) or written
            if self.names.options.own_math:
                written = written_out(row.op, row.dtype, args, dtypes) or written
            self.names.functions.update(written.functions)
            return written.text
        raise TypeError(f"The C++ writer does not know '{type(row).__name__}'.")

    def _operand(self, number: Row) -> str:
        if self.later:
            number = self._unclamped(number)
        row = self.nest.body[number]
        match row:
            case Constant(text=text, dtype=dtype):
                if self.names.options.checked and is_nothing(text, dtype):
                    return f"nothing_{TYPES[dtype][0]}"
                return literal(text, dtype)
            case Argument(name=name):
                return self.names.scalars[name]
            case Index(dim=dim):
                return self._position(dim)
            case Number(bound=bound):
                return f"s64({self.names.bound(bound)})"
        return self._name(number)

    def _name(self, number: Row) -> str:
        return f"{'w' if self.later and self._moves(number) else 'v'}{number}"

    def _moves(self, number: Row) -> bool:
        """Tell whether the next outer loop changes a row."""
        return bool(self.nest.body[number].level == len(self.dims) - 1)
