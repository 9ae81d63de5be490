"""Let the levels march through blocks of rows, so that a block stays in the second cache.

A stencil that reads its neighbours along the outermost loop reads each plane several times. Where
loops walk whole planes, a plane of a large grid has left the second cache when the next plane reads
it again. So the code walks a block of rows down all planes before the next block: the rows that
several planes read stay in the cache. Blocks are as high as the cache of a core holds; rows of a
grid that fits are one block. Threads share the rows in this order.
"""

from __future__ import annotations

from typing import Final

from ....ir.loops import ITEMSIZES, Kernel, Load, Nest, Store, arrays_of, marked, with_nests
from ...pass_list import Rules

DEPTH: Final = 3  # planes, rows, points
SHARE: Final = 1 / 2  # of the second cache


def march(kernel: Kernel, rules: Rules) -> Kernel:
    """Note in each nest how many points of a row, over all planes it reads, a block may hold."""
    most = int(rules.target.core_memory * SHARE)
    sizes = {buffer.name: ITEMSIZES[buffer.dtype] for buffer in kernel.buffers}
    return with_nests(kernel, lambda nest: _marching(nest, sizes, most))


def _marching(nest: Nest, sizes: dict[str, int], most: int) -> Nest:
    kinds = tuple(loop.kind for loop in nest.loops)  # those of tiles are sequential
    if kinds != ("parallel",) * (DEPTH - 1) + ("vector",) or nest.parts:
        return nest
    planes = _planes(nest)
    if max(planes.values(), default=1) < 2:
        return nest
    written = arrays_of(nest, Store) - planes.keys()
    held = sum(count * sizes[name] for name, count in planes.items())
    return marked(nest, march=most // (held + sum(sizes[name] for name in written)))


def _planes(nest: Nest) -> dict[str, int]:
    """Return how many planes of each buffer a point of the nest reads."""
    outer, inner = nest.loops[0].range.dim, nest.loops[-1].range.dim
    offsets: dict[str, set[int]] = {}
    for row in nest.body:
        if isinstance(row, Load) and inner in row.dims:
            own = offsets.setdefault(row.buffer, set())
            axis = row.dims.index(outer) if outer in row.dims else None
            if axis is not None and (not row.rows or row.rows[axis] is None):
                own.add(row.offsets[axis])
    return {name: max(own) - min(own) + 1 if own else 1 for name, own in offsets.items()}
