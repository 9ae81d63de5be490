"""Schedule a program: dataflow IR to loop IR, for one target and one layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from ...runtime.dimension import Dimension
from ..artifacts import Lowered, Variant
from ..ir import dataflow
from ..ir.bounds import Ranges
from ..ir.loops import Buffer, Instruction, Kernel, Nest, Store, verify
from .arena import plan_arena
from .body import copy_body, write_body
from .hazards import fields_to_stage, loads
from .order import loops_over, order_dims, unit_dims
from .placement import Rules, place
from .points import Point, Points


@attrs.frozen
class Group:
    """The stores of one statement that have one box: they share a nest."""

    statement: int
    box: Ranges
    stores: tuple[dataflow.Store, ...]


@attrs.frozen
class Draft:
    """The nests of one group: those that fill arrays, then the one that stores."""

    group: Group
    nests: tuple[Nest, ...]
    arrays: tuple[Buffer, ...]
    notes: tuple[str, ...]


def schedule(lowered: Lowered, variant: Variant, rules: Rules) -> tuple[Kernel, tuple[Group, ...]]:
    """Return the kernel and the groups of stores that its nests work for.

    Statement after statement; within one, everything is read before it is overwritten.
    """
    program = lowered.program
    fields = {leaf.name: leaf for leaf in program.leaves if leaf.kind == "field"}
    units = unit_dims(variant.unit, {name: leaf.dims for name, leaf in fields.items()})
    rules = attrs.evolve(rules, units=tuple(units.items()))
    points = Points(program.values)
    check_versions(program, points)
    groups: list[Group] = []
    nests: list[Nest] = []
    notes: list[str] = []
    buffers = [
        Buffer(name, "field", leaf.dtype, leaf.dims, units.get(name))
        for name, leaf in fields.items()
    ]
    for index, statement in enumerate(program.statements):
        drafts: list[Draft] = []
        for group in _groups(index, statement):
            drafts.append(_draft(points, group, len(groups), len(buffers), rules))
            groups.append(group)
            buffers += drafts[-1].arrays
            notes += drafts[-1].notes
        ordered, copies = _stage(drafts, rules)
        buffers += copies
        nests += ordered
    kernel = Kernel(
        program.name,
        tuple((leaf.name, leaf.dtype) for leaf in program.leaves if leaf.kind == "scalar"),
        tuple(buffers),
        tuple(nests),
        notes=tuple(notes),
    )
    return verify(plan_arena(kernel)), tuple(groups)


def check_versions(program: dataflow.Dataflow, points: Points) -> None:
    """Refuse a program that reads a version of a field that memory no longer, or not yet, holds."""
    writes: dict[str, int] = {}
    for statement in program.statements:
        for index in points.reachable(points.at(store.value)[0] for store in statement.stores):
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


@attrs.frozen
class _Context:
    """What all nests of one group share; `names` are the buffers of the nodes that are arrays."""

    points: Points
    rules: Rules
    group: Group
    number: int
    names: Mapping[int, str]


def _draft(points: Points, group: Group, number: int, first: int, rules: Rules) -> Draft:
    roots = [points.at(store.value) for store in group.stores]
    placement = place(points, roots, group.box, rules)
    names = {index: f"@{first + i}" for i, (index, _, _) in enumerate(placement.arrays)}
    boxes = {index: box for index, box, _ in placement.arrays}
    context = _Context(points, rules, group, number, names)
    nests = []
    for together in _share_nests(context, boxes):
        fills = [(names[index], _still(points, index)) for index in together]
        nests.append(_nest(context, fills, boxes[together[0]], "fills"))
    stores = [(store.target, root) for store, root in zip(group.stores, roots, strict=True)]
    nests.append(_nest(context, stores, group.box, "stores"))
    arrays = tuple(
        _array(names[index], points.nodes[index].value, box, reason, rules)
        for index, box, reason in placement.arrays
    )
    return Draft(group, tuple(nests), arrays, placement.notes)


def _share_nests(context: _Context, boxes: Mapping[int, Ranges]) -> list[list[int]]:
    """Return the arrays nest by nest: one box and one depth in the chain of arrays share a nest."""
    nodes = {name: index for index, name in context.names.items()}
    depths: dict[int, int] = {}
    shared: dict[tuple[int, Ranges], list[int]] = {}
    for index, box in boxes.items():
        nest = _nest(context, [(context.names[index], _still(context.points, index))], box, "")
        sources = [depths[nodes[load.buffer]] for load in loads(nest) if load.buffer in nodes]
        depths[index] = 1 + max(sources, default=0)
        shared.setdefault((depths[index], box), []).append(index)
    return [shared[key] for key in sorted(shared, key=lambda key: (key[0], shared[key][0]))]


def _still(points: Points, index: int) -> Point:
    return index, (0,) * len(points.nodes[index].dims)


def _nest(context: _Context, stores: Sequence[tuple[str, Point]], box: Ranges, verb: str) -> Nest:
    order, reason = _order(box, context.rules)
    loops = loops_over(box, order)
    body = write_body(context.points, stores, loops, context.names)
    why = f"{verb} {', '.join(buffer for buffer, _ in stores)}"
    guard = context.group.box
    return Nest(context.number, loops, body, guard, f"{why}; {reason}" if loops else why)


def _order(box: Ranges, rules: Rules) -> tuple[tuple[Dimension, ...], str]:
    return order_dims([range_.dim for range_ in box], [dim for _, dim in rules.units])


def _array(name: str, value: dataflow.Value, box: Ranges, reason: str, rules: Rules) -> Buffer:
    order, _ = _order(box, rules)
    return Buffer(name, "arena", value.dtype, value.dims, order[-1], box, order, reason=reason)


def _stage(drafts: Sequence[Draft], rules: Rules) -> tuple[list[Nest], list[Buffer]]:
    """Let what would overwrite values still to be read go through arrays, copied at the end."""
    nests: list[Nest] = []
    copies: list[Nest] = []
    arrays: list[Buffer] = []
    for index, draft in enumerate(drafts):
        final = draft.nests[-1]
        later = [nest for other in drafts[index + 1 :] for nest in other.nests]
        risky = fields_to_stage(final, later)
        body: list[Instruction] = []
        for row in final.body:
            if isinstance(row, Store) and row.buffer in risky:
                array = _copy_array(row, final, rules)
                arrays.append(array)
                copies.append(_copy_nest(final, row.buffer, array))
                body.append(attrs.evolve(row, buffer=array.name))
            else:
                body.append(row)
        nests += [*draft.nests[:-1], attrs.evolve(final, body=tuple(body))]
    return [*nests, *copies], arrays


def _copy_array(store: Store, final: Nest, rules: Rules) -> Buffer:
    order, _ = _order(final.guard, rules)
    dims = tuple(range_.dim for range_ in final.guard)
    reason = f"'{store.buffer}' would be overwritten before all of it is read"
    unit = order[-1] if order else None
    name = f"@{store.buffer}.{final.statement}"
    return Buffer(name, "arena", store.dtype, dims, unit, final.guard, order, reason=reason)


def _copy_nest(final: Nest, target: str, array: Buffer) -> Nest:
    body = copy_body(target, array, final.loops)
    return attrs.evolve(final, body=body, reason=f"copies {array.name} to {target}")
