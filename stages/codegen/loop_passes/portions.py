"""Let nests of a mesh hand arrays on in rows that a thread of a CPU uses again and again.

A nest that fills an array on vertices and one that reads it on edges run together: a thread
computes some vertices, then the edges for which all vertices are there, and so on through a patch
of the mesh. The row of a vertex is free again after the last edge that reads it, so that the rows
of a patch stay in the second cache. Vertices at the rim of a patch are computed by each patch that
needs them.
"""

from __future__ import annotations

from typing import Final

import attrs

from ...ir.bounds import Bound, Const, PatchOrder, maximum, multiply
from ...ir.loops import Kernel
from ...ir.nest_groups import Portions
from ...ir.nests import Row
from ..schedule.costs import ITEMSIZES
from ..schedule.rules import Rules
from .mesh_chains import Chain, chains, extent, members_of, where_needed

# Elements of the last nest in a patch and in a portion, bytes of arrays from which it pays.
SIZES: Final = (6144, 128, 16 << 20)
# Of the elements that nests fill, those that several patches fill counted each time, in percent.
AGAIN: Final = 150
MOST_ROWS: Final = 1 << 20  # bytes of a level, of all rows of a thread


def portion(kernel: Kernel, rules: Rules) -> Kernel:
    """Make nests on a mesh that hand arrays on one step if these need not go to memory."""
    if rules.checked or rules.patches[:1] == (-1,):
        return kernel
    taken = {number for each in kernel.tilings for number in range(each.first, each.stop)}
    made = []
    for chain in chains(kernel, ["parallel", "vector"]):
        plain = all(nest.loops[0].step == 1 and not nest.marching for nest in chain.nests)
        if plain and taken.isdisjoint(chain.numbers):
            made += _made(kernel, chain, rules)
    gone = {name: each for each in made for name in each.arrays}
    buffers = tuple(
        where_needed(buffer, each.fits) if (each := gone.get(buffer.name)) else buffer
        for buffer in kernel.buffers
    )
    return attrs.evolve(kernel, portions=tuple(made), buffers=buffers)


def _made(kernel: Kernel, chain: Chain, rules: Rules) -> list[Portions]:
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    members = members_of(chain.nests, chain.fillers, buffers, 1)
    if members is None:
        return []
    given = (*rules.patches, 0, 0, 0)[:3]
    size, few, least = (own or model for own, model in zip(given, SIZES, strict=True))
    last = chain.nests[-1]
    order = PatchOrder(max(size // few, 1) * few, few, MOST_ROWS, AGAIN, members)
    bytes_ = sum(ITEMSIZES[buffers[name].dtype] for name in chain.arrays)
    memory: Bound = Const(0)
    for name in chain.arrays:
        points: Bound = Const(ITEMSIZES[buffers[name].dtype])
        for range_ in buffers[name].box:
            points = multiply(points, maximum(extent(range_), Const(0)))
        memory = maximum(memory, points)
    return [
        Portions(
            chain.numbers[0], chain.numbers[-1] + 1, chain.numbers, chain.arrays,
            _asked(chain), order,
            extent(last.loops[0].range), extent(last.loops[1].range), bytes_, least,
            rules.target.core_memory, memory, rules.target.cores,
            f"{', '.join(chain.arrays)} need not go to memory and back",
        )
    ]  # fmt: skip


def _asked(chain: Chain) -> tuple[tuple[Row, ...], ...]:
    """Return the loads whose rows each nest prefetches: of what no nest before it prefetches."""
    known = set(chain.arrays)
    found = []
    for nest in chain.nests:
        own = {row: nest.body[row].buffer for row in nest.asked}  # type: ignore[attr-defined]
        found.append(tuple(row for row, buffer in own.items() if buffer not in known))
        known |= set(own.values())
    return tuple(found)
