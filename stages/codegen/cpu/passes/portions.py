"""Let nests of a mesh hand arrays on in rows that a CPU thread reuses.

A nest that fills an array on vertices and one that reads it on edges run together: a thread
computes a portion of the vertices, then the edges that have all their vertices, and so on through
a patch of the mesh. After the last edge that reads a vertex, another vertex takes its row. So the
rows of a patch stay in the second-level cache. Each patch computes all vertices that it needs, also
those at its rim that other patches compute too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....ir.loops import (
    ITEMSIZES,
    Bound,
    Buffer,
    Const,
    Each,
    Kernel,
    PatchOrder,
    Portions,
    Row,
    marks_of,
    maximum,
    multiply,
)
from ....sizes import Patches
from ...mesh.chains import Chain, Cover, extent, in_chains, members_of
from ...pass_list import Rules
from ..options import options_of

ELEMENTS: Final = 6144  # of the last nest in a patch
PORTION: Final = 128  # elements of it at a time
LEAST_BYTES: Final = 16 << 20  # of arrays from which portions pay
# How many elements all patches may fill, in percent of the elements of the mesh that they fill.
AGAIN: Final = 150
MOST_ROWS: Final = 1 << 20  # bytes that one level of all rows of a thread may take


def patch(kernel: Kernel, rules: Rules) -> Kernel:
    """Run nests on a mesh together if the arrays between them then need not go to memory."""
    if rules.checked or not options_of(rules).patches:
        return kernel
    return in_chains(kernel, ["parallel", "vector"], lambda chain: _made(kernel, chain, rules))


def _made(kernel: Kernel, chain: Chain, rules: Rules) -> Cover | None:
    if any(nest.loops[0].step != 1 or marks_of(nest).march for nest in chain.nests):
        return None
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    members = members_of(chain.nests, chain.fillers, buffers, 1)
    if members is None:
        return None
    given = options_of(rules).patches or Patches()
    size, few = given.elements or ELEMENTS, given.portion or PORTION
    least = given.least_bytes or LEAST_BYTES
    last = chain.nests[-1]
    order = PatchOrder(max(size // few, 1) * few, few, MOST_ROWS, AGAIN, members)
    bytes_ = sum(ITEMSIZES[buffers[name].dtype] for name in chain.arrays)
    loops = enumerate(zip(chain.nests, _asked(chain), strict=True))
    made = Portions(
        chain.arrays, order, extent(last.loops[0].range), extent(last.loops[1].range), bytes_,
        least, rules.target.core_memory, _largest([buffers[name] for name in chain.arrays]),
        rules.target.cores,
        tuple(Each(place, nest, asked=asked) for place, (nest, asked) in loops),
    )  # fmt: skip
    return made, f"{', '.join(chain.arrays)} need not go to memory and back"


def _largest(arrays: Sequence[Buffer]) -> Bound:
    """Return the bytes of the largest of some arrays."""
    most: Bound = Const(0)
    for array in arrays:
        size: Bound = Const(ITEMSIZES[array.dtype])
        for range_ in array.box:
            size = multiply(size, maximum(extent(range_), Const(0)))
        most = maximum(most, size)
    return most


def _asked(chain: Chain) -> tuple[tuple[Row, ...], ...]:
    """Return the loads whose rows each nest prefetches; no two nests prefetch the same buffer."""
    known = set(chain.arrays)
    found = []
    for nest in chain.nests:
        own = {row: nest.body[row].buffer for row in marks_of(nest).asked}  # type: ignore[attr-defined]
        found.append(tuple(row for row, buffer in own.items() if buffer not in known))
        known |= set(own.values())
    return tuple(found)
