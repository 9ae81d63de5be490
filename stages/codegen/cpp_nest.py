"""Write one nest as C++: its loops, and what stands between them."""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.dimension import Dimension
from ..ir.bounds import Range
from ..ir.loops import (
    Advance,
    Argument,
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Loop,
    Nest,
    Number,
    State,
    Store,
    Tiling,
)
from .cpp_names import Names, stored_type
from .cpp_operations import TYPES, express, literal, vectorised, written_out
from .cpp_stream import SIMD, streamed


def write_nest(names: Names, nest: Nest, tiling: Tiling | None) -> Iterator[str]:
    """Write the loops of a nest and close the block that it stands in.

    Inside a tiling a nest walks its part of a tile and shares nothing among threads.
    """
    rows = _Rows(names, nest)
    guard = (
        [] if tiling else [f"{names.bound(r.start)} < {names.bound(r.stop)}" for r in nest.guard]
    )
    if guard:
        yield f"  if ({' && '.join(guard)}) {{"
    depth = len(nest.loops)
    shared = sum(loop.kind == "parallel" for loop in nest.loops)
    yield from rows.at(0)
    for level, loop in enumerate(nest.loops):
        indent = "  " * (level + 2)
        if level == depth - 1:
            yield from rows.pointers(indent)
            yield from rows.states(indent)
        if level == 0 and loop.kind != "sequential" and tiling is None:
            yield _threads(names, nest, shared)
        if level < depth - 1:
            yield f"{indent}{_loop(level, loop, _ends(names, loop, loop.range, tiling))}"
            yield from rows.at(level + 1)
            continue
        for part, range_ in enumerate(nest.parts or (loop.range,)):
            ends = _ends(names, loop, range_, tiling)
            inner = rows.at(depth, part)
            if nest.streams:
                yield from streamed(names, nest, level, ends, rows.addresses(), inner, indent)
                continue
            if loop.kind == "vector" and (level or part or tiling):
                yield SIMD
            yield f"{indent}{_loop(level, loop, ends)}"
            yield from inner
            yield f"{indent}}}"
    yield "  " + "}" * (max(0, depth - 1) + bool(guard) + 1)


def _ends(names: Names, loop: Loop, range_: Range, tiling: Tiling | None) -> tuple[str, str]:
    if loop.margin is not None and tiling is not None:
        return _in_tile(names, loop, range_, tiling)
    return names.bound(range_.start), names.bound(range_.stop)


def _loop(level: int, loop: Loop, ends: tuple[str, str]) -> str:
    start, stop = ends
    if loop.backward:
        return f"for (s64 i{level} = {stop} - 1; i{level} >= {start}; --i{level}) {{"
    step = f"i{level} += {loop.step}" if loop.step > 1 else f"++i{level}"
    return f"for (s64 i{level} = {start}; i{level} < {stop}; {step}) {{"


def _in_tile(names: Names, loop: Loop, range_: Range, tiling: Tiling) -> tuple[str, str]:
    """Return the ends of a range where it is cut by a tile."""
    cut = tiling.dims.index(range_.dim)
    before, beyond = loop.margin or (0, 0)
    start = f"t{cut} - {before}" if before else f"t{cut}"
    stop = f"u{cut} + {beyond}" if beyond else f"u{cut}"
    if range_.dim is tiling.rolled:
        start, stop = f"later({start}, row + {beyond})", f"row + {beyond + 1}"
    whole = range_ == tiling.cuts[cut].range and range_.dim is not tiling.rolled
    if whole and not before and not beyond:
        return start, stop
    return (
        f"later({names.bound(range_.start)}, {start})",
        f"earlier({names.bound(range_.stop)}, {stop})",
    )


def _threads(names: Names, nest: Nest, shared: int) -> str:
    kind = "parallel for simd" if not shared else "parallel for"
    collapse = f" collapse({shared})" if shared > 1 else ""
    return f"#pragma omp {kind}{collapse} schedule(static) if ({names.is_large(nest)})"


