"""Verify the rules of the loop IR; a violation is a bug of a pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ....runtime.language.dimension import Dimension
from .column import Column
from .cpu import CpuMarks, Member, Portions, Tiles
from .gpu import Columns, GpuMarks, Patches
from .kernel import Choice, Kernel, Loop, Node, steps_of
from .nest import Each, InPatches, Nest, Store
from .traverse import arrays_of, children, nests_of, touches, walk
from .verify_rows import row_problems

GROUPS: Final = (Tiles, InPatches, Columns)
ON_CPUS: Final = (Tiles, Portions, CpuMarks)
ON_GPUS: Final = (Columns, Patches, GpuMarks)
HOMES: Final[Mapping[type[Node], tuple[type[Node], ...]]] = {
    Member: (Tiles,),
    Each: (InPatches,),
}


def verify(kernel: Kernel) -> Kernel:
    """Return the kernel if it is well formed.

    Raises:
        ValueError: naming the nest, the row and the rule, or the group and the rule.

    """
    try:
        _Checks(kernel).run()
    except ValueError as error:
        raise ValueError(f"Kernel '{kernel.name}': {error}") from None
    return kernel


class _Checks:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.buffers = {buffer.name: buffer for buffer in kernel.buffers}
        self.nodes = tuple(walk(kernel))
        self.around: tuple[Dimension, ...] = ()  # of the loops around a node

    def run(self) -> None:
        """Check the kernel."""
        if len(self.buffers) != len(self.kernel.buffers):
            raise ValueError("two buffers have one name.")
        self._check_platform()
        self._check_owners()
        filled: set[str] = set()
        for step in self.kernel.steps:
            filled = self.follow(step, filled)

    def _check_platform(self) -> None:
        nests = [node for node in self.nodes if isinstance(node, Nest)]
        kinds = {loop.kind for nest in nests for loop in nest.loops}
        parts = (*self.nodes, *(nest.marks for nest in nests))
        on_cpu, on_gpu = (
            any(isinstance(part, own) for part in parts) for own in (ON_CPUS, ON_GPUS)
        )
        if (on_cpu and on_gpu) or {"vector", "thread"} <= kinds:
            raise ValueError("it has parts for a CPU and parts for a GPU.")

    def _check_owners(self) -> None:
        """Check that nests outside a group touch none of its arrays, but what runs in its place."""
        if not any(isinstance(node, GROUPS) for node in self.nodes):
            return
        everywhere = touches(self.kernel)
        for node in self.nodes:
            sides = (node.then, node.otherwise) if isinstance(node, Choice) else (node,)
            groups = [each for side in sides for each in steps_of(side) if isinstance(each, GROUPS)]
            if groups and (isinstance(node, Choice | Tiles)):
                here = touches(node)
                for name in {name for group in groups for name in group.arrays}:
                    if here[name] != everywhere[name]:
                        raise ValueError(f"a nest outside its group touches array '{name}'.")

    def follow(self, node: Node, filled: set[str], group: Node | None = None) -> set[str]:
        """Check a node; `filled` are the arrays stored before it on every path, and after it."""
        match node:
            case Nest() | Column():
                return self._check_code(node, filled)
            case Choice(then=then, otherwise=otherwise):
                sides = [self.follow(side, filled, group) for side in (then, otherwise)]
                once = arrays_of(then, Store) ^ arrays_of(otherwise, Store)
                fields = sorted(name for name in once if self.buffers[name].memory == "field")
                if fields:
                    raise ValueError(f"only one side of a choice stores {fields}.")
                return sides[0] & sides[1]
            case Tiles() | InPatches() | Columns():
                if group is not None:
                    raise ValueError(f"{self._name(node)} stands in {self._name(group)}.")
                self._check_group(node)
                group, own = node, set(node.arrays)
                return self._through(node, filled - own, group) - own
            case Loop() if isinstance(group, GROUPS):  # each turn has new arrays of the group
                own = set(group.arrays) & arrays_of(node, Store)
                return filled | self._through(node, filled - own, group)
            case Member() | Each() if not isinstance(group, HOMES[type(node)]):
                raise ValueError(f"{self._name(node)} stands in no group of its kind.")
        before = self.around
        if isinstance(node, Loop):
            self.around = (*before, node.range.dim)
        filled = self._through(node, filled, group)
        self.around = before
        return filled

    def _through(self, node: Node, filled: set[str], group: Node | None) -> set[str]:
        for child in children(node):
            filled = self.follow(child, filled, group)
        return filled

    def _check_group(self, group: Node) -> None:
        match group:
            case Tiles(cuts=cuts, members=members):
                dims = [cut.range.dim for cut in cuts]
                for member in members:
                    own = [loop.range.dim for loop in member.nest.loops]
                    if any(own.count(dim) != 1 for dim in dims) or len(member.margins) != len(dims):
                        raise ValueError(f"{self._name(member.nest)} does not walk each cut once.")
                    if any(loop.kind == "parallel" for loop in member.nest.loops):
                        raise ValueError(f"{self._name(member.nest)} shares loops inside of tiles.")
            case Columns(scans=scans):
                if len({nest.loops[:-1] for nest in scans}) != 1:
                    raise ValueError("scans of columns do not walk the same columns.")
            case InPatches():
                lists = len(group.order.members)
                for place, each in enumerate(group.order.members):
                    if any(filler >= place for filler, _ in each.readings):
                        raise ValueError(f"list {place} reads what no list before it fills.")
                loops = [each for each in walk(group) if isinstance(each, Each)]
                if any(not 0 <= each.elements < lists for each in loops):
                    raise ValueError(
                        f"a loop of {self._name(group)} has none of its {lists} lists."
                    )

    def _check_code(self, node: Nest | Column, filled: set[str]) -> set[str]:
        if not 0 <= node.group < len(self.kernel.groups):
            raise ValueError(f"{self._name(node)} is of group {node.group}, which there is not.")
        problems, after = row_problems(node, self.buffers, filled, self.around)
        for row, problem in problems:
            raise ValueError(f"{self._name(node)}, row %{row}: {problem}.")
        return after

    def _name(self, node: Node) -> str:
        if isinstance(node, Nest):
            return f"nest n{nests_of(self.kernel).index(node)}"
        return f"a '{type(node).__name__}'"
