"""Let nests of a mesh hand arrays on within patches, in shared memory of a GPU.

A nest that fills an array on vertices and one that reads it on edges become one kernel. Each of its
blocks has some edges, and the vertices that they need. Each patch computes all vertices that it
needs, also those at its rim that other patches compute too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .....runtime.process import classes
from ....gpu_target import WIDEST
from ....ir.loops import ITEMSIZES, Each, Kernel, Load, Nest, PatchOrder, accesses, in_order
from ....ir.loops.gpu import Patches
from ....sizes import Patches as Sizes
from ...mesh.chains import Chain, Cover, extent, in_chains, members_of
from ...pass_list import Rules
from ...plan.registers import WORD
from ..options import options_of
from .thread_blocks import begins_with_thread

SMALL: Final = 16  # small nests together load at most so much at a point
LARGE: Final = 48  # large ones load more
# For small, middle and large nests, and whether no element is wider than a word: elements of the
# last nest in a patch, bytes of an element's levels in a block, accesses of 16 bytes of a thread,
# threads of a block, blocks on a multiprocessor.
MODEL: Final = {
    ("small", False): (192, 128, 2, 256, 5),
    ("small", True): (96, 320, 2, 320, 4),
    ("middle", False): (128, 128, 2, 256, 3),
    ("middle", True): (96, 128, 1, 256, 4),
    ("large", False): (160, 128, 2, 320, 2),
    ("large", True): (64, 320, 1, 320, 2),
}
# How many elements all patches may fill, in percent of the elements of the mesh that they fill.
AGAIN: Final = 250


def patch(kernel: Kernel, rules: Rules) -> Kernel:
    """Run nests on a mesh together if that saves arrays in memory."""
    if rules.checked or not options_of(rules).patches:
        return kernel
    return in_chains(kernel, ["thread", "thread"], lambda chain: _made(kernel, chain, rules))


def _made(kernel: Kernel, chain: Chain, rules: Rules) -> Cover | None:
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    nests = chain.nests
    if any(map(_has_scattered_weights, nests)):
        return None  # each patch would gather them again
    touched = (row.buffer for nest in nests for row in accesses(nest, Load))
    sizes = _sizes(nests, max(ITEMSIZES[buffers[name].dtype] for name in touched), rules)
    asked = options_of(rules).patches != Sizes()
    if not asked and not all(begins_with_thread(nest, sizes.points) for nest in nests):
        return None  # all warps would run the loop for the ends besides
    members = members_of(nests, chain.fillers, buffers, sizes.levels)
    if members is None or any(each.row_bytes % WIDEST for each in members):
        return None
    members = tuple(
        classes.evolve(each, readings=tuple(dict.fromkeys(each.readings))) for each in members
    )
    names = ", ".join(chain.arrays)
    made = Patches(
        chain.arrays,
        PatchOrder(sizes.elements, 0, options_of(rules).target.block_memory, AGAIN, members),
        extent(nests[-1].loops[0].range), sizes.levels, sizes.points, sizes.threads, sizes.blocks,
        in_order(*(Each(place, nest) for place, nest in enumerate(nests))),
    )  # fmt: skip
    return made, (
        f"{names} need not go to memory and back; room for {sizes.blocks} blocks, faster than "
        "fewer even if threads spill a little"
    )


def _has_scattered_weights(nest: Nest) -> bool:
    """Tell whether an element reads numbers by element and slot of a transposed table."""
    depth = len(nest.loops)
    return any(
        row.level < depth and sum(each is not None for each in row.rows) > 1
        for row in accesses(nest, Load)
    )


def _sizes(nests: Sequence[Nest], widest: int, rules: Rules) -> Sizes:
    """Return the sizes that the option gives, those of the model where it gives none."""
    loads = sum(row.level == len(nest.loops) for nest in nests for row in accesses(nest, Load))
    size = "small" if loads <= SMALL else "middle" if loads <= LARGE else "large"
    own, line, packs, many, together = MODEL[size, widest <= WORD]
    given = options_of(rules).patches or Sizes()
    points = given.points or packs * WIDEST // widest
    lanes = -(-(given.levels or line // widest) // points)
    rows = max((given.threads or many) // lanes, 1)
    return Sizes(
        given.elements or own,
        levels=lanes * points,
        points=points,
        threads=rows * lanes,
        blocks=given.blocks or together,
    )
