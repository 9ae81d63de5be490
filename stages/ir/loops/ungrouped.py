"""A kernel without groups: every `otherwise`, no groups and no marks, nests one by one."""

from __future__ import annotations

from ....runtime.process import classes
from .group import NestGroup
from .kernel import Choice, Kernel, Node, Seq, in_order
from .nest import Nest
from .traverse import rewrite


def ungrouped(kernel: Kernel) -> Kernel:
    """Return a kernel that does the same, one nest after the other, as no platform decided on it.

    A kernel has none if a group that runs in every call has arrays that are not in the arena.
    """
    return rewrite(kernel, _ungrouped)


def _ungrouped(node: Node) -> Node:
    match node:
        case Choice(otherwise=otherwise):
            return otherwise
        case NestGroup(members=members):
            return in_order(*(member.nest for member in members))
        case Seq(steps=steps):
            return in_order(*steps)
        case Nest():
            return classes.evolve(node, marks=None)
    return node
