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

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import attrs

from ..fields.device import DeviceType
from ..language.dimension import Dimension
from ..process import classes

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
    does not, the call sets `Plan.clamped`.
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
    that is at first the count of the tested stores and at last the number of the first that failed.
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
    "status": "status",
}  # fmt: skip


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
    launches: tuple[Launch, ...] = ()
    platform: str = ""
    codes: tuple[int, ...] = ()
    clamped: int = -1
    stepped: int = -1


_INFIX: Final = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}


def show_plan(plan: Plan) -> str:
    """Return the plan for a person, one argument, integer and box a line.

    >>> field = Argument("a", (0,), "field", "float64", (Dimension("I"),), written=True)
    >>> last = (Word("stop"), Word("const", 1), Word("sub"))
    >>> box = Box(0, ((Word("start"),),), (last,))
    >>> print(show_plan(Plan("p", ("a",), (field,), (last,), (Access((box,), ()),))))
    program p(a): backend cpu, ABI 1
    argument 0   a = Field[[I], float64], written
    int 0        stop(a, I) - 1
    statement 0
      writes     a[start(a, I):stop(a, I) - 1]
    workspace    0 bytes
    """
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    names = ", ".join(plan.parameters)
    device = DeviceType(plan.device)
    on = "" if device is DeviceType.CPU else f" on {device.name}"
    yield f"program {plan.program}({names}): backend {plan.backend}{on}, ABI {plan.abi}"
    for index, argument in enumerate(plan.arguments):
        yield f"{f'argument {index}':<12} {_shown_argument(argument)}"
    for index, code in enumerate(plan.ints):
        yield f"{f'int {index}':<12} {_shown(code, plan)}"
    for index, access in enumerate(plan.accesses):
        yield f"statement {index}{', a further part' * access.continues}"
        yield from (f"  writes     {_shown_box(box, plan)}" for box in access.writes)
        for box in access.reads:
            yield f"  reads      {_shown_box(box, plan)}"
            if box.hard:
                starts, stops = zip(*box.hard, strict=True)
                part = attrs.evolve(box, start=starts, stop=stops)
                yield f"  must have  {_shown_box(part, plan)}"
        for pair in access.pointwise:
            written, read = (plan.arguments[index].name for index in pair)
            yield f"  pointwise  {written} may be {read}"
    for first, axis, second, _ in plan.alike:
        one, two = plan.arguments[first], plan.arguments[second]
        along = one.dims[axis].value
        yield f"{'fits where':<12} {one.name} and {two.name} have one range along {along}"
    for place, axis, start, stop in plan.ranges:
        argument = plan.arguments[place]
        along = argument.dims[axis].value
        yield f"{'fits where':<12} {argument.name} has the range {start}:{stop} along {along}"
    for status in plan.statuses:
        fact = f"{plan.arguments[status.argument].name} is {status.kind.replace('_', ' ')}"
        yield f"{f'code {status.code}':<12} {fact}"
    for number, launch in enumerate(plan.launches):
        yield f"{f'launch {number}':<12} {launch}"
    if plan.stepped >= 0:
        yield f"{f'int {plan.stepped}':<12} the only statement that runs, from 1 on; 0 for all"
    if plan.clamped >= 0:
        yield f"{f'int {plan.clamped}':<12} 1 if a read leads out of what it must have"
    yield f"{'workspace':<12} {_shown(plan.workspace, plan)} bytes"


def _shown_argument(argument: Argument) -> str:
    dims = ", ".join(dim.value for dim in argument.dims)
    if argument.kind == "table":
        missing = ", some missing" if argument.skip else ""
        return f"{argument.name} = table over ({dims}), {argument.width} neighbours{missing}"
    path = "".join(f"[{index}]" for index in argument.path[1:])
    place = f" at parameter {argument.path[0]}{path}" if path else ""
    if argument.kind == "scalar":
        return f"{argument.name} = {argument.dtype}{place}"
    facts = [f"{argument.name} = Field[[{dims}], {argument.dtype}]{place}"]
    facts += ["read"] * argument.read + ["written"] * argument.written
    if argument.unit >= 0:
        facts.append(f"unit stride along {argument.dims[argument.unit].value}")
    return ", ".join(facts)


def _shown_box(box: Box, plan: Plan) -> str:
    ranges = zip(box.start, box.stop, strict=True)
    inner = ", ".join(f"{_shown(first, plan)}:{_shown(last, plan)}" for first, last in ranges)
    return f"{plan.arguments[box.argument].name}[{inner}]"


def _shown(code: Code, plan: Plan) -> str:
    """Write postfix as infix, with brackets around every operand that is an operation."""
    stack: list[tuple[str, bool]] = []
    for word in code:
        if word.op in ("lowest", "beyond"):
            (stop, _), (start, _) = stack.pop(), stack.pop()
            rows = f"{plan.arguments[word.argument].name}, {start}, {stop}"
            stack.append((f"{word.op}({rows})", False))
        elif word.op in ("add", "sub", "mul", "min", "max", "floordiv", "mod"):
            (right, right_apart), (left, left_apart) = stack.pop(), stack.pop()
            if sign := _INFIX.get(word.op):
                left = f"({left})" if left_apart else left
                right = f"({right})" if right_apart else right
                stack.append((f"{left} {sign} {right}", True))
            else:
                stack.append((f"{word.op}({left}, {right})", False))
        else:
            stack.append((_shown_word(word, plan), False))
    return stack[-1][0]


def _shown_word(word: Word, plan: Plan) -> str:
    if word.op == "const":
        return str(word.value)
    if word.op == "patches":
        number = ("address", "patches", "shared", "size")[word.slots[0]]
        return f"{number}({word.slots[1]} by {plan.arguments[word.argument].name})"
    if word.op == "int":
        return f"ints[{word.value}]"
    argument = plan.arguments[word.argument]
    if word.op == "scalar":
        return argument.name
    return f"{word.op}({argument.name}, {argument.dims[word.axis].value})"
