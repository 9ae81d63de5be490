"""The argument plan: how one call's arguments become the words of the C entry point, as data.

`bind` writes a `Plan`, the native core executes it. The entry point of every
backend has one signature (ABI version 1):

    int32_t fieldforge_entry_v1(const void* const* ptrs, const int64_t* ints,
                                const void* scalars, void* arena, const Context* context);

* `ptrs[i]` is the address of index 0 in *domain coordinates* of field argument i
  (the address of the first element minus the sum of start * stride), so that generated code
  indexes with absolute domain indices;
* `ints[i]` is the value of `Plan.ints[i]`: a stride in elements, a bound, a size;
* `scalars` points to 8-byte slots, one for each scalar argument in order, holding the
  value in its own dtype at the beginning of the slot (bool as one byte 0 or 1);
* `arena` is workspace of `Plan.workspace` bytes, 64-byte aligned, null if that is 0;
* `context` is never null: `native/context.h` declares it, with its own version.

Memory is that of device `Plan.device`. The result is 0, or a positive code; `Plan.statuses` says
what codes mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from ..language import Dimension
from ..process import DeviceType, classes

ABI_VERSION: Final = 1
ENTRY: Final = f"fieldforge_entry_v{ABI_VERSION}"

Opcode: TypeAlias = Literal[
    "const",  # push `value`
    "stride",  # push the stride in elements of argument `argument` along its axis `axis`
    "start",  # push the first index of argument `argument` along its axis `axis`
    "stop",  # push one past the last index of argument `argument` along its axis `axis`
    "scalar",  # push the integer scalar argument `argument`
    "lowest", "beyond",  # pop stop and start: over these rows of table argument `argument`, push
    # the smallest valid entry, or one more than the largest; 0 where no entry is valid; only the
    # entries of `slots` count, if there are any
    "patches",  # push a number of the lists of patches that an inspector makes of tables, see
    # `native/patch_lists.h` for what `slots` says; the lists stay with the first table
    "int",  # push `Plan.ints[value]`, which stands earlier
    "add", "sub", "mul", "min", "max",  # pop two, push one; wraps like int64
    "floordiv", "mod",  # Python semantics; division by zero gives 0
]  # fmt: skip


StatusKind: TypeAlias = Literal["not_finite", "beyond"]


@classes.frozen
class Word:
    """One instruction of an integer program in postfix order."""

    op: Opcode
    value: int = 0
    argument: int = 0
    axis: int = 0
    slots: tuple[int, ...] = ()


Code: TypeAlias = tuple[Word, ...]


@classes.frozen
class Argument:
    """One leaf of the parameters: a field or a scalar, or a table of the offset provider.

    `path` is the index of the parameter followed by the element indices inside
    nested tuples. `dims` and `unit` are for fields: `unit` names the axis whose
    stride must be one element for this plan to fit (-1: none is required).
    `written` and `read` say what the program does with a field. A table has no
    path: it is found in the offset provider by its name, and is int32 over (target, local)
    with the local extent `width`; -1 may occur in it only if `skip`, and it holds indices along
    `codomain` if that is known. Its address follows those of
    the fields in `ptrs`; it is never written.
    """

    name: str
    path: tuple[int, ...]
    kind: Literal["field", "scalar", "table"]
    dtype: str
    dims: tuple[Dimension, ...] = ()
    unit: int = -1
    read: bool = False
    written: bool = False
    width: int = 0
    skip: bool = False
    codomain: Dimension | None = None


@classes.frozen
class Box:
    """A range of indices for each axis of one field argument, `stop` exclusive.

    With `hard`, a range for each axis too, only that part must lie inside the argument: if the box
    does not, the call sets `Plan.clamped`, or runs another entry, see `Plan.is_inside`.
    """

    argument: int
    start: tuple[Code, ...]
    stop: tuple[Code, ...]
    hard: tuple[tuple[Code, Code], ...] = ()


@classes.frozen
class Access:
    """One statement: the boxes that it writes, and those it then reads.

    Where any written box is empty nothing of it is read. Every box must lie
    inside its argument. `pointwise` are the pairs (written, read) of arguments
    that may share memory (same address, strides and starts);
    any other overlap of a written and a read argument needs a snapshot. An access that
    `continues` belongs to the statement of the access before it: it reads the values from
    before either of them wrote.
    """

    writes: tuple[Box, ...]
    reads: tuple[Box, ...]
    pointwise: tuple[tuple[int, int], ...] = ()
    continues: bool = False


@classes.frozen
class Status:
    """The meaning of a code that the entry point returns: a fact about one argument.

    `not_finite`: the program wrote a number that is not finite to that field.
    `beyond`: it reads a field, maybe that one, out of its range where `where` may hide it, and
    wrote nothing.
    """

    code: int
    kind: StatusKind
    argument: int


@classes.frozen
class Launch:
    """One kernel of a program for a GPU, in the order in which they are queued on the stream.

    `blocks` are places of `Plan.ints`: how many blocks the grid has along x, y and z; the kernel
    does not run if one is not positive. `threads` is the size of a block, `shared` its shared
    memory in bytes, or the most of it where the integer at `needed` says how much. Each row of
    `arguments` is a kind and a place: a `pointer`, an `int` or a `scalar` of the entry point, a
    `slot` of the arena, whose offset in bytes is that integer, or the `status`, a number of 4 bytes
    that is at first the count of the tested stores and at last the number of the first that failed;
    an `index` is that of the `Repeat` at this depth around the launch, 0 for the outermost.
    A kernel with a `version` runs only if the integer at `Plan.clamped` is that number; `step` is
    its statement, from 1 on, see `Plan.stepped`.
    """

    kernel: str
    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]
    arguments: tuple[tuple[str, int], ...]
    shared: int = 0
    version: int = -1
    needed: int = -1
    step: int = 1

    def __str__(self) -> str:
        blocks = ", ".join(f"ints[{place}]" for place in self.blocks)
        takes = ", ".join(_ARGUMENTS[kind].format(place) for kind, place in self.arguments)
        threads = " x ".join(map(str, self.threads))
        text = f"{self.kernel}({takes}) on ({blocks}) blocks of {threads} threads"
        if self.needed >= 0:
            text += f" with ints[{self.needed}] bytes"
        return text if self.version < 0 else f"{text}, version {self.version}"


_ARGUMENTS: Final = {
    "pointer": "ptrs[{}]", "int": "ints[{}]", "scalar": "scalars[{}]", "slot": "arena + ints[{}]",
    "status": "status", "index": "index {}",
}  # fmt: skip


@classes.frozen
class Repeat:
    """Launches that a call queues again for each index of a loop, none if there is no index.

    The first index is the integer at `start`, the integer at `stop` is one past the last; if
    `backward`, the last comes first. At most 8 stand in each other.
    """

    start: int
    stop: int
    launches: tuple[Launch | Repeat, ...]
    backward: bool = False

    def __str__(self) -> str:
        way = " backward" if self.backward else ""
        each = "; ".join(map(str, self.launches))
        return f"for each index from ints[{self.start}] to ints[{self.stop}]{way}: [{each}]"


@classes.frozen
class Plan:
    """All that the native core needs to call one compiled variant of a program.

    Without `launches`, a call runs the entry point of a library; with them, it queues the kernels
    of a module for `platform`, and no code for the host was generated. If there are `codes`, a call
    waits for the status that kernels write, and returns the code at that place.

    `device` is where fields, tables and the arena lie, as DLPack numbers devices. `backend` is the
    name of the code generator, for people; nothing depends on it.
    `alike` are pairs (argument, axis, argument, axis) of ranges that must be equal for the plan
    to fit, `ranges` are those that must be (argument, axis, start, stop).
    The integer at `clamped` is 1 in a call that reads a box with a `hard` part beyond its argument.
    If `is_inside`, the code is for no such call: it runs the entry that `Entry.beyond` returns.
    The integer at `stepped` is 0; where arguments share memory so that a statement needs a snapshot
    from after an earlier one, the call enters the code once for each statement, with its number.
    """

    program: str
    parameters: tuple[str, ...]
    arguments: tuple[Argument, ...]
    ints: tuple[Code, ...]
    accesses: tuple[Access, ...]
    workspace: Code = (Word("const"),)
    backend: str = "cpu"
    alike: tuple[tuple[int, int, int, int], ...] = ()
    ranges: tuple[tuple[int, int, int, int], ...] = ()
    abi: int = ABI_VERSION
    device: int = int(DeviceType.CPU)
    statuses: tuple[Status, ...] = ()
    launches: tuple[Launch | Repeat, ...] = ()
    platform: str = ""
    codes: tuple[int, ...] = ()
    clamped: int = -1
    stepped: int = -1
    is_inside: bool = False


_BINARY: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
}


def evaluate(
    code: Code,
    number: Callable[[Word], int | None],
    entry: Callable[[Word, int, int], int | None],
) -> int | None:
    """Return the value of a postfix program; None if it needs a number that is not known.

    >>> twice = (Word("scalar"), Word("const", 2), Word("mul"))
    >>> evaluate(twice, lambda word: word.value or 21, lambda *_: None)
    42

    Args:
        code: the words of the program.
        number: gives the value of a word without operands, such as a scalar argument.
        entry: gives the smallest or largest entry of a table in a range of rows.

    """
    stack: list[int | None] = []
    for word in code:
        is_entry = word.op in ("lowest", "beyond")
        if not is_entry and word.op not in _BINARY:
            stack.append(number(word))
            continue
        right, left = stack.pop(), stack.pop()
        if left is None or right is None:
            stack.append(None)
        else:
            stack.append(entry(word, left, right) if is_entry else _BINARY[word.op](left, right))
    return stack[-1]
