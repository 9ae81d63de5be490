"""Let the nests of a patch share what they load: one loop for two nests, and one more array.

One nest fills an array on all cells that a patch needs, another one stores fields on the cells that
the patch owns. Where both read the same (pass `fuse` says so), one loop does both on these cells.

A nest may read an array at neighbours, and compute a value from fields at the same neighbours. The
loop that fills the array then computes this value once, and hands it on in one more array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from ....ir.bounds import Apply, Bound, PatchBound, PatchOrder, Range
from ....ir.flat_kernel import Buffer, Kernel
from ....ir.nest_groups import Instead, Patches, PatchLoop
from ....ir.nests import ALWAYS, Nest, Store
from ...mesh.values import Handed, evaluated_here, handed, read_from
from ...mesh.ways import Way, ways
from ...on_lists import on_lists
from ...schedule.costs import ITEMSIZES
from ...schedule.rules import Rules
from ..options import options_of
from .unrolling import joined

# The length of a list that fills arrays, in percent of the last one: meshes need 57 to 94.
LENGTH: Final = 80


@on_lists
def share_in_patches(kernel: Kernel, rules: Rules) -> Kernel:
    """Let the nests of a patch load once what several of them need."""
    if rules.checked:
        return kernel
    for number, each in enumerate(kernel.patches):
        made = each
        for instead in kernel.instead:
            made = _in_one_loop(kernel, made, instead)
        made, arrays = _handed_on(kernel, made, rules)
        if made != each:
            kernel = _with(kernel, number, made, arrays)
    return kernel


def _with(kernel: Kernel, number: int, made: Patches, arrays: Sequence[Buffer]) -> Kernel:
    """Put changed patches into a kernel; the sizes of its arrays follow their order."""
    old = kernel.patches[number].order
    patches = (*kernel.patches[:number], made, *kernel.patches[number + 1 :])
    buffers = tuple(
        attrs.evolve(
            buffer,
            box=tuple(
                Range(r.dim, _renewed(r.start, old, made.order), _renewed(r.stop, old, made.order))
                for r in buffer.box
            ),
        )
        for buffer in kernel.buffers
    )
    return attrs.evolve(kernel, patches=patches, buffers=(*buffers, *arrays))


def _renewed(bound: Bound, old: PatchOrder, new: PatchOrder) -> Bound:
    if isinstance(bound, PatchBound) and bound.order == old:
        return attrs.evolve(bound, order=new)
    if isinstance(bound, Apply):
        return Apply(bound.op, tuple(_renewed(arg, old, new) for arg in bound.args))
    return bound


# --- one loop for two nests -----------------------------------------------------------------------


def _in_one_loop(kernel: Kernel, patches: Patches, instead: Instead) -> Patches:
    """Let one loop fill arrays and store fields for the elements that a patch owns."""
    pair = (instead.first, instead.first + 1)
    if not set(pair) <= set(patches.members):
        return patches
    fills, other = (patches.members.index(number) for number in pair)
    members = list(patches.order.members)
    if not members[fills].fills or members[other].fills or other == len(members) - 1:
        return patches
    both = kernel.nests[instead.nest]
    fillers = fillers_of(patches)
    readings = {(fillers[name], way): None for name, way in ways(both, fillers)}
    if any(way is None for _, way in readings):
        return patches
    members[fills] = attrs.evolve(members[fills], begins=other)
    members[other] = attrs.evolve(members[other], readings=tuple(readings))  # type: ignore[arg-type]
    loops = {each.elements: each for each in patches.loops}
    new: tuple[PatchLoop, ...] = (
        PatchLoop(both, other, "both", instead.when, fills),
        PatchLoop(loops[fills].nest, fills, "rest", instead.when, other),
        PatchLoop(loops[other].nest, other, "apart", instead.when, fills),
    )
    if instead.when == ALWAYS:
        new = new[:2]
    order = attrs.evolve(patches.order, members=tuple(members))
    rest = [each for each in patches.loops if each.elements != fills]
    place = rest.index(loops[other])
    return attrs.evolve(patches, order=order, loops=(*rest[:place], *new, *rest[place + 1 :]))


def fillers_of(patches: Patches) -> dict[str, int]:
    """Return by array the number of the list for whose elements a loop fills it."""
    return {
        row.buffer: each.elements
        for each in patches.loops
        if each.part != "both"
        for row in each.nest.body
        if isinstance(row, Store) and row.buffer in patches.arrays
    }


# --- one more array -------------------------------------------------------------------------------


def _handed_on(
    kernel: Kernel, patches: Patches, rules: Rules
) -> tuple[Patches, tuple[Buffer, ...]]:
    """Let loops that fill arrays also compute what a reader computes for each neighbour."""
    made: list[Buffer] = []
    fillers = fillers_of(patches)
    for place in sorted(set(fillers.values())):
        own = {name: filler for name, filler in fillers.items() if filler == place}
        reader = _only_reader(patches, own)
        if reader is None:
            continue
        at, slots = reader
        while values := handed(patches.loops[at].nest, own, slots, patches.arrays):
            if not _has_room(patches, values[0].dtype, rules):
                break
            made.append(_array(kernel, patches, place, values[0]))
            kernel = attrs.evolve(kernel, buffers=(*kernel.buffers, made[-1]))
            patches = _with_array(kernel, patches, at, place, values[0])
    return patches, tuple(made)


def _only_reader(patches: Patches, own: Mapping[str, int]) -> tuple[int, list[Way]] | None:
    """Return the only loop that reads the arrays `own`, and at which neighbours; else None."""
    found = [
        (number, way)
        for number, each in enumerate(patches.loops)
        for _, way in ways(each.nest, own)
    ]
    loops = {number for number, _ in found}
    slots = list(dict.fromkeys(way for _, way in found))
    if len(loops) != 1 or any(not way for way in slots):
        return None
    return loops.pop(), slots  # type: ignore[return-value]


def _has_room(patches: Patches, dtype: str, rules: Rules) -> bool:
    """Tell whether one more array of `dtype` fits into the shared memory of all blocks."""
    row = sum(member.row_bytes for member in patches.order.members)
    row += patches.levels * ITEMSIZES[dtype]
    room = options_of(rules).target.block_memory
    return LENGTH * row * patches.order.size * patches.blocks <= 100 * room


def _array(kernel: Kernel, patches: Patches, place: int, value: Handed) -> Buffer:
    nest = next(each.nest for each in patches.loops if each.elements == place)
    dims = tuple(loop.range.dim for loop in nest.loops)
    taken = [int(b.name[1:]) for b in kernel.buffers if b.name[:1] == "@" and b.name[1:].isdigit()]
    name = f"@{max(taken) + 1}"
    reason = f"{value.loads} loads of each neighbour computed with what is filled beside it"
    return Buffer(name, "shared", value.dtype, dims, dims[-1], reason=reason)


def _with_array(kernel: Kernel, patches: Patches, at: int, place: int, value: Handed) -> Patches:
    """Let loops fill the last array of a kernel for the elements of a list, and a loop read it."""
    buffer = kernel.buffers[-1]
    dims_of = {each.name: each.dims for each in kernel.buffers}
    fillers = fillers_of(patches)
    reader = patches.loops[at].nest
    loops = []
    for number, each in enumerate(patches.loops):
        nest = each.nest
        stored = {row.buffer for row in nest.body if isinstance(row, Store)}
        if number == at:
            nest = _because(read_from(nest, value, buffer), f"reads {buffer.name}")
        elif any(fillers.get(name) == place for name in stored):
            more = attrs.evolve(nest, body=evaluated_here(reader, value, buffer))
            nest = attrs.evolve(nest, body=joined((nest, more), dims_of))
            nest = _because(nest, f"fills {buffer.name}")
        loops.append(attrs.evolve(each, nest=nest))
    members = list(patches.order.members)
    row_bytes = members[place].row_bytes + patches.levels * ITEMSIZES[buffer.dtype]
    members[place] = attrs.evolve(members[place], row_bytes=row_bytes)
    return attrs.evolve(
        patches,
        arrays=(*patches.arrays, buffer.name),
        order=attrs.evolve(patches.order, members=tuple(members)),
        loops=tuple(loops),
    )


def _because(nest: Nest, what: str) -> Nest:
    """Add to the reason of a nest, and drop its own choice of threads: its patch has one."""
    reason = f"{nest.reason.partition(';')[0]}, {what}"
    return attrs.evolve(nest, reason=reason, block=(), each=(), blocks=1, unaligned=False)
