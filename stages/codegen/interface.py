"""Make the `Interface` of a kernel: the arguments, boxes and codes of a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby

import attrs

from ...runtime.calls.plan import ABI_VERSION, StatusKind
from ...runtime.fields.device import DeviceType
from ..artifacts import Interface
from ..ir import dataflow, nests
from ..ir.bounds import Bound, Const, Range, Ranges, greatest, least
from ..ir.dataflow import Read, Statement, Store
from ..ir.flat_kernel import Kernel
from ..ir.nest_groups import Patches, Portions
from ..ir.nests import Load, Nest
from ..ir.settled import shared
from .integers import integers
from .loop_passes.handing_on import is_own_column
from .schedule.drafts import Group
from .schedule.hazards import is_pointwise
from .soft_reads import Clamping, Hard, beside_displaced, with_hard


def describe(
    program: dataflow.Dataflow,
    kernel: Kernel,
    groups: Sequence[Group],
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
    too, for launches. With `clamping` the code has a second version, and soft reads may lead out of
    their fields; with `in_steps` the integer at `step_place` selects a statement.
    """
    hard = clamping.hard if clamping else [{} for _ in groups]
    statements, reads, continues = _accesses(program, kernel, groups, hard)
    ints = integers(kernel) + (clamping.integers if clamping else ())
    stepped = step_place(kernel, groups, clamping) if in_steps else None
    ints += (Const(0),) if stepped is not None else ()
    boxes = [range_ for read in reads for range_ in (*read.box, *(read.hard or ()))]
    ends = [end for range_ in boxes for end in (range_.start, range_.stop)]
    # integers that only the checks need follow those of the generated code
    ints += tuple(dict.fromkeys(each for each in shared(ends) if each not in set(ints)))
    if more:
        known = {e for i, e in enumerate(ints) if clamping is None or i != clamping.flag}
        ints += tuple(dict.fromkeys(e for e in (*shared(more), *more) if e not in known))
    return Interface(
        program=program.name,
        parameters=program.parameters,
        leaves=program.leaves,
        fields=tuple(leaf.name for leaf in program.leaves if leaf.kind == "field"),
        scalars=tuple(leaf.name for leaf in program.leaves if leaf.kind == "scalar"),
        ints=ints,
        unit=tuple(
            (buffer.name, buffer.unit.value)
            for buffer in kernel.buffers
            if buffer.memory == "field" and buffer.unit is not None
        ),
        statements=tuple(statements),
        reads=tuple(reads),
        workspace=kernel.workspace,
        backend=backend,
        tables=program.tables,
        continues=continues,
        alike=alike,
        device=int(device),
        abi=ABI_VERSION,
        statuses=statuses,
        clamped=clamping.flag if clamping else -1,
        stepped=-1 if stepped is None else stepped,
    )


def step_place(
    kernel: Kernel, groups: Sequence[Group], clamping: Clamping | None = None
) -> int | None:
    """Return the place of the integer that selects a statement; None for a single statement."""
    if len({group.statement for group in groups}) < 2:
        return None
    return len(integers(kernel)) + (len(clamping.integers) if clamping else 0)


def step_numbers(groups: Sequence[Group]) -> tuple[int, ...]:
    """Return the number of each group's statement, from 1 on."""
    places = list(dict.fromkeys(group.statement for group in groups))
    return tuple(1 + places.index(group.statement) for group in groups)


def _accesses(
    program: dataflow.Dataflow, kernel: Kernel, groups: Sequence[Group], hard: Sequence[Hard]
) -> tuple[list[Statement], list[Read], tuple[int, ...]]:
    steps: list[list[tuple[Nest, ...]]] = [[] for _ in groups]
    for step in kernel.steps():
        steps[step[0].statement].append(step)
    beside = beside_displaced(program, groups, hard)
    statements: list[Statement] = []
    reads: list[Read] = []
    continues: list[int] = []
    for _, together in groupby(range(len(groups)), key=lambda i: groups[i].statement):
        members = list(together)
        first = len(statements)
        stores = tuple(store for index in members for store in groups[index].stores)
        found: list[Read] = []
        for place, index in enumerate(members):
            earlier = [
                groups[other].box
                for other in members
                if other in members[:place] or _stores_before(kernel, other, index)
            ]
            own = _reads(kernel, steps[index], stores, earlier, len(statements))
            found += (with_hard(read, hard[index]) for read in own)
            moved = _moved(steps[index], beside[index])
            found += (attrs.evolve(read, statement=len(statements)) for read in moved)
            statements.append(Statement(groups[index].stores))
        reads += found
        if len(members) > 1:
            reads += [attrs.evolve(read, statement=len(statements)) for read in found]
            statements.append(_whole(program.statements[groups[members[0]].statement]))
        continues += range(first + 1, len(statements))
    return statements, reads, tuple(continues)


