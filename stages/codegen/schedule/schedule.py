"""Schedule a program: dataflow IR to loop IR, for one target and one layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from ....runtime.language.dimension import Dimension
from ...artifacts import Lowered, Variant
from ...ir import dataflow
from ...ir.bounds import Ranges, hull, is_empty_box
from ...ir.flat_kernel import Buffer, Kernel
from ...ir.nests import Instruction, Nest, Store
from .body import copy_body
from .discovery import table_buffer
from .drafts import Draft, Group, draft_nests, order_of
from .hazards import fields_to_stage
from .order import loops_over, unit_dims
from .points import Points
from .rules import Rules


def schedule(lowered: Lowered, variant: Variant, rules: Rules) -> tuple[Kernel, tuple[Group, ...]]:
    """Return the kernel and the groups of stores that its nests compute.

    Statements follow one another; each reads everything before it overwrites it. Arrays have no
    place in the arena yet: pass `plan_arena` gives them one.
    """
    program = lowered.program
    fields = {leaf.name: leaf.dims for leaf in program.leaves if leaf.kind == "field"}
    units = unit_dims(variant.unit, fields)
    rules = attrs.evolve(rules, units=tuple(units.items()))
    points = Points(program.values, program.tables, checked=rules.checked)
    check_versions(program, points)
    groups: list[Group] = []
    nests: list[Nest] = []
    notes: list[str] = []
    buffers = list(_given(program, units))
    for index, statement in enumerate(program.statements):
        drafts: list[Draft] = []
        for group in _groups(index, statement):
            number = len(groups)
            groups.append(group)
            if is_empty_box(group.box):
                continue  # a build that knows the domain knows that there is nothing to do
            drafts.append(draft_nests(points, group, number, len(buffers), rules))
            buffers += drafts[-1].arrays
            notes += drafts[-1].notes
        ordered, copies = _stage(drafts, rules)
        buffers += copies
        nests += ordered
    buffers = [_padded(buffer, nests) for buffer in buffers]
    kernel = Kernel(
        program.name,
        tuple((leaf.name, leaf.dtype) for leaf in program.leaves if leaf.kind == "scalar"),
        tuple(buffers),
        tuple(nests),
        notes=tuple(notes),
        members=tuple(group.statement for group in groups),
    )
    return kernel, tuple(groups)


def _given(program: dataflow.Dataflow, units: Mapping[str, Dimension]) -> Iterator[Buffer]:
    """Yield the fields of a call, with their dimensions of unit stride, and its tables."""
    for leaf in program.leaves:
        if leaf.kind == "field":
            yield Buffer(leaf.name, "field", leaf.dtype, leaf.dims, units.get(leaf.name))
    for table in program.tables:
        dims = (table.target, table.local)
        yield Buffer(table_buffer(table.name), "table", "int32", dims)


def _padded(buffer: Buffer, nests: Sequence[Nest]) -> Buffer:
    """Give an array room for the one element that clamped indices read."""
    if buffer.memory == "arena":
        for nest in nests:
            for reading in nest.reads:
                if reading.moved and reading.buffer == buffer.name:
                    buffer = attrs.evolve(buffer, box=hull(buffer.box, reading.box))
    return buffer


def check_versions(program: dataflow.Dataflow, points: Points) -> None:
    """Refuse a program that reads a version of a field that is not in memory at that point."""
    writes: dict[str, int] = {}
    for statement in program.statements:
        for index in points.reachable(points.at(store.value) for store in statement.stores):
            value = points.nodes[index].value
            if isinstance(value, dataflow.Input) and value.version != writes.get(value.name, 0):
                raise ValueError(
                    f"'{program.name}' reads version {value.version} of '{value.name}', "
                    f"but memory holds version {writes.get(value.name, 0)}."
                )
        for name in dict.fromkeys(store.target for store in statement.stores):
            writes[name] = writes.get(name, 0) + 1


def _groups(index: int, statement: dataflow.Statement) -> list[Group]:
    boxes: dict[Ranges, list[dataflow.Store]] = {}
    for store in statement.stores:
        boxes.setdefault(store.box, []).append(store)
    return [Group(index, box, tuple(stores)) for box, stores in boxes.items()]


def _stage(drafts: Sequence[Draft], rules: Rules) -> tuple[list[Nest], list[Buffer]]:
    """Redirect stores that overwrite values still to be read; copy their arrays at the end."""
    planned = [nest for draft in drafts for nest in draft.nests]
    nests: list[Nest] = []
    copies: list[Nest] = []
    arrays: list[Buffer] = []
    risks = [fields_to_stage(nest, planned[at + 1 :]) for at, nest in enumerate(planned)]
    for nest in planned:
        pairs = zip(planned, risks, strict=True)
        risky = {name for each, names in pairs if _is_part(each, nest) for name in names}
        body: list[Instruction] = []
        for row in nest.body:
            if isinstance(row, Store) and row.buffer in risky:
                name = f"@{row.buffer}.{nest.statement}"
                body.append(attrs.evolve(row, buffer=name))
                if all(array.name != name for array in arrays):  # parts have stores of their own
                    arrays.append(_copy_array(name, row, nest, rules))
                    copies.append(_copy_nest(nest, row.buffer, arrays[-1], rules))
            else:
                body.append(row)
        nests.append(attrs.evolve(nest, body=tuple(body)) if risky else nest)
    return [*nests, *copies], arrays


def _is_part(nest: Nest, other: Nest) -> bool:
    """Tell whether nests share one task: groups of rows, and the remaining rows."""
    return (nest.statement, nest.guard) == (other.statement, other.guard)


def _copy_array(name: str, store: Store, nest: Nest, rules: Rules) -> Buffer:
    order, _ = order_of(nest.guard, rules)
    dims = tuple(range_.dim for range_ in nest.guard)
    reason = f"'{store.buffer}' would be overwritten before all of it is read"
    unit = order[-1] if order else None
    return Buffer(name, "arena", store.dtype, dims, unit, nest.guard, order, reason=reason)


def _copy_nest(nest: Nest, target: str, array: Buffer, rules: Rules) -> Nest:
    loops = loops_over(nest.guard, order_of(nest.guard, rules)[0])
    body = copy_body(target, array, loops)
    reason = f"copies {array.name} to {target}"
    return Nest(nest.statement, loops, body.rows, nest.guard, reason, body.reads)
