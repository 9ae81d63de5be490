"""Let the nests of a patch share what they load: one loop for two nests, and one more array.

One nest fills an array on all cells that a patch needs, another one stores fields on the cells that
the patch owns. Where both read the same (pass `fuse` says so), one loop does both on these cells.

A nest may read an array at neighbours, and compute a value from fields at the same neighbours. The
loop that fills the array then computes this value once, and hands it on in one more array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops import (
    ITEMSIZES,
    Buffer,
    Choice,
    Const,
    Each,
    Kernel,
    Nest,
    Node,
    Store,
    accesses,
    in_order,
    nodes_of,
    rewrite,
    steps_of,
)
from ....ir.loops.gpu import Patches, marked
from ...mesh.values import Handed, evaluated_here, handed, read_from, ways
from ...pass_list import Rules
from ..options import options_of
from .unrolling import joined

# The length of a list that fills arrays, in percent of the last one: meshes need 57 to 94.
LENGTH: Final = 80


def share_in_patches(kernel: Kernel, rules: Rules) -> Kernel:
    """Let the nests of a patch load once what several of them need."""
    if rules.checked:
        return kernel
    buffers: Sequence[Buffer] = kernel.buffers

    def sharing(node: Node) -> Node:
        nonlocal buffers
        if not isinstance(node, Choice):
            return node
        patches, *others = steps_of(node.then)
        if not isinstance(patches, Patches):
            return node
        for pair in nodes_of(node.otherwise, Choice):
            patches = _in_one_loop(patches, pair)
        patches, buffers = _handed_on(patches, buffers, rules)
        return classes.evolve(node, when=patches.fits, then=in_order(patches, *others))

    made = rewrite(kernel, sharing)
    return classes.evolve(made, buffers=tuple(buffers))


# --- one loop for two nests -----------------------------------------------------------------------


def _in_one_loop(patches: Patches, pair: Choice) -> Patches:
    """Let one loop fill arrays and store fields for the elements that a patch owns."""
    loops: dict[Node, Each] = {each.nest: each for each in nodes_of(patches, Each)}
    found = [loops[node] for node in steps_of(pair.otherwise) if node in loops]
    if not isinstance(pair.then, Nest) or len(found) != 2:
        return patches
    fills, other = found
    members = list(patches.order.members)
    ours, theirs = fills.elements, other.elements
    if not members[ours].fills or members[theirs].fills or theirs == len(members) - 1:
        return patches
    fillers = fillers_of(patches)
    nests = (pair.then,) if pair.when == Const(1) else (pair.then, other.nest)
    readings = {(fillers[name], way): None for nest in nests for name, way in ways(nest, fillers)}
    if any(way is None for _, way in readings):
        return patches
    members[ours] = classes.evolve(members[ours], begins=theirs)
    members[theirs] = classes.evolve(members[theirs], readings=tuple(readings))  # type: ignore[arg-type]
    both = in_order(Each(theirs, pair.then, "owned"), classes.evolve(fills, part="rest"))
    if pair.when != Const(1):
        both = Choice(pair.when, both, in_order(fills, other))
    steps = [step for step in steps_of(patches.body) if step != fills]
    steps[steps.index(other)] = both
    order = classes.evolve(patches.order, members=tuple(members))
    return classes.evolve(patches, order=order, body=in_order(*steps))


def fillers_of(patches: Patches) -> dict[str, int]:
    """Return by array the number of the list for whose elements a loop fills it."""
    return {
        row.buffer: each.elements
        for each in nodes_of(patches, Each)
        if each.part != "owned"
        for row in accesses(each, Store)
        if row.buffer in patches.arrays
    }


# --- one more array -------------------------------------------------------------------------------


def _handed_on(
    patches: Patches, buffers: Sequence[Buffer], rules: Rules
) -> tuple[Patches, Sequence[Buffer]]:
    """Let loops that fill arrays also compute what a reader computes for each neighbour."""
    fillers = fillers_of(patches)
    for place in sorted(set(fillers.values())):
        own = {name: filler for name, filler in fillers.items() if filler == place}
        while (found := _value(patches, own)) and _has_room(patches, found[1].dtype, rules):
            buffers = (*buffers, _array(buffers, patches, place, found[1]))
            patches = _with_array(patches, buffers, place, *found)
    return patches, buffers


def _value(patches: Patches, own: Mapping[str, int]) -> tuple[Each, Handed] | None:
    """Return the only loop that reads the arrays `own`, and a value that it has of neighbours."""
    found = [(each, way) for each in nodes_of(patches, Each) for _, way in ways(each.nest, own)]
    readers = {each for each, _ in found}
    slots = [way for way in dict.fromkeys(way for _, way in found) if way]
    if len(readers) != 1 or not all(way for _, way in found):
        return None
    (reader,) = readers
    values = handed(reader.nest, own, slots, patches.arrays)
    return (reader, values[0]) if values else None


def _has_room(patches: Patches, dtype: str, rules: Rules) -> bool:
    """Tell whether one more array of `dtype` fits into the shared memory of all blocks."""
    row = patches.levels * ITEMSIZES[dtype] + sum(m.row_bytes for m in patches.order.members)
    room = options_of(rules).target.block_memory
    return LENGTH * row * patches.order.size * patches.blocks <= 100 * room


def _array(buffers: Sequence[Buffer], patches: Patches, place: int, value: Handed) -> Buffer:
    nest = next(each.nest for each in nodes_of(patches, Each) if each.elements == place)
    dims = tuple(loop.range.dim for loop in nest.loops)
    taken = [int(b.name[1:]) for b in buffers if b.name[:1] == "@" and b.name[1:].isdigit()]
    reason = f"{value.loads} loads of each neighbour computed with what is filled beside it"
    return Buffer(f"@{max(taken) + 1}", "shared", value.dtype, dims, dims[-1], reason=reason)


def _with_array(
    patches: Patches, buffers: Sequence[Buffer], place: int, reader: Each, value: Handed
) -> Patches:
    """Let loops fill the last of the buffers for the elements of a list, and `reader` read it."""
    buffer = buffers[-1]
    by_name = {each.name: each for each in buffers}
    fillers = fillers_of(patches)

    def changed(node: Node) -> Node:
        if not isinstance(node, Each):
            return node
        nest = node.nest
        if node == reader:
            nest = _because(read_from(nest, value, buffer), f"reads {buffer.name}")
        elif any(fillers.get(row.buffer) == place for row in accesses(nest, Store)):
            more = classes.evolve(nest, body=evaluated_here(reader.nest, value, buffer))
            nest = classes.evolve(nest, body=joined((nest, more), by_name))
            nest = _because(nest, f"fills {buffer.name}")
        return classes.evolve(node, nest=nest)

    members = list(patches.order.members)
    row_bytes = members[place].row_bytes + patches.levels * ITEMSIZES[buffer.dtype]
    members[place] = classes.evolve(members[place], row_bytes=row_bytes)
    return classes.evolve(
        rewrite(patches, changed),
        arrays=(*patches.arrays, buffer.name),
        order=classes.evolve(patches.order, members=tuple(members)),
    )


def _because(nest: Nest, what: str) -> Nest:
    """Add to the reason of a nest, and drop its own choice of threads: its patch has one."""
    reason = f"{nest.reason.partition(';')[0]}, {what}"
    return marked(
        classes.evolve(nest, reason=reason), block=(), points=(), blocks=1, unaligned=False
    )