def _moved(steps: Iterable[tuple[Nest, ...]], beside: Mapping[str, Read]) -> Iterator[Read]:
    """Yield what nests read at distances that a field gives."""
    moved = {each.buffer for nest in chain(*steps) for each in nest.reads if each.moved}
    return (read for name, read in beside.items() if name in moved)


def _whole(statement: Statement) -> Statement:
    """Return a statement of several groups as a whole: its outputs, each once."""
    outputs = {(out.target, out.box): out for out in (s.output for s in statement.stores)}
    return Statement(tuple(outputs.values()))


def _stores_before(kernel: Kernel, one: int, other: int) -> bool:
    """Tell whether a group stores fields before another has read all of its own, out of turn."""
    if one == other or not kernel.instead:
        return False
    memory = {buffer.name: buffer.memory for buffer in kernel.buffers}

    def touching(group: int, kind: type[Load | nests.Store]) -> list[int]:
        return [
            number
            for number, nest in enumerate(kernel.nests)
            if nest.statement == group
            and any(isinstance(row, kind) and memory[row.buffer] == "field" for row in nest.body)
        ]

    stores, loads = touching(one, nests.Store), touching(other, Load)
    return bool(stores and loads) and min(stores) < max(loads)


def _reads(
    kernel: Kernel,
    steps: Sequence[Sequence[Nest]],
    stores: Sequence[Store],
    earlier: Sequence[Ranges],
    statement: int,
) -> list[Read]:
    """Return the hull of what one group's nests read of each field and table, tables first.

    A second box of the same field comes from loads that move indices inside: at least one index
    must exist.
    """
    joint: tuple[Patches | Portions, ...] = (*kernel.patches, *kernel.portions)
    patched = [kernel.nests[n] for each in joint for n in range(each.first, each.stop)]
    found: dict[tuple[str, Ranges | None], dict[Ranges, None]] = {}
    for nest in chain(*steps):
        for reading in nest.reads:
            key = (reading.buffer, reading.box if reading.moved else None)
            found.setdefault(key, {})[reading.box] = None
    targets = [store.target for store in stores]
    reads = []
    for memory in ("table", "field"):
        for buffer in kernel.buffers:
            meeting = joined(steps, kernel, buffer.name)
            own = [_hull(list(boxes)) for (name, _), boxes in found.items() if name == buffer.name]
            if buffer.memory == memory and own:
                alike = is_pointwise(buffer.name, meeting, targets, earlier)
                # a patch may read what another has stored already
                alike = alike and not any(
                    reading.buffer == buffer.name for nest in patched for reading in nest.reads
                )
                reads += [Read(statement, buffer.name, box, alike) for box in own]
    return reads


def joined(steps: Sequence[Sequence[Nest]], kernel: Kernel, name: str) -> list[tuple[Nest, ...]]:
    """Return the steps; scans of one kernel are one step if they read a field in other columns.

    Where all of them stay in their columns, each scan of a column is over before the next begins.
    """
    found = [tuple(step) for step in steps]
    for scans in kernel.together:
        nests = kernel.nests[scans.first : scans.stop]
        crosses = any(
            isinstance(row, Load) and row.buffer == name and not is_own_column(nest, row)
            for nest in nests
            for row in nest.body
        )
        if crosses and (nests[0],) in found:
            place = found.index((nests[0],))
            found[place : place + len(nests)] = [nests]
    return found


def _hull(boxes: Sequence[Ranges]) -> Ranges:
    return tuple(
        Range(
            column[0].dim,
            least(range_.start for range_ in column),
            greatest(range_.stop for range_ in column),
        )
        for column in zip(*boxes, strict=True)
    )
