"""Build the SDFG of a kernel: states of nests, with maps that contain tasklets or scans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....runtime.language import Dimension
from ....runtime.process import CodegenError
from ...ir.loops import (
    Column,
    Kernel,
    Loop,
    Nest,
    Node,
    Range,
    Seq,
    Step,
    Store,
    Tiles,
    accesses,
    bodies,
    children,
)
from .arrangement import needs_guard, touches_fields
from .loops import SdfgLoops
from .names import SDFG_NAME, THREAD, GuardedStop, OnlyStatement, TileCount
from .nests import NestBuilder, join
from .rooms import Build, Room, loop_region


def build_graph(loops: SdfgLoops, build: Build) -> Any:
    """Return the SDFG of loops; arrays of the arena are transients of one state or of several.

    States keep their order, because arguments of a call may share memory where the plan allows it.
    Where a call may run a single statement, its states stand in a block of their own.
    """
    sdfg = build.dace.SDFG(SDFG_NAME)
    only = build.symbol(sdfg, build.names.symbol(OnlyStatement())) if loops.steps else None
    first = 0
    states = _states(loops.kernel, _Blocks(build.dace, sdfg, only), build, loops.steps, {})
    for place, (node, inside, around) in enumerate(states):
        nests = [each.nest for each in node.members] if isinstance(node, Tiles) else [node]
        state = inside.state(_label(nests, place), _statement(node, loops.steps))
        room = Room(build, sdfg, state)
        numbers = range(first, first + len(nests))
        if isinstance(node, Tiles) and node.cuts:
            _add_rows(room, node, numbers)
        else:
            for number in numbers:
                NestBuilder(build, number, around=around).add_to(room)
        first += len(nests)
    if not first:
        sdfg.add_state("empty", is_start_block=True)
    return sdfg


def _states(
    node: Node | Kernel,
    blocks: _Blocks,
    build: Build,
    steps: Sequence[int],
    around: Mapping[Dimension, str],
) -> Iterator[tuple[Tiles | Column, _Blocks, Mapping[Dimension, str]]]:
    """Yield the nodes that become one state each, in order; add the loops around them.

    Each comes with what adds its state, and with the indices of the loops `around` it.
    """
    match node:
        case Tiles() | Column():
            yield node, blocks, around
        case Loop(range=range_, body=body, backward=backward):
            index, sdfg = build.names.plane(node), blocks.sdfg
            build.symbol(sdfg, index)  # else DaCe would guess its type from the start
            start, stop = build.end(sdfg, range_.start), build.end(sdfg, range_.stop)
            region = loop_region(f"along_{index}", index, start, stop, backward=backward)
            inside = blocks.inside(region, _statement(node, steps))
            yield from _states(body, inside, build, steps, {**around, range_.dim: index})
        case Kernel() | Step() | Seq():
            for each in children(node):
                yield from _states(each, blocks, build, steps, around)
        case _:
            raise CodegenError(f"DaCe's loops have no '{type(node).__name__}'.")


def _statement(node: Node, steps: Sequence[int]) -> int:
    """Return the number of the statement of a node, 0 if a call runs all."""
    return steps[next(bodies(node))[0]] if steps else 0


def _add_rows(room: Room, tiles: Tiles, numbers: Sequence[int]) -> None:
    """Add nests that run row by row to a state: a map over threads, each of which takes turns."""
    build, nests = room.build, [member.nest for member in tiles.members]
    dace, count = build.dace, build.names.symbol(TileCount(tiles.threads))
    inner = dace.SDFG(f"rows{numbers[0]}")
    _add_loop(room, inner, tiles.cuts[0].range, count, numbers)
    threads = build.symbol(room.sdfg, count)
    entry, exit_ = room.state.add_map(
        f"threads{numbers[0]}",
        {THREAD: dace.subsets.Range([(0, threads - 1, 1)])},
        schedule=dace.ScheduleType.CPU_Multicore,
    )
    join(room.inside(entry, exit_), inner, [row for nest in nests for row in nest.body], {})
    for node in room.state.data_nodes():
        buffer = build.names.buffers.get(node.data)
        if buffer is not None and buffer.memory == "arena":
            node.setzero = True  # rows write arrays before they read them, unseen by DaCe


def _add_loop(room: Room, inner: Any, row: Range, count: str, numbers: Sequence[int]) -> None:
    """Add the loop of one thread over its rows to an SDFG, with a state for each nest."""
    from dace.sdfg.state import LoopRegion

    build, names = room.build, room.build.names
    nests = [names.nests[number] for number in numbers]
    (loop,) = (each for each in nests[0].loops if each.range.dim is row.dim)
    index, guard = names.loop(loop), names.guard(nests[0])
    guarded = any(needs_guard(nest, guard) and touches_fields(names.kernel, nest) for nest in nests)
    stop = names.end(GuardedStop(row.start, row.stop, guard) if guarded else row.stop)
    for name in (index, count, THREAD):
        build.symbol(inner, name)
    around = LoopRegion(
        f"along_{index}", f"{index} < {stop}", index,
        f"{index} = {names.end(row.start)} + {THREAD}", f"{index} = {index} + {count}",
    )  # fmt: skip
    inner.add_node(around, is_start_block=True)
    blocks = _Blocks(build.dace, around)
    for number in numbers:
        inside = room.within(inner, blocks.state(f"nest{number}"), {})
        NestBuilder(build, number, (row.dim, index)).add_to(inside)


def _label(nests: Sequence[Nest | Column], place: int) -> str:
    """Name a state after the buffers that its nests write."""
    stored = [row.buffer for nest in nests for row in accesses(nest, Store)]
    fields = [name for name in dict.fromkeys(stored) if not name.startswith(("@", "%"))]
    words = "_".join("".join(c if c.isalnum() else "_" for c in name) for name in fields[:3])
    return f"state{place}_{words.encode('ascii', 'ignore').decode() or 'values'}"


class _Blocks:
    """Adds states in order; those of one statement in a block with a condition, if `only` is set.

    `only` is the symbol that is the number of a statement, or 0 for all.
    """

    def __init__(self, dace: Any, sdfg: Any, only: Any | None = None, region: Any = None) -> None:
        self.dace, self.sdfg, self.only = dace, sdfg, only
        self.region = sdfg if region is None else region
        self.statement = 0
        self.previous: dict[Any, Any] = {}  # the last block of each region

    def state(self, label: str, statement: int = 0) -> Any:
        """Add a state of a statement."""
        self._enter(statement)
        state = self.region.add_state(label, is_start_block=self.region not in self.previous)
        self._follows(self.region, state)
        return state

    def inside(self, loop: Any, statement: int) -> _Blocks:
        """Add a loop of a statement; return what adds states inside it."""
        self._enter(statement)
        self.region.add_node(
            loop, is_start_block=self.region not in self.previous, ensure_unique_name=True
        )
        self._follows(self.region, loop)
        return _Blocks(self.dace, self.sdfg, region=loop)

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
