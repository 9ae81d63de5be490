"""Make the `Interface` of a kernel: the arguments, integers, boxes and codes of a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ...runtime.calls.plan import ABI_VERSION, StatusKind
from ...runtime.process import DeviceType, classes
from ..artifacts import Interface
from ..ir import dataflow
from ..ir.dataflow import Read, Statement, Store
from ..ir.inside import bounds_of, values_of
from ..ir.loops import (
    Access,
    Apply,
    Bound,
    Choice,
    Column,
    Const,
    Kernel,
    Load,
    Loop,
    Member,
    Nest,
    NestGroup,
    Node,
    Number,
    PatchGroup,
    Range,
    Ranges,
    Store as Write,
    Stride,
    accesses,
    arrays_of,
    children,
    groups_of,
    hull,
    nests_of,
    nodes_of,
)
from ..ir.settled import shared
from .schedule.drafts import StoreGroup
from .schedule.hazards import Turn, as_nest, is_own_column, is_pointwise, loads
from .soft_reads import Clamping, Hard, beside_displaced, with_hard


def integers(kernel: Kernel) -> tuple[Bound | Stride, ...]:
    """Return the bound or stride behind each integer of the entry point, each once.

    The source contains constants as numbers; bounds that differ by a constant share one integer.
    """
    found: dict[Bound | Stride, None] = {}
    touched = arrays_of(kernel)
    for buffer in kernel.buffers:
        if buffer.memory in ("field", "table") and buffer.name in touched:
            for axis, dim in enumerate(buffer.dims):
                if dim is not buffer.unit:
                    found[Stride(buffer.name, axis)] = None
    symbols = dict.fromkeys(split(bound)[0] for bound in _bounds(kernel))
    known = [symbol for symbol in symbols if symbol is not None]
    found |= dict.fromkeys(shared(known))
    found |= dict.fromkeys(known)
    return tuple(found)


def split(bound: Bound) -> tuple[Bound | None, int]:
    """Split a bound into a part that only the call knows (None if there is none) and a constant.

    >>> from ..ir.bounds import ScalarSymbol, add
    >>> symbol, constant = split(add(ScalarSymbol("n"), 2))
    >>> str(symbol), constant
    ('n', 2)
    """
    if isinstance(bound, Const):
        return None, bound.value
    if isinstance(bound, Apply) and bound.op == "add" and isinstance(bound.args[-1], Const):
        rest = bound.args[:-1]
        return (rest[0] if len(rest) == 1 else Apply("add", rest)), bound.args[-1].value
    return bound, 0


def _bounds(kernel: Kernel) -> Iterator[Bound]:
    on_gpu = any(loop.kind == "thread" for nest in nests_of(kernel) for loop in nest.loops)
    for nest in nests_of(kernel):
        yield from bounds_of((kernel.groups[nest.group].box, nest.box, nest.parts))
        yield from (row.bound for row in nest.body if isinstance(row, Number))
    yield from bounds_of((tuple(buffer.box for buffer in kernel.buffers), kernel.slots))
    yield from (bound for group in groups_of(kernel) for bound in group.bounds)
    if not on_gpu:  # there launches choose
        yield from (choice.when for choice in nodes_of(kernel, Choice))
    yield from bounds_of(tuple(loop.range for loop in nodes_of(kernel, Loop)))
    for column in nodes_of(kernel, Column):
        yield from bounds_of((kernel.groups[column.group].box, column.box))
        yield from bounds_of(tuple(values_of(column.acts, Range)))
        yield from (row.bound for row in values_of(column.acts, Number))


def describe(
    program: dataflow.Dataflow,
    kernel: Kernel,
    groups: Sequence[StoreGroup],
    backend: str,
    device: DeviceType,
    alike: tuple[tuple[str, ...], ...] = (),
    statuses: tuple[tuple[int, StatusKind, str], ...] = (),
    more: Sequence[Bound] = (),
    clamping: Clamping | None = None,
    in_steps: bool = False,
) -> Interface:
    """Return the interface of a kernel; each group of stores with one box is a statement.

    A statement with several groups is listed once more as a whole, its outputs in order: the call
    compares what one group reads with what the others write. A call computes the bounds `more`
    too, for launches. With `clamping` soft reads may lead out of their fields, if the code is for
    such calls; with `in_steps` the integer at `step_place` selects a statement.
    """
    hard = clamping.hard if clamping else [{} for _ in groups]
    statements, reads, continues = _accesses(program, kernel, groups, hard)
    ints = integers(kernel)
    stepped = step_place(ints, groups, clamping) if in_steps else None
    ints += clamping.integers if clamping else ()
    ints += (Const(0),) if stepped is not None else ()
    flag = clamping.flag if clamping else -1
    return Interface(
        program=program.name, parameters=program.parameters, leaves=program.leaves,
        fields=tuple(leaf.name for leaf in program.leaves if leaf.kind == "field"),
        scalars=tuple(leaf.name for leaf in program.leaves if leaf.kind == "scalar"),
        ints=_with_more(ints, reads, more, flag),
        unit=tuple((each.name, each.unit.value) for each in kernel.buffers
                   if each.memory == "field" and each.unit is not None),
        statements=tuple(statements), reads=tuple(reads), workspace=kernel.workspace,
        backend=backend, tables=program.tables, continues=continues, alike=alike,
        device=int(device), abi=ABI_VERSION, statuses=statuses, clamped=flag,
        stepped=-1 if stepped is None else stepped,
        is_inside=clamping is not None and not clamping.ends,
    )  # fmt: skip


def _with_more(
    ints: tuple[Bound | Stride, ...], reads: Iterable[Read], more: Sequence[Bound], flag: int
) -> tuple[Bound | Stride, ...]:
    """Append what only the checks of `reads`, and launches, need to the integers of the code.

    None of them is the integer at `flag`, which the call sets.
    """
    known = {each for place, each in enumerate(ints) if place != flag}
    boxes = (range_ for read in reads for range_ in (*read.box, *(read.hard or ())))
    further = (*shared(bounds_of(tuple(boxes))), *shared(more), *more)
    return (*ints, *dict.fromkeys(each for each in further if each not in known))


def step_place(
    known: Sequence[Bound | Stride], groups: Sequence[StoreGroup], clamping: Clamping | None = None
) -> int | None:
    """Return the place of the integer that selects a statement; None for a single statement.

    It follows the integers `known` of the kernel and those of its clamped version.
    """
    is_single = len({group.statement for group in groups}) < 2
    return None if is_single else len(known) + (len(clamping.integers) if clamping else 0)


def step_numbers(groups: Sequence[StoreGroup]) -> tuple[int, ...]:
    """Return the number of each group's statement, from 1 on."""
    places = list(dict.fromkeys(group.statement for group in groups))
    return tuple(1 + places.index(group.statement) for group in groups)


