"""Groups of nests that run together, and the facts by which passes and writers know them.

What walks a tree names no class of a group: each class says what a call computes for it, how its
nests take turns, and which memory it has. `cpu.py` and `gpu.py` have the groups of a platform.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ....runtime.process import classes
from ..bounds import (
    Bound,
    Const,
    PatchBound,
    PatchOrder,
    Range,
    floor_divide,
    maximum,
    minimum,
    multiply,
)
from .kernel import Kernel, Node
from .nest import Each, Nest
from .traverse import children, nests_of, nodes_of


@classes.frozen
class Member(Node):
    """A nest of `Tiles`, with points before and beyond a tile along each cut dimension.

    Its loop over such a dimension runs over the part of its range inside the tile, and so many
    points more.
    """

    nest: Nest
    margins: tuple[tuple[int, int], ...]


@classes.frozen
class NestGroup(Node):
    """Nests that run together on one platform; where they run, no other nest touches `arrays`.

    Attributes:
        platform: the platform that has such groups.
        holder: the nodes in which its nests stand.
        walks_columns: whether a nest is done with a column before the next nest begins there.
        arrays: what only its nests touch.
        slot: where in the arena its workspace lies; -1 before that is decided.

    """

    platform: ClassVar[str]
    holder: ClassVar[type[Node]] = Nest
    walks_columns: ClassVar[bool] = False

    arrays: tuple[str, ...]
    slot: int = classes.field(default=-1, kw_only=True)

    @property
    def members(self) -> tuple[Member, ...]:
        """The nests in order, each with what it computes beyond its part of a tile."""
        return tuple(Member(nest, ()) for nest in nests_of(self))

    @property
    def fits(self) -> Bound:
        """1 in calls that can run it, 0 in others."""
        return Const(1)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """What a call computes for its code, but for what its nests need anyway."""
        return ()

    @property
    def is_clamped(self) -> bool:
        """Whether code that clamps indices has the group, too."""
        return True

    @property
    def outside(self) -> Range | None:
        """The indices of its arrays that lie in memory; None if nothing of them does."""
        return None

    @property
    def workspace(self) -> Bound | None:
        """The bytes of the arena that it takes besides its arrays; None for none."""
        return None

    @property
    def copies(self) -> int:
        """How many threads have arrays of their own."""
        return 1

    @property
    def alternates(self) -> bool:
        """Whether the first nest still fills arrays when the last one reads them."""
        return False

    def problems(self) -> Iterator[tuple[Node, str]]:
        """Yield which nodes break its rules, and how."""
        yield from ()


@classes.frozen
class PatchGroup(NestGroup):
    """Nests that run patch by patch of a mesh; one stores before another has read all patches.

    An inspector makes lists for each patch from the tables of a call: the elements of each nest,
    and where it finds what another nest filled.

    Attributes:
        order: the orders to the inspector.
        extent: how many elements the last nest has in a call.

    """

    holder: ClassVar[type[Node]] = Each

    order: PatchOrder
    extent: Bound

    @property
    def patches(self) -> Bound:
        """How many patches there are."""
        return PatchBound("patches", self.order)

    def has_enough(self, size: Bound | int) -> Bound:
        """Return 1 in calls with lists whose patches of some size are half full, 0 in others."""
        room = maximum(multiply(self.patches, size), Const(1))
        full = floor_divide(multiply(maximum(self.extent, Const(0)), 2), room)
        return multiply(minimum(full, Const(1)), minimum(self.patches, Const(1)))

    def problems(self) -> Iterator[tuple[Node, str]]:
        """Yield what is wrong with the lists."""
        count = len(self.order.members)
        for place, member in enumerate(self.order.members):
            if any(filler >= place for filler, _ in member.readings):
                yield self, f"has a list {place} that reads what no list before it fills"
        if any(not 0 <= each.elements < count for each in nodes_of(self, Each)):
            yield self, f"has none of its {count} lists for a loop"


def groups_of(node: Node | Kernel) -> Iterator[NestGroup]:
    """Yield the groups below a node and itself, of a choice those of `then` first."""
    if isinstance(node, NestGroup):
        yield node
        return
    for child in children(node):
        yield from groups_of(child)
