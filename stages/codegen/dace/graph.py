"""Build the SDFG of a kernel: states of nests, with maps that contain tasklets or scans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from ....runtime.language.dimension import Dimension
from ...ir.loops.column import Column
from ...ir.loops.cpu import Tiles
from ...ir.loops.kernel import Kernel, Loop, Node, Seq, Step
from ...ir.loops.nest import Nest, Store
from ...ir.loops.traverse import accesses, bodies, children
from ..errors import CodegenError
from .arrangement import needs_guard, touches_fields
from .loops import SdfgLoops, SdfgRules
from .names import (
    SDFG_NAME,
    THREAD,
    GuardedStop,
    OnlyStatement,
    SdfgNames,
    TileCount,
)
from .nests import MARK, NestBuilder
from .rooms import Descriptors, Room, loop_region
from .tasklet import Style

ONLY: Final = OnlyStatement()


@attrs.frozen
class Graph:
    """An SDFG and the inline functions, by name, that its tasklets call.

    States keep their order, because arguments of a call may share memory where the plan allows it.
    """

    sdfg: Any
    functions: Mapping[str, str]


def build_graph(
    loops: SdfgLoops, rules: SdfgRules, names: SdfgNames, tests: Mapping[tuple[int, str], int]
) -> Graph:
    """Return the SDFG of loops; arrays of the arena are transients of one state or of several.

    `tests` are the tested stores, by group of stores and field. Where a call may run a single
    statement, its states stand in a block of their own. With a `grid` the maps are kernels of a
    GPU, and all arrays lie in its memory.
    """
    import dace

    sdfg: Any = dace.SDFG(SDFG_NAME)
    describe = Descriptors(dace, names, rules.grid is not None)
    functions: dict[str, str] = {}
    only = describe.symbol(sdfg, names.symbol(ONLY)) if loops.steps else None
    blocks = _Blocks(dace, sdfg, only)
    first = 0
    states = _states(loops.kernel, blocks, describe, loops.steps, {})
    for place, (node, inside, around) in enumerate(states):
        nests = [each.nest for each in node.members] if isinstance(node, Tiles) else [node]
        state = inside.state(_label(nests, place), _statement(node, loops.steps))
        room = Room(dace, sdfg, state, describe)
        if isinstance(node, Tiles) and node.cuts:
            functions |= _Rows(names, rules.style, node, first).add(room)
        else:
            for number in range(first, first + len(nests)):
                builder = NestBuilder(
                    names, number, rules.style, dict(tests), rules.grid, around=around
                )
                builder.build(room)
                functions |= builder.functions
        first += len(nests)
    if not first:
        sdfg.add_state("empty", is_start_block=True)
    return Graph(sdfg, functions)


def _states(
    node: Node | Kernel,
    blocks: _Blocks,
    describe: Descriptors,
    steps: Sequence[int],
    around: Mapping[Dimension, str],
) -> Iterator[tuple[Tiles | Column, _Blocks, Mapping[Dimension, str]]]:
    """Yield what is a state each, in order, with its place and the indices of loops `around`.

    These loops are added.
    """
    match node:
        case Tiles() | Column():
            yield node, blocks, around
        case Loop(range=range_, body=body, backward=backward):
            index, sdfg = describe.names.plane(node), blocks.sdfg
            describe.symbol(sdfg, index)  # else DaCe would guess its type from the start
            start, stop = describe.end(sdfg, range_.start), describe.end(sdfg, range_.stop)
            region = loop_region(f"along_{index}", index, start, stop, backward=backward)
            inside = blocks.inside(region, _statement(node, steps))
            yield from _states(body, inside, describe, steps, {**around, range_.dim: index})
        case Kernel() | Step() | Seq():
            for each in children(node):
                yield from _states(each, blocks, describe, steps, around)
        case _:
            raise CodegenError(f"DaCe's loops have no '{type(node).__name__}'.")


def _statement(node: Node, steps: Sequence[int]) -> int:
    """Return the number of the statement of a node, 0 if a call runs all."""
    return steps[next(bodies(node))[0]] if steps else 0


class _Rows:
    """Adds nests from number `first` on that run row by row: each thread takes rows in turn."""

    def __init__(self, names: SdfgNames, style: Style, tiles: Tiles, first: int) -> None:
        self.names, self.style, self.first = names, style, first
        self.nests = [member.nest for member in tiles.members]
        self.row = tiles.cuts[0].range
        self.count = names.symbol(TileCount(tiles.threads))

    def add(self, room: Room) -> dict[str, str]:
        """Add a map over threads to a state; return the functions that its tasklets call."""
        dace = room.dace
        inner = dace.SDFG(f"rows{self.first}")
        functions = self._loop(room, inner)
        threads = room.describe.symbol(room.sdfg, self.count)
        entry, exit_ = room.state.add_map(
            f"threads{self.first}",
            {THREAD: dace.subsets.Range([(0, threads - 1, 1)])},
            schedule=dace.ScheduleType.CPU_Multicore,
        )
        entry.map.omp_num_threads = MARK + self.first + len(self.nests) - 1
        NestBuilder(self.names, self.first, self.style, {}).join(
            room.inside(entry, exit_), inner, [row for nest in self.nests for row in nest.body], {}
        )
        for node in room.state.data_nodes():
            if self.names.own(node.data):
                node.setzero = True  # rows write arrays before they read them, unseen by DaCe
        return functions

    def _loop(self, room: Room, inner: Any) -> dict[str, str]:
        """Add the loop of one thread over its rows to an SDFG, with a state for each nest."""
        from dace.sdfg.state import LoopRegion

        names, row = self.names, self.row
        (loop,) = (each for each in self.nests[0].loops if each.range.dim is row.dim)
        index, guard = names.loop(loop), names.guard(self.nests[0])
        guarded = any(
            needs_guard(nest, guard) and touches_fields(names.kernel, nest) for nest in self.nests
        )
        stop = names.end(GuardedStop(row.start, row.stop, guard) if guarded else row.stop)
        for name in (index, self.count, THREAD):
            room.describe.symbol(inner, name)
        around = LoopRegion(
            f"along_{index}", f"{index} < {stop}", index,
            f"{index} = {names.end(row.start)} + {THREAD}", f"{index} = {index} + {self.count}",
        )  # fmt: skip
        inner.add_node(around, is_start_block=True)
        functions: dict[str, str] = {}
        previous = None
        for number in range(self.first, self.first + len(self.nests)):
            state = around.add_state(f"nest{number}", is_start_block=previous is None)
            if previous is not None:
                around.add_edge(previous, state, room.dace.InterstateEdge())
            previous = state
            builder = NestBuilder(names, number, self.style, {}, row=(row.dim, index))
            builder.build(room.within(inner, state, {}))
            functions |= builder.functions
        return functions


def _label(nests: Sequence[Nest | Column], place: int) -> str:
    """Name a state after the buffers that its nests write."""
    stored = [row.buffer for nest in nests for row in accesses(nest, Store)]
    fields = [name for name in dict.fromkeys(stored) if not name.startswith(("@", "%"))]
    words = "_".join("".join(c if c.isalnum() else "_" for c in name) for name in fields[:3])
    plain = words.encode("ascii", "ignore").decode()
    return f"state{place}_{plain or 'values'}"


class _Blocks:
    """Adds states in order; those of one statement in a block with a condition, if `only` is set.

    `only` is the symbol that is the number of a statement, or 0 for all.
    """

    def __init__(self, dace: Any, sdfg: Any, only: Any | None, region: Any = None) -> None:
        self.dace, self.sdfg, self.only = dace, sdfg, only
        self.region = sdfg if region is None else region
        self.statement = 0
        self.previous: dict[Any, Any] = {}  # the last block of each region

    def state(self, label: str, statement: int) -> Any:
        """Add a state of a statement."""
        self._enter(statement)
        state = self.region.add_state(label, is_start_block=self.region not in self.previous)
        self._follows(self.region, state)
        return state

    def inside(self, loop: Any, statement: int) -> _Blocks:
        """Add a loop of a statement; return what adds states inside it."""
        self._enter(statement)
        is_first = self.region not in self.previous
        self.region.add_node(loop, is_start_block=is_first, ensure_unique_name=True)
        self._follows(self.region, loop)
        return _Blocks(self.dace, self.sdfg, None, loop)

    def _enter(self, statement: int) -> None:
        if self.only is not None and statement != self.statement:
            self.region, self.statement = self._branch(statement), statement

    def _branch(self, statement: int) -> Any:
        """Add a block that runs in calls of all statements, or of this one."""
        from dace.properties import CodeBlock
        from dace.sdfg.state import ConditionalBlock, ControlFlowRegion

        block = ConditionalBlock(f"statement{statement}")
        self.sdfg.add_node(block, is_start_block=self.sdfg not in self.previous)
        self._follows(self.sdfg, block)
        region = ControlFlowRegion(f"inside{statement}", sdfg=self.sdfg)
        block.add_branch(CodeBlock(f"({self.only} == 0) or ({self.only} == {statement})"), region)
        return region

    def _follows(self, region: Any, block: Any) -> None:
        if region in self.previous:
            region.add_edge(self.previous[region], block, self.dace.InterstateEdge())
        self.previous[region] = block
