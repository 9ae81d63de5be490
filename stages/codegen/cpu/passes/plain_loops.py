"""Loops that take little time to compile: for calls that few programs ever make."""

from __future__ import annotations

from .....runtime.process import classes
from ....ir.loops import Kernel, Nest, with_nests
from ...pass_list import Rules


def plain_loops(kernel: Kernel, _: Rules) -> Kernel:
    """Return a kernel without vectors."""
    return with_nests(kernel, _slow)


def _slow(nest: Nest) -> Nest:
    loops = (
        classes.evolve(loop, kind="sequential") if loop.kind == "vector" else loop
        for loop in nest.loops
    )
    return classes.evolve(nest, loops=tuple(loops))
