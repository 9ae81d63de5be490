"""Schedule a program: dataflow IR to loop IR, for one target and one layout.

Options name values by rows of one listing, or by digests that outlast edits elsewhere: `%12` is a
row, and another value after an edit. `%:5d0f32b2c1a4` is the digest of an expression: of the
operation of a row and of the digests of its operands. A name that no value has decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Final, TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ....runtime.process.sha256 import sha256
from ...artifacts import Lowered, Variant
from ...ir import dataflow
from ...ir.dataflow import Dataflow
from ...ir.loops import (
    Buffer,
    Column,
    Instruction,
    Kernel,
    Load,
    Nest,
    Node,
    Ranges,
    Reading,
    Step,
    Store,
    code_of,
    hull,
    in_order,
    is_empty_box,
    kernel,
    nodes_of,
)
from ...ir.verify import versions
from ..pass_list import Rules
from .discovery import table_buffer
from .drafts import Draft, StoreGroup, array_over, draft_nests
from .hazards import are_disjoint, as_nest, fields_to_stage
from .order import loops_over, unit_dims
from .points import Points

# The kernel and the groups of stores by rules.
Scheduled: TypeAlias = Callable[[Rules], tuple[Kernel, tuple["StoreGroup", ...]]]


def remembered(lowered: Lowered, variant: Variant, checked: bool) -> Scheduled:
    """Return a function that schedules a program once for rules that decide the same."""
    scheduled = cache(partial(_schedule, points_of(lowered.program, checked), lowered, variant))
    return lambda rules: scheduled(classes.evolve(rules, own=None))


def schedule(
    lowered: Lowered, variant: Variant, rules: Rules
) -> tuple[Kernel, tuple[StoreGroup, ...]]:
    """Return the kernel and the groups of stores that its nests compute.

    Statements follow one another; each reads everything before it overwrites it. Arrays have no
    place in the arena yet: pass `plan_arena` gives them one.
    """
    return _schedule(points_of(lowered.program, rules.checked), lowered, variant, rules)


def points_of(program: dataflow.Dataflow, checked: bool) -> Points:
    """Return the nodes of a program, which all schedules of it share."""
    for complaint in versions(program):
        raise ValueError(f"'{program.name}' cannot be scheduled: {complaint}.")
    return Points(program.values, program.tables, checked)


def _schedule(
    points: Points, lowered: Lowered, variant: Variant, rules: Rules
) -> tuple[Kernel, tuple[StoreGroup, ...]]:
    program = lowered.program
    units = unit_dims(
        variant.unit, {leaf.name: leaf.dims for leaf in program.leaves if leaf.kind == "field"}
    )
    arrays, inline = (rows_of(names, program) for names in (rules.arrays, rules.inline))
    rules = classes.evolve(rules, units=tuple(units.items()), arrays=arrays, inline=inline)
    groups: list[StoreGroup] = []
    steps: list[Step] = []
    notes: list[str] = []
    buffers = list(_given(program, units))
    for index, statement in enumerate(program.statements):
        drafts: list[Draft] = []
        for several in _together(_groups(index, statement)):
            drafts.append(draft_nests(points, several, len(groups), len(buffers), rules))
            groups += drafts[-1].groups
            buffers += drafts[-1].arrays
            notes += drafts[-1].notes
        nests, copies = _stage(drafts, [group.box for group in groups], rules)
        buffers += copies
        if nests:
            steps.append(Step(index, in_order(*nests)))
    made = _padded(_kernel(program, buffers, groups, steps, notes))
    if any(nodes_of(made, Column)):
        from ..acts.in_place import with_columns  # seven modules, most programs have none

        made = with_columns(made, checked=rules.checked)
    return made, tuple(groups)


def _kernel(
    program: dataflow.Dataflow,
    buffers: Sequence[Buffer],
    groups: Sequence[StoreGroup],
    steps: Sequence[Step],
    notes: Sequence[str],
) -> Kernel:
    scalars = ((leaf.name, leaf.dtype) for leaf in program.leaves if leaf.kind == "scalar")
    boxes = (kernel.Group(group.statement, group.box) for group in groups)
    return Kernel(
        program.name, tuple(scalars), tuple(buffers), tuple(boxes), tuple(steps), notes=tuple(notes)
    )


def _given(program: dataflow.Dataflow, units: Mapping[str, Dimension]) -> Iterator[Buffer]:
    """Yield the fields of a call, with their dimensions of unit stride, and its tables."""
    for leaf in program.leaves:
        if leaf.kind == "field":
            yield Buffer(leaf.name, "field", leaf.dtype, leaf.dims, units.get(leaf.name))
    for table in program.tables:
        yield Buffer(table_buffer(table.name), "table", "int32", (table.target, table.local))


def _padded(made: Kernel) -> Kernel:
    """Give arrays room for the one element that clamped indices read."""
    buffers = {buffer.name: buffer for buffer in made.buffers}
    for reading in (reading for each in code_of(made) for reading in each.reads):
        array = buffers[reading.buffer]
        if reading.moved and array.memory == "arena":
            buffers[array.name] = classes.evolve(array, box=hull([array.box, reading.box]))
    return classes.evolve(made, buffers=tuple(buffers.values()))


def _groups(index: int, statement: dataflow.Statement) -> list[StoreGroup]:
    boxes: dict[Ranges, list[dataflow.Store]] = {}
    for store in statement.stores:
        boxes.setdefault(store.box, []).append(store)
    return [StoreGroup(index, box, tuple(stores)) for box, stores in boxes.items()]


def _together(groups: Sequence[StoreGroup]) -> list[list[StoreGroup]]:
    """Return the groups that may share arrays together.

    Between disjoint boxes may lie a lot; a box that a build knows to be empty has no nests.
    """
    found: list[list[StoreGroup]] = []
    for group in groups:
        apart = (
            any(is_empty_box(one.box) or are_disjoint(one.box, group.box) for one in (*own, group))
            for own in found
        )
        own = next((own for own, alone in zip(found, apart, strict=True) if not alone), [])
        own.append(group)
        if len(own) == 1:
            found.append(own)
    return found


def _stage(
    drafts: Sequence[Draft], boxes: Sequence[Ranges], rules: Rules
) -> tuple[list[Node], list[Buffer]]:
    """Redirect stores that overwrite values still to be read; copy their arrays at the end."""
    planned = [nest for draft in drafts for nest in draft.nests]
    plain = [as_nest(nest) for nest in planned]
    risky: dict[int, set[str]] = {}  # by group: its nests share one task
    for at, own in enumerate(plain):
        risky.setdefault(own.group, set()).update(fields_to_stage(own, plain[at + 1 :], boxes))
    nests: list[Node] = []
    copies: list[Nest] = []
    arrays: dict[str, Buffer] = {}
    for nest in planned:
        if isinstance(nest, Column):  # it stores arrays only
            nests.append(nest)
            continue
        body: list[Instruction] = []
        for row in nest.body:
            if isinstance(row, Store) and row.buffer in risky[nest.group]:
                array = _copy_array(row, nest.group, boxes[nest.group], rules)
                body.append(classes.evolve(row, buffer=array.name))
                if array.name not in arrays:  # parts have stores of their own
                    arrays[array.name] = array
                    copies.append(_copy_nest(nest.group, row.buffer, array))
            else:
                body.append(row)
        nests.append(classes.evolve(nest, body=tuple(body)))
    return [*nests, *copies], list(arrays.values())


def _copy_array(store: Store, group: int, box: Ranges, rules: Rules) -> Buffer:
    reason = f"'{store.buffer}' would be overwritten before all of it is read"
    return array_over(f"@{store.buffer}.{group}", store.dtype, box, rules, reason)


def _copy_nest(group: int, field: str, array: Buffer) -> Nest:
    """Return the nest that copies an array to a field of the same dimensions."""
    loops, zeros = loops_over(array.box, array.order), (0,) * len(array.dims)
    load = Load(
        dtype=array.dtype, level=len(loops), buffer=array.name, dims=array.dims, offsets=zeros
    )
    store = Store(dtype=array.dtype, level=len(loops), buffer=field, value=0)
    reads = (Reading(array.name, array.box),)
    return Nest(group, loops, (load, store), f"copies {array.name} to {field}", reads)


DIGEST: Final = "%:"
_DIGITS: Final = 12


def rows_of(names: tuple[str, ...], program: Dataflow) -> tuple[str, ...]:
    """Return names of values with rows in place of digests; those that no value has are left out.

    >>> rows_of(("%3",), Dataflow("p", (), (), (), (), ()))
    ('%3',)
    """
    if not any(name.startswith(DIGEST) for name in names):
        return names
    rows = {digest: f"%{row}" for row, digest in reversed([*enumerate(_digests(program))])}
    found = (rows.get(name) if name.startswith(DIGEST) else name for name in names)
    return tuple(dict.fromkeys(name for name in found if name is not None))


def digests_of(names: Iterable[str], program: Dataflow) -> tuple[str, ...]:
    """Return names of values with digests in place of rows; those of no row are left out."""
    known = {f"%{row}": digest for row, digest in enumerate(_digests(program))}
    found = (name if name.startswith(DIGEST) else known.get(name) for name in names)
    return tuple(name for name in found if name is not None)


def _digests(program: Dataflow) -> list[str]:
    from ...lower.rewrite import with_operands  # names of rows need no digests

    found: list[str] = []
    for value in program.values:
        text = repr((with_operands(value, lambda _: 0), [found[each] for each in value.operands]))
        found.append(DIGEST + sha256(text.encode())[:_DIGITS])
    return found
