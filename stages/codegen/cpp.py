"""Write a kernel as plain C++: one function, no headers, no names of the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...runtime.dimension import Dimension
from ...runtime.plan import ENTRY
from ..ir.bounds import Bound, Range
from ..ir.loops import (
    Advance,
    Argument,
    Buffer,
    Compute,
    Constant,
    Index,
    Instruction,
    Kernel,
    Load,
    Loop,
    Nest,
    Number,
    State,
    Store,
)
from ..ir.strides import Stride
from .arena import extent
from .cpp_operations import TYPES, express, literal
from .integers import buffers_of, integers, split

SIMD = "#pragma omp simd"


def write_cpp(kernel: Kernel, parallel_from: int) -> str:
    """Return the source of a kernel; loops over fewer points than `parallel_from` stay serial."""
    writer = Writer(kernel, integers(kernel), parallel_from)
    nests = [line for index, nest in enumerate(kernel.nests) for line in writer.nest(index, nest)]
    functions = [text for _, text in sorted(writer.functions.items())]
    types = [f"typedef {meaning} {name};" for name, meaning in TYPES.values()]
    head = [
        f'extern "C" s32 {ENTRY}(const void* const* ptrs, const s64* ints, const void* scalars,',
        "                             void* arena, void*) {",
        *(f"  const s64 n{i} = ints[{i}];" for i in range(len(writer.places))),
        *writer.scalars(),
        *writer.pointers(),
    ]
    unused = ["  (void)ptrs, (void)ints, (void)scalars, (void)arena;"]
    return "\n".join([*types, "", *functions, "", *head, *unused, *nests, "  return 0;", "}", ""])


class Writer:
    """Names and text of everything in one kernel."""

    def __init__(self, kernel: Kernel, known: Sequence[Bound | Stride], parallel_from: int) -> None:
        self.kernel = kernel
        self.places = {source: i for i, source in enumerate(known)}
        self.parallel_from = parallel_from
        self.functions: dict[str, str] = {}
        self.buffers = {buffer.name: buffer for buffer in kernel.buffers}
        fields = [buffer for buffer in kernel.buffers if buffer.memory == "field"]
        tables = [buffer for buffer in kernel.buffers if buffer.memory == "table"]
        arrays = [buffer for buffer in kernel.buffers if buffer.memory == "arena"]
        self.names = {buffer.name: f"p{i}" for i, buffer in enumerate([*fields, *tables])}
        self.names |= {buffer.name: f"a{i}" for i, buffer in enumerate(arrays)}
        self.scalar_names = {name: f"x{i}" for i, (name, _) in enumerate(kernel.scalars)}

    def bound(self, bound: Bound) -> str:
        """Return a bound as an expression that binds tightly."""
        symbol, constant = split(bound)
        if symbol is None:
            return str(constant)
        name = f"n{self.places[symbol]}"
        return name if not constant else f"({name} {'+' if constant > 0 else '-'} {abs(constant)})"

    def scalars(self) -> Iterator[str]:
        """Read the scalar parameters that bodies use."""
        bodies = (row for nest in self.kernel.nests for row in nest.body)
        used = {row.name for row in bodies if isinstance(row, Argument)}
        for i, (name, dtype) in enumerate(self.kernel.scalars):
            if name in used:
                stored = TYPES["uint8" if dtype == "bool" else dtype][0]
                value = f"*(const {stored}*)((const char*)scalars + {8 * i})"
                test = " != 0" if dtype == "bool" else ""
                yield f"  const {TYPES[dtype][0]} x{i} = {value}{test};"

    def pointers(self) -> Iterator[str]:
        """Name the memory: fields at index 0, arrays in their slots moved to index 0."""
        touched = {name for nest in self.kernel.nests for name in buffers_of(nest)}
        for buffer in self.kernel.buffers:
            if buffer.memory != "arena" and buffer.name in touched:
                type_, name = _stored(buffer), self.names[buffer.name]
                yield f"  {type_}* const {name} = ({type_}*)ptrs[{name[1:]}];"
        offset = "(char*)arena"
        for place, size in enumerate(self.kernel.slots):
            yield f"  char* const slot{place} = {offset};"
            offset = f"slot{place} + {self.bound(size)}"
        for buffer in self.kernel.buffers:
            if buffer.memory == "arena":
                yield from self._array(buffer)

    def _array(self, buffer: Buffer) -> Iterator[str]:
        """Define strides of an array, rows of the innermost dimension first, and its origin."""
        name = self.names[buffer.name]
        ranges = {range_.dim: range_ for range_ in buffer.box}
        step = "1"
        for dim in reversed(buffer.order):
            axis = buffer.dims.index(dim)
            if dim is not buffer.unit:
                yield f"  const s64 {name}s{axis} = {step};"
            size = extent(ranges[dim])
            wide = self.bound(ranges[dim].stop) + " - " + self.bound(ranges[dim].start)
            symbol, constant = split(size)
            count = str(constant) if symbol is None else f"({wide})"
            step = count if step == "1" else f"{name}s{axis} * {count}"
        origin = " - ".join(
            [
                "",
                *(
                    self.term(buffer, axis, self.bound(ranges[dim].start))
                    for axis, dim in enumerate(buffer.dims)
                ),
            ]
        )
        type_ = _stored(buffer)
        yield f"  {type_}* const {name} = ({type_}*)slot{buffer.slot}{origin};"

    def term(self, buffer: Buffer, axis: int, index: str) -> str:
        """Return an index times the stride of its axis."""
        dim = buffer.dims[axis]
        if dim is buffer.unit:
            return index
        if buffer.memory == "arena":
            return f"{index} * {self.names[buffer.name]}s{axis}"
        return f"{index} * n{self.places[Stride(buffer.name, axis)]}"

    def nest(self, index: int, nest: Nest) -> Iterator[str]:
        """Write the loops of one nest, and what stands between them."""
        yield f"  {{  // nest {index}"
        rows = _Rows(self, nest)
        guard = [f"{self.bound(r.start)} < {self.bound(r.stop)}" for r in nest.guard]
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
            if level == 0 and loop.kind != "sequential":
                yield f"{self._threads(nest, shared)}"
            if level < depth - 1:
                yield f"{indent}{self._loop(level, loop, loop.range)}"
                yield from rows.at(level + 1)
            else:
                yield from self._innermost(nest, rows, indent)
        yield "  " + "}" * (max(0, depth - 1) + bool(guard) + 1)

    def _innermost(self, nest: Nest, rows: _Rows, indent: str) -> Iterator[str]:
        """Write the innermost loop, or its parts one after another."""
        level = len(nest.loops) - 1
        loop = nest.loops[level]
        for part, range_ in enumerate(nest.parts or (loop.range,)):
            if loop.kind == "vector" and (level or part):
                yield SIMD
            yield f"{indent}{self._loop(level, loop, range_)}"
            yield from rows.at(level + 1, part)
            yield f"{indent}}}"

    def _loop(self, level: int, loop: Loop, range_: Range) -> str:
        start, stop = self.bound(range_.start), self.bound(range_.stop)
        if loop.backward:
            return f"for (s64 i{level} = {stop} - 1; i{level} >= {start}; --i{level}) {{"
        return f"for (s64 i{level} = {start}; i{level} < {stop}; ++i{level}) {{"

    def _threads(self, nest: Nest, shared: int) -> str:
        counts = [f"({self.bound(r.stop)} - {self.bound(r.start)})" for r in nest.box]
        kind = "parallel for simd" if not shared else "parallel for"
        collapse = f" collapse({shared})" if shared > 1 else ""
        limit = f" if ({' * '.join(counts)} >= {self.parallel_from})"
        return f"#pragma omp {kind}{collapse} schedule(static){limit}"


class _Rows:
    """The instructions of one nest as text, and the pointers to rows of memory that they use."""

    def __init__(self, writer: Writer, nest: Nest) -> None:
        self.writer = writer
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
            buffer = self.writer.buffers[name]
            terms = [
                self.writer.term(buffer, axis, index)
                for axis, dim in enumerate(buffer.dims)
                if dim is not self.dims[-1] and (index := self._index(dim, *places[axis])) != "0"
            ]
            address = " + ".join([self.writer.names[name], *terms])
            yield f"{indent}{_stored(buffer)}* const {row} = {address};"

    def _places(self, access: Load | Store) -> list[tuple[int | None, int]]:
        """Return row and offset of each axis."""
        count = len(self.writer.buffers[access.buffer].dims)
        if not isinstance(access, Load):
            return [(None, 0)] * count
        return list(zip(access.rows or (None,) * count, access.offsets, strict=True))

    def _key(self, access: Load | Store) -> tuple[str, tuple[tuple[int | None, int], ...]] | None:
        """Return what tells rows apart, or None for what is not read along the innermost loop."""
        buffer = self.writer.buffers[access.buffer]
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
        buffer = self.writer.buffers[access.buffer]
        places = self._places(access)
        key = self._key(access)
        axes = range(len(buffer.dims))
        if key is not None:
            axes = range(buffer.dims.index(self.dims[-1]), buffer.dims.index(self.dims[-1]) + 1)
        terms = [
            self.writer.term(buffer, axis, index)
            for axis in axes
            if (index := self._index(buffer.dims[axis], *places[axis])) != "0"
        ]
        pointer = self.writer.names[access.buffer] if key is None else self.rows[key]
        return f"{pointer}[{' + '.join(terms) or '0'}]"

    def _line(self, number: int, row: Instruction) -> str:
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
            self.writer.functions.update(written.functions)
            return written.text
        raise TypeError(f"The C++ writer does not know '{type(row).__name__}'.")

    def _operand(self, number: int) -> str:
        row = self.nest.body[number]
        match row:
            case Constant(text=text):
                return literal(text, row.dtype)
            case Argument(name=name):
                return self.writer.scalar_names[name]
            case Index(dim=dim):
                return f"i{self.dims.index(dim)}"
            case Number(bound=bound):
                return f"s64({self.writer.bound(bound)})"
        return f"v{number}"


def _stored(buffer: Buffer) -> str:
    """Return the type of an element in memory; a bool is a byte."""
    return TYPES["uint8" if buffer.dtype == "bool" else buffer.dtype][0]