def turns(node: Node | Kernel, name: str = "") -> Iterator[Turn]:
    """Yield what a kernel does in turn, each complete before the next: a nest, or a group of some.

    A column is a turn too, as a nest with its rows. The nests of a group that walks columns are
    turns of their own if none reads field `name` in other columns.
    """
    match node:
        case Nest():
            yield (Member(node, ()),)
        case Column():
            yield (Member(as_nest(node), ()),)  # what a call compares is that of a nest
        case NestGroup(members=members):
            apart = node.walks_columns and not any(_crosses(each.nest, name) for each in members)
            yield from ((each,) for each in members) if apart else (members,)
        case Choice(then=NestGroup() as group) if not isinstance(group, PatchGroup):
            yield from turns(group, name)
        case Choice(then=then, otherwise=otherwise):  # also of what runs in place of others
            yield from turns(otherwise, name)
            yield from turns(then, name) if isinstance(then, Nest) else ()
        case _:
            yield from (turn for child in children(node) for turn in turns(child, name))


def _crosses(nest: Nest, name: str) -> bool:
    """Tell whether a scan reads a field in other columns than its own."""
    return any(load.buffer == name and not is_own_column(nest, load) for load in loads(nest))


def _accesses(
    program: dataflow.Dataflow, kernel: Kernel, groups: Sequence[StoreGroup], hard: Sequence[Hard]
) -> tuple[list[Statement], list[Read], tuple[int, ...]]:
    beside = beside_displaced(program, groups, hard)
    statements: list[Statement] = []
    reads: list[Read] = []
    continues: list[int] = []
    for _, together in groupby(range(len(groups)), key=lambda i: groups[i].statement):
        numbers = list(together)
        members = [index for index in numbers if groups[index].stores]
        common = [index for index in numbers if not groups[index].stores]
        first = len(statements)
        stores = tuple(store for index in members for store in groups[index].stores)
        found: list[Read] = []
        for place, index in enumerate(members):
            earlier = [
                groups[other].box
                for other in members
                if other in members[:place] or _stores_before(kernel, other, index)
            ]
            several = (index, *common)
            own = _reads(kernel, several, stores, earlier, len(statements))
            found += (with_hard(read, hard[index]) for read in own)
            readings = (each for nest in _nests(kernel, several) for each in nest.reads)
            moved = {each.buffer for each in readings if each.moved}  # by what a field gives
            besides = (read for name, read in beside[index].items() if name in moved)
            found += (classes.evolve(read, statement=len(statements)) for read in besides)
            statements.append(Statement(groups[index].stores))
        reads += found
        if len(members) > 1:
            reads += [classes.evolve(read, statement=len(statements)) for read in found]
            statements.append(_whole(program.statements[groups[members[0]].statement]))
        continues += range(first + 1, len(statements))
    return statements, reads, tuple(continues)


