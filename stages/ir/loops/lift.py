"""Turn lists of nests and of groups into a tree, for passes that make lists; `flat.py` goes back.

`lift(flat(tree)) == tree`, and `flat(lift(kernel)) == kernel`, also of a kernel between two passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TypeAlias

import attrs

from .. import flat_kernel, nest_groups, nests
from .cpu import CpuMarks, Member, Portions, Tiles
from .gpu import Columns, GpuMarks, Landing, Load, Long, Patches, Rows
from .kernel import Choice, Group, Kernel, Node, Step, in_order
from .nest import Each, Marks, Nest, NestLoop
from .traverse import arrays_of

Cover: TypeAlias = nest_groups.Patches | nest_groups.Portions


def lift(kernel: flat_kernel.Kernel) -> Kernel:
    """Return the tree of a kernel of lists."""
    boxes = {nest.statement: nest.guard for nest in kernel.nests}
    groups = tuple(Group(of, boxes.get(number, ())) for number, of in enumerate(kernel.members))
    steps = tuple(
        Step(statement, in_order(*nodes)) for statement, nodes in _Lifting(kernel).steps()
    )
    return Kernel(
        kernel.name, kernel.scalars, kernel.buffers, groups, steps, kernel.slots, kernel.notes
    )


class _Lifting:
    def __init__(self, kernel: flat_kernel.Kernel) -> None:
        self.kernel = kernel
        self.on_gpu = any(
            nest.block or any(loop.kind == "thread" for loop in nest.loops) for nest in kernel.nests
        )
        self.nests = [self._nest(nest) for nest in kernel.nests]
        covers: tuple[Cover, ...] = (*kernel.patches, *kernel.portions)
        self.covers = {each.first: each for each in covers}
        self.tilings = {each.first: each for each in kernel.tilings}
        self.together = {each.first: each for each in kernel.together}
        self.instead = {each.first: each for each in kernel.instead}

    def steps(self) -> Iterator[tuple[int, list[Node]]]:
        """Yield the nodes of each statement."""
        nodes = self._nodes(0, len(self.nests))
        for statement, several in groupby(nodes, key=lambda pair: self._statement(pair[0])):
            yield statement, [node for _, node in several]

    def _statement(self, number: int) -> int:
        return self.kernel.statement_of(self.kernel.nests[number])

    def _nodes(self, first: int, stop: int, inside: bool = False) -> Iterator[tuple[int, Node]]:
        """Yield the nodes of nests `first:stop`, each with the number of its first nest."""
        while first < stop:
            number = first
            node: Node
            if not inside and first in self.covers:
                node, first = self._covered(self.covers[first])
            elif first in self.instead:
                each = self.instead[first]
                node = Choice(
                    each.when, self.nests[each.nest], self._seq(first, each.nest), each.reason
                )
                first = each.nest + 1
            elif first in self.together:
                node, first = self._together(self.together[first]), self.together[first].stop
            elif first in self.tilings:
                node, first = self._tiles(self.tilings[first]), self.tilings[first].stop
            else:
                node, first = self.nests[first], first + 1
            yield number, node

    def _seq(self, first: int, stop: int) -> Node:
        return in_order(*self.nests[first:stop])

    def _nest(self, nest: nests.Nest) -> Nest:
        loops = tuple(
            NestLoop(each.kind, each.range, each.backward, each.step) for each in nest.loops
        )
        marks: Marks
        if self.on_gpu:
            marks = GpuMarks(
                nest.block, nest.each, nest.blocks, nest.unaligned, nest.shares_reciprocals,
                nest.ahead, nest.asked,
            )  # fmt: skip
        else:
            marks = CpuMarks(
                nest.marching, nest.streams, nest.ahead, nest.asked, nest.usual, nest.slides
            )
        return Nest(
            nest.statement, loops, nest.body, nest.reason, nest.reads, nest.parts, nest.states,
            None if marks in (CpuMarks(), GpuMarks()) else marks,
        )  # fmt: skip

    def _tiles(self, tiling: nest_groups.Tiling) -> Tiles:
        members = []
        for number in range(tiling.first, tiling.stop):
            own = {each.range.dim: each.margin for each in self.kernel.nests[number].loops}
            margins = tuple(own[dim] or (0, 0) for dim in tiling.dims)
            members.append(Member(self.nests[number], margins))
        touched = {name for member in members for name in arrays_of(member)}
        arrays = [b.name for b in self.kernel.buffers if b.memory == "tile" and b.name in touched]
        return Tiles(
            tiling.cuts, tuple(arrays), tuple(members), tiling.reason, tiling.rolled,
            self.kernel.threads,
        )  # fmt: skip

    def _together(self, scans: nest_groups.Together) -> Choice:
        own = tuple(self.nests[scans.first : scans.stop])
        load: Load | None = None
        if scans.landed:
            load = Landing(scans.rounds, scans.ahead, scans.landed)
        elif scans.tiles:
            load = Rows(scans.columns, scans.first_level, scans.pitch, scans.tiles)
        then = attrs.evolve(scans.node, scans=own, load=load)
        otherwise: Node = in_order(*own)
        if (each := scans.blocked) is not None:
            load = Long(each.levels, each.rest, each.outside)
            otherwise = Columns(
                scans.arrays, each.threads, each.needed, each.most, own, load, scans.blocks
            )
        return Choice(then.fits, then, otherwise, scans.reason)

    def _covered(self, cover: Cover) -> tuple[Choice, int]:
        """Return nests that hand arrays on, as patches and one by one, and where they end.

        The nests between them that are no members run in both cases.
        """
        first = cover.first
        joint = [
            each.nest + 1 for first_, each in self.instead.items() if first <= first_ < cover.stop
        ]
        stop = max([cover.stop, *joint])
        nodes = list(self._nodes(first, stop, inside=True))
        then: Portions | Patches
        if isinstance(cover, nest_groups.Portions):
            pairs = enumerate(zip(cover.members, cover.asked, strict=True))
            loops = (Each(place, self.nests[number], asked=own) for place, (number, own) in pairs)
            then = attrs.evolve(cover.node, loops=tuple(loops))
        else:
            then = attrs.evolve(cover.node, body=in_order(*self._loops(cover.loops)))
        others = (node for number, node in nodes if number not in cover.members)
        otherwise = in_order(*(node for _, node in nodes))
        return Choice(then.fits, in_order(then, *others), otherwise, cover.reason), stop

    def _loops(self, loops: Iterable[nest_groups.PatchLoop]) -> Iterator[Node]:
        pending = list(loops)
        while pending:
            loop = pending.pop(0)
            if loop.part == "all":
                yield self._each(loop)
                continue
            rest = pending.pop(0)
            joint = in_order(
                attrs.evolve(self._each(loop), part="owned"),
                attrs.evolve(self._each(rest), part="rest"),
            )
            if pending and pending[0].part == "apart":
                apart = in_order(self._each(rest), self._each(pending.pop(0)))
                yield Choice(loop.joint, joint, apart)
            else:
                yield joint

    def _each(self, loop: nest_groups.PatchLoop) -> Each:
        return Each(loop.elements, self._nest(loop.nest))
