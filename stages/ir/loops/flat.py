"""Turn a tree into lists of nests and of groups, for writers that take lists.

Numbers of nests are their places in a walk that visits `otherwise` before `then`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from ....runtime.language.dimension import Dimension
from .. import flat_kernel, nest_groups, nests
from ..nests import ALWAYS
from .cpu import CpuMarks, Portions, Tiles
from .gpu import Columns, GpuMarks, Landing, Long, Patches, Rows
from .kernel import Choice, Kernel, Node, Seq
from .nest import Each, Nest
from .traverse import children


def flat(kernel: Kernel) -> flat_kernel.Kernel:
    """Return the lists of a tree.

    Raises:
        TypeError: for what lists cannot hold: columns and loops around nests.

    """
    made = _Flattening(kernel)
    for step in kernel.steps:
        made.add(step.body)
    return flat_kernel.Kernel(
        kernel.name, kernel.scalars, kernel.buffers, tuple(made.nests), kernel.slots,
        kernel.workspace, kernel.notes, tuple(made.tilings), made.threads, tuple(made.together),
        tuple(made.instead), tuple(made.patches), tuple(made.portions),
        tuple(group.statement for group in kernel.groups),
    )  # fmt: skip


class _Flattening:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.nests: list[nests.Nest] = []
        self.tilings: list[nest_groups.Tiling] = []
        self.together: list[nest_groups.Together] = []
        self.instead: list[nest_groups.Instead] = []
        self.patches: list[nest_groups.Patches] = []
        self.portions: list[nest_groups.Portions] = []
        self.threads = 1

    def add(self, node: Node) -> None:
        """Append what a node holds."""
        first = len(self.nests)
        match node:
            case Seq(steps=steps):
                for step in steps:
                    self.add(step)
            case Nest():
                self.nests.append(self._nest(node))
            case Tiles():
                self._tiles(node)
            case Choice(then=Nest()):
                self.add(node.otherwise)
                place = len(self.nests)
                self.instead.append(nest_groups.Instead(first, place, node.when, node.reason))
                self.add(node.then)
            case Choice(then=Columns() as columns):
                self._together(node, columns)
            case (
                Choice(then=Portions() | Patches() as cover)
                | Choice(then=Seq(steps=(Portions() | Patches() as cover, *_)))
            ):
                self.add(node.otherwise)
                if isinstance(cover, Portions):
                    self.portions.append(self._portions(cover, first, node.reason))
                else:
                    self.patches.append(self._patches(cover, first, node.reason))
            case _:
                raise TypeError(f"Lists of nests cannot hold a '{type(node).__name__}'.")

    def _nest(
        self, nest: Nest, margins: Mapping[Dimension, tuple[int, int]] | None = None
    ) -> nests.Nest:
        loops = tuple(
            nests.Loop(
                each.kind, each.range, each.backward, (margins or {}).get(each.range.dim), each.step
            )
            for each in nest.loops
        )
        made = nests.Nest(
            nest.group, loops, nest.body, self.kernel.groups[nest.group].box, nest.reason,
            nest.reads, nest.parts, nest.states,
        )  # fmt: skip
        match nest.marks:
            case CpuMarks() as marks:
                own = attrs.asdict(marks, recurse=False)
                return attrs.evolve(made, marching=own.pop("march"), **own)
            case GpuMarks() as marks:
                own = attrs.asdict(marks, recurse=False)
                shares = own.pop("reciprocals")
                return attrs.evolve(made, each=own.pop("points"), shares_reciprocals=shares, **own)
        return made

    def _tiles(self, tiles: Tiles) -> None:
        first = len(self.nests)
        dims = [cut.range.dim for cut in tiles.cuts]
        for each in tiles.members:
            self.nests.append(self._nest(each.nest, dict(zip(dims, each.margins, strict=True))))
        self.tilings.append(
            nest_groups.Tiling(first, len(self.nests), tiles.cuts, tiles.reason, tiles.rolled)
        )
        self.threads = tiles.threads

    def _together(self, choice: Choice, columns: Columns) -> None:
        first = len(self.nests)
        self.nests += [self._nest(nest) for nest in columns.scans]
        made = nest_groups.Together(
            first, len(self.nests), columns.arrays, columns.threads, columns.needed, columns.most,
            choice.reason, blocks=columns.blocks, keeps=columns.keeps,
        )  # fmt: skip
        match columns.load:
            case Landing(rounds=rounds, ahead=ahead, landed=landed):
                made = attrs.evolve(made, rounds=rounds, ahead=ahead, landed=landed)
            case Rows() as rows:
                made = attrs.evolve(made, **attrs.asdict(rows, recurse=False))
        match choice.otherwise:
            case Columns(load=Long() as long) as other:
                blocked = nest_groups.Blocked(
                    other.threads, long.levels, long.rest, long.outside, other.needed, other.most
                )
                made = attrs.evolve(made, blocked=blocked)
        self.together.append(made)

    def _members(self, arrays: tuple[str, ...], first: int) -> tuple[int, ...]:
        """Return the nests from `first` on that touch arrays, but those in place of others."""
        joint = {each.nest for each in self.instead}
        return tuple(
            number
            for number in range(first, len(self.nests))
            if number not in joint and not set(arrays).isdisjoint(_touched(self.nests[number]))
        )

    def _portions(self, each: Portions, first: int, reason: str) -> nest_groups.Portions:
        members = self._members(each.arrays, first)
        return nest_groups.Portions(
            members[0], members[-1] + 1, members, each.arrays,
            tuple(loop.asked for loop in each.loops), each.order, each.extent, each.levels,
            each.bytes, each.least, each.most, each.memory, each.cores, reason, each.slot,
        )  # fmt: skip

    def _patches(self, each: Patches, first: int, reason: str) -> nest_groups.Patches:
        members = self._members(each.arrays, first)
        return nest_groups.Patches(
            members[0], members[-1] + 1, members, each.arrays, each.order, each.levels, each.points,
            each.threads, each.blocks, each.extent, reason, tuple(self._loops(each.body)),
        )  # fmt: skip

    def _loops(self, body: Node) -> Iterator[nest_groups.PatchLoop]:
        steps = list(body.steps if isinstance(body, Seq) else (body,))
        while steps:
            step = steps.pop(0)
            if isinstance(step, Each) and step.part == "all":
                yield nest_groups.PatchLoop(self._nest(step.nest), step.elements)
                continue
            joint = step.when if isinstance(step, Choice) else ALWAYS
            pair = step.then if isinstance(step, Choice) else Seq((step, steps.pop(0)))
            owned, rest = (each for each in children(pair) if isinstance(each, Each))
            ours, theirs = owned.elements, rest.elements
            yield nest_groups.PatchLoop(self._nest(owned.nest), ours, "both", joint, theirs)
            yield nest_groups.PatchLoop(self._nest(rest.nest), theirs, "rest", joint, ours)
            if isinstance(step, Choice):
                _, apart = (each for each in children(step.otherwise) if isinstance(each, Each))
                yield nest_groups.PatchLoop(self._nest(apart.nest), ours, "apart", joint, theirs)


def _touched(nest: nests.Nest) -> set[str]:
    return {row.buffer for row in nest.body if isinstance(row, nests.Load | nests.Store)}
