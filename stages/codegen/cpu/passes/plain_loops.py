"""Take from a kernel what only makes it fast, so that it takes little time to compile."""

from __future__ import annotations

from .....runtime.process import classes
from ....ir.bounds import Bound
from ....ir.loops.cpu import Tiles
from ....ir.loops.kernel import Kernel, Node, Seq, in_order
from ....ir.loops.nest import Nest
from ....ir.loops.traverse import nodes_of, rewrite, with_nests


def plain_loops(kernel: Kernel) -> Kernel:
    """Return a kernel without vectors, prefetches, non-temporal stores and shared rows."""
    if not any(nodes_of(kernel, Tiles)):
        kernel = rewrite(kernel, _unjammed)
    return with_nests(kernel, _slow)


def _slow(nest: Nest) -> Nest:
    loops = tuple(
        classes.evolve(loop, kind="sequential") if loop.kind == "vector" else loop
        for loop in nest.loops
    )
    return classes.evolve(nest, loops=loops, marks=None)


def _unjammed(node: Node) -> Node:
    """Return nodes without nests for groups of rows: the nests of single rows take all rows."""
    if not isinstance(node, Seq):
        return node
    single: list[Node] = []
    start: Bound | None = None
    for step in node.steps:
        if isinstance(step, Nest) and len(step.loops) > 1 and step.loops[-2].step > 1:
            start = step.loops[-2].range.start
        elif isinstance(step, Nest) and start is not None:
            rows = classes.evolve(
                step.loops[-2], range=classes.evolve(step.loops[-2].range, start=start)
            )
            loops = (*step.loops[:-2], rows, step.loops[-1])
            single.append(classes.evolve(step, loops=loops))
            start = None
        else:
            single.append(step)
    return in_order(*single)
