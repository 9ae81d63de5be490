"""Let nests of a mesh hand arrays on within patches: in shared memory of a GPU, or near a thread.

A nest that fills an array on vertices and one that reads it on edges become one kernel whose blocks
have some edges each, and the vertices that those need. Values at the rim of a patch are computed by
each patch that needs them. On a CPU threads share the patches, see `portions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from ...gpu_target import WIDEST
from ...ir.bounds import PatchOrder
from ...ir.loops import Kernel
from ...ir.nest_groups import Patches, PatchLoop
from ...ir.nests import Load, Nest
from ..schedule.costs import ITEMSIZES
from ..schedule.rules import Rules
from .mesh_chains import Chain, accesses, chains, extent, members_of, where_needed
from .portions import portion

SMALL: Final = 16  # loads of a point in all nests: small ones
LARGE: Final = 48  # large ones have more
WORD: Final = 4
# For small, middle and large nests, which have words only or not: elements of the last nest in a
# patch, bytes of an element's levels in a block, accesses of 16 bytes a thread, threads, blocks on
# a multiprocessor.
SIZES: Final = {
    ("small", False): (192, 128, 2, 256, 5),
    ("small", True): (96, 320, 2, 320, 4),
    ("middle", False): (128, 128, 2, 256, 3),
    ("middle", True): (96, 128, 1, 256, 4),
    ("large", False): (160, 128, 2, 320, 2),
    ("large", True): (64, 320, 1, 320, 2),
}
# Of the elements that nests fill, those that several patches fill counted each time, in percent.
AGAIN: Final = 250


def patch(kernel: Kernel, rules: Rules) -> Kernel:
    """Make nests on a mesh that follow each other one step if they save arrays in memory."""
    if rules.checked:
        return kernel
    return _for_blocks(portion(kernel, rules), rules)


def _for_blocks(kernel: Kernel, rules: Rules) -> Kernel:
    if rules.gpu.patches[:1] == (-1,):
        return kernel
    found = (_made(kernel, each, rules) for each in chains(kernel, ["thread", "thread"]))
    made = tuple(each for each in found if each is not None)
    gone = {name: each for each in made for name in each.arrays}
    buffers = tuple(
        where_needed(buffer, each.fits) if (each := gone.get(buffer.name)) else buffer
        for buffer in kernel.buffers
    )
    return attrs.evolve(kernel, patches=made, buffers=buffers)


def _made(kernel: Kernel, chain: Chain, rules: Rules) -> Patches | None:
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    nests, numbers = chain.nests, chain.numbers
    touched = (row.buffer for nest in nests for row in accesses(nest, Load))
    sizes = _sizes(nests, max(ITEMSIZES[buffers[name].dtype] for name in touched), rules)
    members = members_of(nests, chain.fillers, buffers, sizes[1])
    if members is None or any(each.row_bytes % WIDEST for each in members):
        return None
    members = tuple(
        attrs.evolve(each, readings=tuple(dict.fromkeys(each.readings))) for each in members
    )
    size, levels, points, threads, blocks = sizes
    names = ", ".join(chain.arrays)
    return Patches(
        numbers[0], numbers[-1] + 1, numbers, chain.arrays,
        PatchOrder(size, 0, rules.gpu.most_shared, AGAIN, members),
        levels, points, threads, blocks, extent(nests[-1].loops[0].range),
        f"{names} need not go to memory and back{_why(blocks)}",
        tuple(PatchLoop(nest, place) for place, nest in enumerate(nests)),
    )  # fmt: skip


def _why(blocks: int) -> str:
    return f"; room for {blocks} blocks, faster than fewer even if threads spill a little"


def _sizes(nests: Sequence[Nest], widest: int, rules: Rules) -> tuple[int, int, int, int, int]:
    """Return elements of a patch, levels, points of a thread, threads, and blocks."""
    loads = sum(row.level == len(nest.loops) for nest in nests for row in accesses(nest, Load))
    size = "small" if loads <= SMALL else "middle" if loads <= LARGE else "large"
    own, line, packs, many, together = SIZES[size, widest <= WORD]
    ours = (own, line // widest, packs * WIDEST // widest, many, together)
    given = (*rules.gpu.patches, 0, 0, 0, 0, 0)[:5]
    elements, levels, points, threads, blocks = (
        theirs or model for theirs, model in zip(given, ours, strict=True)
    )
    lanes = -(-levels // points)
    return elements, lanes * points, points, max(threads // lanes, 1) * lanes, blocks
