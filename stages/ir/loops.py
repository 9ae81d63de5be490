"""Loop IR: where and when values are computed, scheduled for one target.

    kernel      ::= buffers, nests in order, arena slots, notes
    buffer      ::= field parameter | arena array over a box, in a slot
    nest        ::= loops outer to inner, body, the box whose emptiness skips it
    loop        ::= (parallel | sequential | vector) dim: start .. stop
    instruction ::= Load(buffer[offsets]) | Constant | Argument | Compute(op, row...)
                  | Store(buffer, row)

A body is a flat table; a reference is the row of an earlier instruction. `level` is
the number of loops around an instruction: what does not change with the inner loops
stands outside them. Every decision carries the reason why it was taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias
from typing import Literal as OneOf

import attrs

from ...runtime.dimension import Dimension
from .bounds import Bound, Const, Range, Ranges
from .dataflow import OPERATIONS

Row: TypeAlias = int
NOTHING: Final = Const(0)


@attrs.frozen
class Buffer:
    """Memory that nests read and write.

    `unit` is the dimension whose stride is one element. An arena array has the
    index range `box`, its dimensions lie in memory as `order` says (outer to inner).
    """

    name: str
    memory: OneOf["field", "arena"]
    dtype: str
    dims: tuple[Dimension, ...]
    unit: Dimension | None = None
    box: Ranges = ()
    order: tuple[Dimension, ...] = ()
    slot: int = -1
    reason: str = ""


@attrs.frozen
class Loop:
    """Walk one dimension; `parallel` loops that follow one another are one loop for threads.

    A `vector` loop that stands alone is shared by threads, too.
    """

    kind: OneOf["parallel", "sequential", "vector"]
    range: Range


@attrs.frozen(kw_only=True)
class Instruction:
    """A row of a body; `level` counts the loops around it."""

    dtype: str
    level: int = 0

    @property
    def operands(self) -> tuple[Row, ...]:
        """The rows that this one is made from."""
        return ()


@attrs.frozen(kw_only=True)
class Load(Instruction):
    """Read a buffer of dimensions `dims` at the current indices plus `offsets`."""

    buffer: str
    dims: tuple[Dimension, ...]
    offsets: tuple[int, ...]


@attrs.frozen(kw_only=True)
class Constant(Instruction):
    """A number in its canonical spelling."""

    text: str


@attrs.frozen(kw_only=True)
class Argument(Instruction):
    """A scalar parameter."""

    name: str


@attrs.frozen(kw_only=True)
class Compute(Instruction):
    """One of dataflow's operations; `cast` converts to the row's own dtype."""

    op: str
    args: tuple[Row, ...]

    @property
    def operands(self) -> tuple[Row, ...]:
        """The arguments."""
        return self.args


@attrs.frozen(kw_only=True)
class Store(Instruction):
    """Write a row to a buffer at the current indices."""

    buffer: str
    value: Row

    @property
    def operands(self) -> tuple[Row, ...]:
        """The row that is written."""
        return (self.value,)


@attrs.frozen
class Nest:
    """Loops around a body; `statement` is the group of stores that it works for.

    Nothing of it runs, and nothing is read, where `guard` is empty.
    """

    statement: int
    loops: tuple[Loop, ...]
    body: tuple[Instruction, ...]
    guard: Ranges
    reason: str

    @property
    def box(self) -> Ranges:
        """The ranges of the loops."""
        return tuple(loop.range for loop in self.loops)


@attrs.frozen
class Kernel:
    """A scheduled program; `slots` are the sizes in bytes of the pieces of the arena."""

    name: str
    scalars: tuple[tuple[str, str], ...]
    buffers: tuple[Buffer, ...]
    nests: tuple[Nest, ...]
    slots: tuple[Bound, ...] = ()
    workspace: Bound = NOTHING
    notes: tuple[str, ...] = ()

    def buffer(self, name: str) -> Buffer:
        """Return the buffer of that name."""
        return next(buffer for buffer in self.buffers if buffer.name == name)


def show(kernel: Kernel) -> str:
    """Print a kernel: buffers, then nests with one loop or instruction a line."""
    lines = [f"kernel {kernel.name}"]
    lines += [f"  scalar {name} {dtype}" for name, dtype in kernel.scalars]
    lines += [f"  {_show_buffer(buffer)}" for buffer in kernel.buffers]
    lines += [f"  slot {i}: {size} bytes" for i, size in enumerate(kernel.slots)]
    lines += [f"  # {note}" for note in kernel.notes]
    for index, nest in enumerate(kernel.nests):
        lines.append(f"nest {index} of statement {nest.statement}  # {nest.reason}")
        lines += _show_nest(nest)
    return "\n".join(lines) + "\n"


def verify(kernel: Kernel) -> Kernel:
    """Return the kernel if it is well formed; a violation is a bug of the schedule.

    Raises:
        ValueError: naming the nest, the row and the rule.

    """
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    if len(buffers) != len(kernel.buffers):
        raise ValueError(f"Two buffers of kernel '{kernel.name}' have one name.")
    filled: set[str] = set()
    for index, nest in enumerate(kernel.nests):
        for row, problem in _problems(nest, buffers, filled):
            raise ValueError(f"Nest {index} of kernel '{kernel.name}', row %{row}: {problem}.")
        filled.update(i.buffer for i in nest.body if isinstance(i, Store))
    return kernel


def _problems(
    nest: Nest, buffers: dict[str, Buffer], filled: set[str]
) -> Iterator[tuple[Row, str]]:
    dims = tuple(loop.range.dim for loop in nest.loops)
    for row, instruction in enumerate(nest.body):
        if not 0 <= instruction.level <= len(dims):
            yield row, f"level {instruction.level} is not one of {len(dims)} loops"
        for operand in instruction.operands:
            if not 0 <= operand < row:
                yield row, f"refers to row %{operand}, which does not stand earlier"
            elif nest.body[operand].level > instruction.level:
                yield row, f"stands outside a loop that its operand %{operand} needs"
        if isinstance(instruction, Compute) and instruction.op not in OPERATIONS:
            yield row, f"unknown operation '{instruction.op}'"
        if isinstance(instruction, Load | Store):
            yield from (
                (row, text) for text in _access_problems(instruction, dims, buffers, filled)
            )


def _access_problems(
    access: Load | Store,
    dims: tuple[Dimension, ...],
    buffers: dict[str, Buffer],
    filled: set[str],
) -> Iterator[str]:
    buffer = buffers.get(access.buffer)
    if buffer is None:
        yield f"unknown buffer '{access.buffer}'"
        return
    needed = [dims.index(dim) + 1 for dim in buffer.dims if dim in dims]
    if len(needed) != len(buffer.dims):
        yield f"buffer '{buffer.name}' has a dimension that no loop walks"
    elif max(needed, default=0) > access.level:
        yield f"stands outside a loop that buffer '{buffer.name}' needs"
    if isinstance(access, Load):
        if access.dims != buffer.dims or len(access.offsets) != len(buffer.dims):
            yield f"dimensions or offsets are not those of '{buffer.name}'"
        if buffer.memory == "arena" and buffer.name not in filled:
            yield f"reads '{buffer.name}' before a nest has written it"


def _show_buffer(buffer: Buffer) -> str:
    dims = ", ".join(dim.value for dim in buffer.dims)
    text = f"{buffer.memory} {buffer.name} {buffer.dtype} [{dims}]"
    if buffer.unit is not None:
        text += f" unit {buffer.unit.value}"
    if buffer.memory == "arena":
        text += f" box ({', '.join(map(str, buffer.box))}) slot {buffer.slot}"
    return text + (f"  # {buffer.reason}" if buffer.reason else "")


def _show_nest(nest: Nest) -> Iterator[str]:
    for depth in range(len(nest.loops) + 1):
        if depth:
            loop = nest.loops[depth - 1]
            yield f"{'  ' * depth}{loop.kind} {loop.range}"
        for row, instruction in enumerate(nest.body):
            if instruction.level == depth:
                yield f"{'  ' * (depth + 1)}{_show_instruction(row, instruction)}"


def _show_instruction(row: Row, instruction: Instruction) -> str:
    match instruction:
        case Load(buffer=buffer, offsets=offsets):
            text = f"load {buffer}[{', '.join(map(str, offsets))}]"
        case Constant(text=number):
            text = f"constant {number}"
        case Argument(name=name):
            text = f"argument {name}"
        case Compute(op=op, args=args):
            text = " ".join([op, *(f"%{arg}" for arg in args)])
        case Store(buffer=buffer, value=value):
            return f"store {buffer} = %{value}"
        case _:
            raise TypeError(f"No text form for '{type(instruction).__name__}'.")
    return f"%{row} {instruction.dtype} = {text}"
