"""Put one nest into a state: its loops as maps and loop regions, its instructions as tasklets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ....runtime.language import Dimension
from ...ir.loops import Const, Instruction, Load, NestLoop, Range, Row, Store
from ...ir.loops.gpu import marks_of
from ..rows import NAMELESS
from .arrangement import free_loops, needs_guard, on_threads, shared_by_parts, without_loop
from .names import STATUS, GuardedStop
from .options import GridOptions
from .rooms import Build, Room, loop_region
from .tasklet import SdfgNest
from .tasklet_nodes import add_column, add_first_states, add_rows


class NestBuilder:
    """Adds one nest to rooms.

    Inside a loop over rows, `row` is the dimension of that loop and the name of its index; `around`
    are those of loops over planes.
    """

    def __init__(
        self,
        build: Build,
        number: int,
        row: tuple[Dimension, str] | None = None,
        around: Mapping[Dimension, str] = MappingProxyType({}),
    ) -> None:
        self.build = build
        nest = build.names.nests[number]
        self.guard = () if row else build.names.guard(nest)
        self.shared = shared_by_parts(nest) if build.grid else frozenset[Row]()
        if row:
            nest = without_loop(nest, row[0])
        elif build.grid:
            nest = on_threads(nest)
        self.nest = nest
        self.indices = {
            **around,
            **{loop.range.dim: build.names.loop(loop) for loop in nest.loops},
        }
        self.indices |= [row] if row else []
        self.own = SdfgNest(build, number, nest, self.indices, row[0] if row else None)
        self.guarded = needs_guard(nest, self.guard)
        self.depth = len(nest.loops)

    def add_to(self, room: Room) -> None:
        """Add the nest to a state."""
        room.begin_nest()
        is_alone = self.build.grid is not None and not free_loops(self.nest)
        if is_alone or (self.guarded and (not self.nest.loops or self._rows(0))):
            number = self.build.dace.symbolic.pystr_to_symbolic
            # 1 where the guard of the nest is not empty, else 0
            guard = GuardedStop(Const(0), Const(1), self.guard)
            count = self.build.end(room.sdfg, guard) if self.guarded else number("1")
            room = self._map(room, "once", [("i_once", (number("0"), count))], 0)
        self._descend(room, 0)

    # --- loops ----------------------------------------------------------------------------------

    def _descend(self, room: Room, level: int) -> None:
        """Add the instructions and loops inside `level` loops."""
        if level == self.depth:
            self._within(room, level, 0)
            return
        self._block(room, self._rows(level))
        if self.nest.loops[level].kind == "sequential":
            self._sequence(room, level)
            return
        last = level + 1
        while (last < self.depth and not self._rows(last)
               and self.nest.loops[last].kind != "sequential"):  # fmt: skip
            last += 1
        loops = self.nest.loops[level:last]
        label = "_".join([f"nest{self.own.number}", *(self._index(each) for each in loops)])
        for part, range_ in enumerate(self._parts(last)):
            ranges = [(self._index(each), self._ends(room, each)) for each in loops]
            if range_ is not None:
                ranges[-1] = (ranges[-1][0], self._range(room, range_))
            inner = self._map(room, label, ranges, level, [each.step for each in loops])
            inner.maps[-1][0].map.collapse = max(1, sum(each.kind == "parallel" for each in loops))
            self._within(inner, last, part)
            inner.hang(inner.maps[-1][0], 2)

    def _index(self, loop: NestLoop) -> str:
        return self.indices[loop.range.dim]

    def _parts(self, level: int) -> tuple[Range | None, ...]:
        """Return the ranges of the last of `level` loops; None is its own."""
        return self.nest.parts if level == self.depth and self.nest.parts else (None,)

    def _within(self, room: Room, level: int, part: int) -> None:
        """Add what stands inside `level` loops, of which the last is one for a part."""
        column = self.build.names.columns.get(self.own.number)
        if level == self.depth and column is not None:
            add_column(self.own, room, column)
        elif level == self.depth:
            self._block(room, self._rows(level, part))
        else:
            self._descend(room, level)

    def _map(
        self,
        room: Room,
        label: str,
        ranges: Sequence[Any],
        level: int,
        steps: Sequence[int] = (1,),
    ) -> Room:
        """Return the room inside a map over ranges; `steps` are the indices its body works for."""
        dace, grid = self.build.dace, self.build.grid
        outer = level == 0 and not room.maps and not room.nested
        kinds = dace.ScheduleType
        shared = kinds.CPU_Multicore if grid is None else kinds.GPU_Device
        entry, exit_ = room.state.add_map(
            label,
            {
                name: dace.subsets.Range([(first, stop - 1, step)])
                for (name, (first, stop)), step in zip(ranges, steps, strict=True)
            },
            schedule=shared if outer else kinds.Sequential,
        )
        if outer and grid is not None:
            self._choose_threads(entry.map, grid, len(ranges), label == "once")
        return room.inside(entry, exit_)

    def _choose_threads(self, kernel: Any, grid: GridOptions, loops: int, is_alone: bool) -> None:
        """Choose the threads of a block, and what the compiler is told about them."""
        block = grid.block(loops, is_scan=bool(self.nest.states))
        if own := marks_of(self.nest).block:  # of a copy around scans, see `gpu/beside.py`
            block = (*own, 1)
        if is_alone:
            block = (1, 1, 1)
        kernel.gpu_block_size = list(block)
        if bounds := grid.bounds(block):
            kernel.gpu_launch_bounds = bounds
        if grid.most_registers:
            kernel.gpu_maxnreg = grid.most_registers

    def _sequence(self, room: Room, level: int) -> None:
        """Add a sequential loop, in a nested SDFG."""
        loop, dace = self.nest.loops[level], self.build.dace
        inner = dace.SDFG(f"levels{self.own.number}_{level}")
        used = self._used_below(level)
        known = {row: name for row, (name, _, _) in room.known.items() if row in used}
        for row, name in known.items():
            inner.add_scalar(name, self.build.type(self.nest.body[row].dtype))
        previous = inner.add_state("first", is_start_block=True)
        if level == self.depth - 1:
            add_first_states(self.own, room.within(inner, previous, known))
        index = self._index(loop)
        self.build.symbol(inner, index)  # else DaCe would guess its type from the start
        for part, range_ in enumerate(self._parts(level + 1)):
            start, stop = self._range(room, range_) if range_ else self._ends(room, loop)
            region = loop_region(
                f"along_{index}_{part}", index, start, stop, backward=loop.backward
            )
            inner.add_node(region)
            inner.add_edge(previous, region, dace.InterstateEdge())
            body = region.add_state(f"level_{part}", is_start_block=True)
            self._within(room.within(inner, body, known), level + 1, part)
            previous = region
        join(room, inner, self._rows_inside(level), known)

    # --- ranges ---------------------------------------------------------------------------------

    def _range(self, room: Room, range_: Range) -> tuple[Any, Any]:
        return self.build.end(room.sdfg, range_.start), self.build.end(room.sdfg, range_.stop)

    def _ends(self, room: Room, loop: NestLoop) -> tuple[Any, Any]:
        start, stop = self._range(room, loop.range)
        if loop is self.nest.loops[0] and self.guarded and not self._rows(0):
            guard = GuardedStop(loop.range.start, loop.range.stop, self.guard)
            stop = self.build.end(room.sdfg, guard)
        return start, stop

    # --- instructions ---------------------------------------------------------------------------

    def _rows(self, level: int, part: int = 0) -> list[Row]:
        """Return the named instructions inside `level` loops, for one part of the innermost."""
        return [
            number
            for number, row in enumerate(self.nest.body)
            if row.level == level
            and (level < self.depth or row.part == part or number in self.shared)
            and not isinstance(row, NAMELESS)
        ]

    def _rows_inside(self, level: int) -> list[Instruction]:
        return [row for row in self.nest.body if row.level > level]

    def _used_below(self, level: int) -> set[Row]:
        """Return the rows that more than `level` loops, or the states of a scan, use."""
        used = {arg for row in self._rows_inside(level) for arg in row.operands}
        return used | {row for _, row in self.nest.states}

    def _block(self, room: Room, rows: Sequence[Row]) -> None:
        """Add rows that stand at one place; the loops inside it read some of their values."""
        level = self.nest.body[rows[0]].level if rows else self.depth
        used = self._used_below(level) if level < self.depth else set()
        exports = [
            row for row in rows if row in used and not isinstance(self.nest.body[row], Store)
        ]
        add_rows(self.own, room, rows, exports)


def join(room: Room, inner: Any, body: Sequence[Instruction], known: Mapping[Row, str]) -> None:
    """Join a nested SDFG, in which the rows of `body` stand, with the state around it."""
    build = room.build
    reads, writes = (
        {build.names.data[row.buffer] for row in body if isinstance(row, kind)}
        for kind in (Load, Store)
    )
    given = [name for name in inner.arrays if not inner.arrays[name].transient]
    held = {name: row for row, name in known.items()}
    inputs = [name for name in given if name in reads or name not in writes]
    outputs = [name for name in given if name in writes or name == STATUS]
    free = sorted(inner.free_symbols - set(inner.arrays))
    params = {name for entry, _ in room.maps for name in entry.map.params}
    for name in free:
        build.symbol(inner, name)
        if name not in params or room.nested:
            build.symbol(room.sdfg, name)
    node = room.state.add_nested_sdfg(
        inner,
        dict.fromkeys(inputs),
        dict.fromkeys(outputs),
        {name: build.dace.symbolic.pystr_to_symbolic(name) for name in free},
    )
    for name in inputs:
        if name in held:
            room.feed_row(node, name, held[name])
        else:
            room.feed(node, name, name)
    room.hang(node)
    for name in outputs:
        room.store(node, name, name)