def _nests(kernel: Kernel, groups: Sequence[int]) -> list[Nest]:
    found = (member.nest for turn in turns(kernel) for member in turn)
    return [nest for nest in found if nest.group in groups]


def _whole(statement: Statement) -> Statement:
    """Return a statement of several groups as a whole: its outputs, each once."""
    outputs = {(out.target, out.box): out for out in (s.output for s in statement.stores)}
    return Statement(tuple(outputs.values()))


def _stores_before(kernel: Kernel, one: int, other: int) -> bool:
    """Tell whether a group stores fields before another has read all of its own, out of turn."""
    fields = {buffer.name for buffer in kernel.buffers if buffer.memory == "field"}
    nests = [member.nest for turn in turns(kernel) for member in turn]

    def touching(group: int, kind: type[Access]) -> list[int]:
        return [
            number
            for number, each in enumerate(nests)
            if each.group == group and any(row.buffer in fields for row in accesses(each, kind))
        ]

    stores, reads = touching(one, Write), touching(other, Load)
    return one != other and bool(stores and reads) and min(stores) < max(reads)


def _reads(
    kernel: Kernel,
    groups: Sequence[int],
    stores: Sequence[Store],
    earlier: Sequence[Ranges],
    statement: int,
) -> list[Read]:
    """Return the hull of what nests read of each field and table, tables first.

    They are those of a group, and those that several groups need. A second box of the same field
    comes from loads that move indices inside: at least one index must exist.
    """
    found: dict[str, dict[Ranges | None, dict[Ranges, None]]] = {}
    for reading in (each for nest in _nests(kernel, groups) for each in nest.reads):
        boxes = found.setdefault(reading.buffer, {})
        boxes.setdefault(reading.box if reading.moved else None, {})[reading.box] = None
    dims = tuple(range_.dim for range_ in kernel.groups[groups[0]].box)
    targets = [store.target for store in stores]
    mixed = _read_among_stores(kernel)
    reads = []
    for memory in ("table", "field"):
        for name in (each.name for each in kernel.buffers if each.memory == memory):
            if name in found:
                own = [turn for turn in turns(kernel, name) if turn[0].nest.group in groups]
                alike = name not in mixed and is_pointwise(name, own, dims, targets, earlier)
                hulls = (hull(list(boxes)) for boxes in found[name].values())
                reads += [Read(statement, name, box, alike) for box in hulls]
    return reads


def _read_among_stores(kernel: Kernel) -> set[str]:
    """Return the buffers read in columns, or by nests in patches: others may have stored before."""
    readers: list[Nest | Column] = [
        nest
        for choice in nodes_of(kernel, Choice)
        if any(isinstance(group, PatchGroup) for group in groups_of(choice.then))
        for nest in nests_of(choice.otherwise)
    ]
    readers += nodes_of(kernel, Column)
    return {reading.buffer for reader in readers for reading in reader.reads}
