"""Soft reads: which fields a call may read beyond their ends, because `where` hides it.

A read that reaches a store only through one side of `where` is soft, and so is what a displacement
reads of a region's branch: where the branch has no value the displacement is led past it. The call
requires the hard reads only; if a soft one leads out of a field, another version of the kernel
runs, which clamps the indices of loads from such fields.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias

from ...runtime.process import classes
from ..ir import bounds
from ..ir.dataflow import Dataflow, Displace, Input, Leaf, Map, Read, Ref, Region, Store
from ..ir.loops import Bound, Const, Range, Ranges, Stride
from ..lower.boxes.areas import Area, Areas, Dims, Need
from ..lower.boxes.infer_boxes import Walk
from .schedule.drafts import StoreGroup

Ends: TypeAlias = Mapping[str, tuple[tuple[Bound, Bound], ...]]  # of each axis of a field
Hard: TypeAlias = Mapping[str, Ranges | None]  # the hull of the hard reads of soft fields
Calls: TypeAlias = Literal["inside", "beyond", "all"]  # that code is for: beyond ends of fields?


@classes.frozen
class Clamping:
    """The soft reads of a kernel.

    `hard` are those of each group of stores. Code for calls in which one of them leads out of its
    field takes the `ends` of the fields, `integers` further than those of the kernel. Code for all
    calls has two versions; the call sets integer `flag` to 1 for that one.
    """

    hard: tuple[Hard, ...]
    integers: tuple[Bound, ...] = ()
    ends: Ends = classes.field(factory=dict)
    flag: int = -1


def clamping_of(
    program: Dataflow,
    groups: Sequence[StoreGroup],
    known: Sequence[Bound | Stride],
    calls: Calls = "all",
) -> Clamping | None:
    """Return the soft reads of a program, None if all reads must lie inside their fields.

    `known` are the integers of its kernel, which is for such `calls`.
    """
    hard = soft_reads(program, groups)
    if not any(hard):
        return None
    if calls == "inside":
        return Clamping(tuple(hard))
    leaves = {leaf.name: leaf for leaf in program.leaves}
    names = sorted({name for each in hard for name in each})
    ends = {name: tuple(map(leaves[name].ends, leaves[name].dims)) for name in names}
    symbols = (end for axes in ends.values() for axis in axes for end in axis)
    further = {end: None for end in symbols if not isinstance(end, Const) and end not in known}
    if calls == "beyond":
        return Clamping(tuple(hard), tuple(further), ends)
    return Clamping(tuple(hard), (Const(0), *further), ends, len(known))


def beside_displaced(
    program: Dataflow, groups: Sequence[StoreGroup], hard: Sequence[Hard]
) -> list[dict[str, Read]]:
    """Return for each group what it reads of each field and table but by displacements.

    A displaced load stays inside by itself; loads beside it from the same field do not.
    """
    if not any(isinstance(value, Displace) for value in program.values):
        return [{} for _ in groups]
    walk = Walk.of(program, Areas(loosens=True, gates=True))
    return [_beside(program, walk, *each) for each in zip(groups, hard, strict=True)]


def _beside(program: Dataflow, walk: Walk, group: StoreGroup, hard: Hard) -> dict[str, Read]:
    areas = walk.areas
    reads = {}
    for ref, whole in _needs(walk, group.stores).items():
        value = program.values[ref]
        need = {n: e for n, e in whole.items() if not set(areas[n].loose) & set(value.dims)}
        if isinstance(value, Input) and value.dims and need:
            read = Read(group.statement, value.name, areas.of(value.dims, need), False)
            must = areas.hard(need)
            box = areas.of(value.dims, must) if must else None
            reads[read.name] = with_hard(read, {read.name: box} if read.name in hard else {})
    return reads


def with_hard(read: Read, hard: Hard) -> Read:
    """Return a read with what must exist of it."""
    # a box of its own comes from loads that clamp their indices in any case
    is_soft = read.name in hard
    return classes.evolve(read, hard=_hard_part(read.box, hard[read.name])) if is_soft else read


def soft_reads(program: Dataflow, groups: Sequence[StoreGroup]) -> list[Hard]:
    """Return for each group of stores the fields that it reads softly, and what must exist.

    None stands for no hard read. A field that is not listed must hold all that is read.
    """
    leads_past = {Displace, Region} <= {type(value) for value in program.values}
    hides = any(isinstance(value, Map) and value.op == "select" for value in program.values)
    if not hides and not leads_past:
        return [{} for _ in groups]
    walk = Walk.of(program, Areas(loosens=leads_past))
    exact = Walk.of(program, Areas(loosens=leads_past, gates=True))
    found = [_of_group(program, walk, exact, group.stores) for group in groups]
    if all(group.stores for group in groups):
        return found
    # Groups share an array, which holds what all of them need: each requires its own part of that.
    soft = {name for each in found for name in each}
    return [
        {**_whole_reads(program, walk, group.stores, soft), **each}
        for group, each in zip(groups, found, strict=True)
    ]


def _whole_reads(
    program: Dataflow, walk: Walk, stores: Sequence[Store], names: Collection[str]
) -> dict[str, Ranges | None]:
    """Return all that stores read of the fields; None for a field that they do not read."""
    found: dict[str, Ranges | None] = dict.fromkeys(sorted(names))
    for ref, need in _needs(walk, stores).items():
        value = program.values[ref]
        if isinstance(value, Input) and value.name in found and need:
            found[value.name] = walk.areas.of(value.dims, need)
    return found


def _of_group(program: Dataflow, walk: Walk, exact: Walk, stores: Sequence[Store]) -> Hard:
    areas = walk.areas
    leaves = {leaf.name: leaf for leaf in program.leaves}
    found: dict[str, Ranges | None] = {}
    unsure: dict[str, Ref] = {}
    for ref, need in _needs(walk, stores).items():
        value = program.values[ref]
        if not isinstance(value, Input) or _is_whole(areas, leaves[value.name], value.dims, need):
            continue
        hard = areas.hard(need)
        found[value.name] = areas.of(value.dims, hard) if hard else None
        if not all(areas[number].certain for number in hard):
            unsure[value.name] = ref
    needs = _needs(exact, stores) if unsure else {}
    for name, ref in unsure.items():  # what the call finds empty requires nothing
        hard = exact.areas.hard(needs[ref])
        found[name] = exact.areas.of(program.values[ref].dims, hard) if hard else None
    return found


def _needs(walk: Walk, stores: Sequence[Store]) -> dict[Ref, Need]:
    seeds = [(store.value, walk.areas.number(Area(store.box))) for store in stores]
    return walk.from_seeds(seeds)


def _is_whole(areas: Areas, leaf: Leaf, dims: Dims, need: Need) -> bool:
    """Tell whether a field must hold all that is read of it, or is known to."""
    if not dims or not need:  # a displacement may be led past all that there is
        return not dims or not areas.loosens
    narrowed = {number for number in need if areas[number].narrowed}
    hard, whole = areas.hard(need), areas.of(dims, need)
    if (len(hard) == len(need) and not narrowed) or _is_inside(whole, leaf):
        return True
    sure = {n: e for n, e in hard.items() if areas[n].certain and n not in narrowed}
    loose = {dim for number in narrowed for dim in areas[number].loose}
    return bool(sure) and all(
        mine == theirs or (len(hard) == len(need) and mine.dim in loose)
        for mine, theirs in zip(areas.of(dims, sure), whole, strict=True)
    )


def _is_inside(box: Ranges, leaf: Leaf) -> bool:
    """Tell whether a field is known to cover a box."""
    pairs = [(each, *leaf.ends(each.dim)) for each in box]
    return all(
        bounds.is_at_least(each.start, start) and bounds.is_at_least(stop, each.stop)
        for each, start, stop in pairs
    )


def _hard_part(read: Ranges, hard: Ranges | None) -> Ranges:
    """Return what must exist of a box that is read; an empty box for no hard read."""
    if hard is None:
        return tuple(Range(each.dim, Const(0), Const(0)) for each in read)
    others = {each.dim: each for each in hard}
    return tuple(
        Range(
            each.dim,
            bounds.maximum(each.start, others[each.dim].start),
            bounds.minimum(each.stop, others[each.dim].stop),
        )
        for each in read
    )
