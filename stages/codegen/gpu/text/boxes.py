"""Write the boxes of a statement as one kernel: some blocks have one nest, and some another.

The inner nest has the first columns of the grid; its blocks know their places as those of a kernel
of its own do. The blocks of the rims follow, counted in one row: variables with the names that CUDA
and HIP have for them say where such a block is in the grid of its nest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....ir.loops import Nest
from ....ir.loops.gpu import marks_of
from ...rows import Scope
from ..kernels import Boxes
from .grid import axes_of, first_text, is_flat
from .lines import braced, indented
from .nest import write_nest

_BLOCKS: Final = "struct Blocks { u32 x, y, z; };"


def write_boxes(scope: Scope, boxes: Boxes) -> Iterator[str]:
    """Write the statements of one thread."""
    scope.uses.functions["Blocks"] = _BLOCKS
    yield f"  const u32 columns = u32({_counts(scope, boxes.inner)[0]});"
    yield from indented(braced("if (blockIdx.x < columns)", write_nest(scope, boxes.inner)))
    row = "(blockIdx.x - columns) * gridDim.y + blockIdx.y"
    yield from ("  else {", f"  u32 block = ({row}) * gridDim.z + blockIdx.z;")
    for nest in boxes.rims:
        yield from indented(_rim(scope, nest))
    yield f"  }}{'}' * len(boxes.rims)}"


def _rim(scope: Scope, nest: Nest) -> Iterator[str]:
    """Write a nest for the next blocks, and begin what blocks after them have."""
    counts = (*_counts(scope, nest), "1", "1")[:3]
    place = "block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y"
    grid = (f"const Blocks gridDim = grid, blockIdx = {{{place}}};",)
    yield f"const Blocks grid = {{{', '.join(f'u32({count})' for count in counts)}}};"
    yield "const u32 blocks = grid.x * grid.y * grid.z;"
    yield from braced("if (block < blocks)", grid, write_nest(scope, nest))
    yield from ("else {", "block -= blocks;")


def _counts(scope: Scope, nest: Nest) -> list[str]:
    """Return how many blocks the grid of a nest has along each axis, as its launch computes it."""
    counts = list[str]()
    for axis in axes_of(nest):
        start, stop = first_text(scope, nest, axis), scope.bound(nest.loops[axis.level].range.stop)
        size = axis.points if is_flat(nest) else axis.points * axis.threads
        counts.append(_share(f"{stop} - {start}", size, f"{start} < {stop}"))
    if is_flat(nest):
        counts = [_share(f"({' * '.join(counts)})", marks_of(nest).block[0])]
    guards = (scope.ends(each) for each in scope.kernel.groups[nest.group].box
              if each not in nest.box)  # fmt: skip
    tests = " && ".join(f"{start} < {stop}" for start, stop in guards)
    return [f"({tests} ? {counts[0]} : 0)", *counts[1:]] if tests else counts


def _share(count: str, size: int, test: str = "") -> str:
    """Return how many blocks of some size a number of points takes; none unless the test holds."""
    blocks = f"({count} + {size - 1}) / {size}" if size > 1 else f"({count})"
    return f"({test} ? {blocks} : 0)" if test else f"({blocks})"