class _Rows:
    """The instructions of one nest as text, and the pointers to rows of memory that they use."""

    def __init__(self, names: Names, nest: Nest) -> None:
        self.names = names
        self.nest = nest
        self.dims = [loop.range.dim for loop in nest.loops]
        self.rows: dict[tuple[str, tuple[tuple[int | None, int], ...]], str] = {}
        for row in nest.body:
            if isinstance(row, Load | Store):
                key = self._key(row)
                if key is not None:
                    self.rows.setdefault(key, f"r{len(self.rows)}")

    def at(self, level: int, part: int = 0) -> Iterator[str]:
        """Write the instructions that stand inside `level` loops, of one part of the innermost."""
        indent = "  " * (level + 2)
        inside = level == len(self.dims)
        for number, row in enumerate(self.nest.body):
            here = row.level == level and (not inside or row.part == part)
            if here and not isinstance(row, Constant | Argument | Index | Number):
                yield indent + self._line(number, row)

    def states(self, indent: str) -> Iterator[str]:
        """Define the states of a scan before its loop."""
        for k, (dtype, row) in enumerate(self.nest.states):
            yield f"{indent}{TYPES[dtype][0]} s{k} = {self._operand(row)};"

    def pointers(self, indent: str) -> Iterator[str]:
        """Define the rows: all indices but the innermost are added up outside its loop."""
        for (name, places), row in self.rows.items():
            buffer = self.names.by_name[name]
            terms = [
                self.names.term(buffer, axis, index)
                for axis, dim in enumerate(buffer.dims)
                if dim is not self.dims[-1] and (index := self._index(dim, *places[axis])) != "0"
            ]
            address = " + ".join([self.names.buffers[name], *terms])
            yield f"{indent}{stored_type(buffer)}* const {row} = {address};"

    def _places(self, access: Load | Store) -> list[tuple[int | None, int]]:
        """Return row and offset of each axis."""
        count = len(self.names.by_name[access.buffer].dims)
        if not isinstance(access, Load):
            return [(None, offset) for offset in access.offsets or (0,) * count]
        return list(zip(access.rows or (None,) * count, access.offsets, strict=True))

    def _key(self, access: Load | Store) -> tuple[str, tuple[tuple[int | None, int], ...]] | None:
        """Return what tells rows apart, or None for what is not read along the innermost loop."""
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

    def _index(self, dim: Dimension, row: int | None, offset: int) -> str:
        if row is not None:
            name = self._operand(row)
        elif dim in self.dims:
            name = f"i{self.dims.index(dim)}"
        else:
            return str(offset)
        return name if not offset else f"({name} {'+' if offset > 0 else '-'} {abs(offset)})"

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
            if (index := self._index(buffer.dims[axis], *places[axis])) != "0"
        ]
        pointer = self.names.buffers[access.buffer] if key is None else self.rows[key]
        return f"{pointer}[{' + '.join(terms) or '0'}]"

    def addresses(self) -> dict[str, str]:
        """Return the row of each field that is written past the caches."""
        return {
            access.buffer: self.rows[key]
            for access in self.nest.body
            if isinstance(access, Store) and access.buffer in self.nest.streams
            if (key := self._key(access)) is not None
        }

    def _line(self, number: int, row: Instruction) -> str:
        if isinstance(row, Store) and row.buffer in self.nest.streams:
            place = self.nest.streams.index(row.buffer)
            return f"w{place}[i{len(self.dims) - 1}] = {self._operand(row.value)};"
        if isinstance(row, Store):
            return f"{self._place(row)} = {self._operand(row.value)};"
        if isinstance(row, Advance):
            return f"s{row.index} = {self._operand(row.value)};"
        return f"const {TYPES[row.dtype][0]} v{number} = {self._value(row)};"

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
            if self.names.limits.vector_math:
                written = vectorised(row.op, row.dtype, args, dtypes) or written
            if self.names.limits.own_math:
                written = written_out(row.op, row.dtype, args, dtypes) or written
            self.names.functions.update(written.functions)
            return written.text
        raise TypeError(f"The C++ writer does not know '{type(row).__name__}'.")

    def _operand(self, number: int) -> str:
        row = self.nest.body[number]
        match row:
            case Constant(text=text):
                return literal(text, row.dtype)
            case Argument(name=name):
                return self.names.scalars[name]
            case Index(dim=dim):
                return f"i{self.dims.index(dim)}"
            case Number(bound=bound):
                return f"s64({self.names.bound(bound)})"
        return f"v{number}"
