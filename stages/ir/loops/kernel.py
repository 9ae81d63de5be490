"""Loop IR: the loop nests, memory and order of a program, scheduled for one target, as a tree.

    kernel  ::= scalars, buffers, groups of stores, steps, arena slots, notes
    step    ::= node; all of it reads before the next step overwrites
    node    ::= Seq | Choice(when, then, otherwise) | Loop | Nest | Column
              | Tiles | Portions      on a CPU
              | Columns | Patches     on a GPU

`nest.py` has nests and their instructions, `column.py` imperative columns, `group.py` what groups
of nests have in common, `cpu.py` and `gpu.py` what only one platform has. No node has a number: a
group owns its nests. `traverse.py` walks and rewrites trees, `verify.py` checks them, `text.py`
prints them and `reader.py` reads them back.
"""

from __future__ import annotations

from ....runtime.process import classes
from ..bounds import Bound, Const, Range, Ranges, add
from .buffers import Buffer


@classes.frozen
class Node:
    """A part of a kernel that runs; its children are the nodes in its fields."""


@classes.frozen
class Seq(Node):
    """None, two or more nodes in order, none of them a `Seq`; `in_order` makes one."""

    steps: tuple[Node, ...] = ()


@classes.frozen
class Choice(Node):
    """Run `then` in calls where `when` is 1, `otherwise` in calls where it is 0.

    A group that not every call can run stands in `then`; `otherwise` does the same work without it.
    """

    when: Bound
    then: Node
    otherwise: Node
    reason: str = ""


@classes.frozen
class Loop(Node):
    """Run the body for one index of a dimension after the other: planes, levels, segments."""

    range: Range
    body: Node
    backward: bool = False
    reason: str = ""


@classes.frozen
class Step(Node):
    """What a statement of the program computes."""

    statement: int
    body: Node


@classes.frozen
class Group:
    """The stores of a statement with one box; their nests run, and read, if it is not empty.

    Nests that fill arrays for several groups have a group without a box.
    """

    statement: int
    box: Ranges


@classes.frozen
class Kernel:
    """A scheduled program; `slots` are the sizes in bytes of the slots of the arena."""

    name: str
    scalars: tuple[tuple[str, str], ...]
    buffers: tuple[Buffer, ...]
    groups: tuple[Group, ...]
    steps: tuple[Step, ...]
    slots: tuple[Bound, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def workspace(self) -> Bound:
        """The bytes of the arena."""
        total: Bound = Const(0)
        for size in self.slots:
            total = add(total, size)
        return total


def in_order(*nodes: Node) -> Node:
    """Return nodes as one: those of a `Seq` stand for it, a single one for itself.

    >>> in_order(Seq()), in_order(Loop(None, Seq())) == Loop(None, Seq())
    (Seq(steps=()), True)
    """
    steps = tuple(step for node in nodes for step in steps_of(node))
    return steps[0] if len(steps) == 1 else Seq(steps)


def steps_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes that run in order: those of a `Seq`, or the node itself."""
    return node.steps if isinstance(node, Seq) else (node,)
