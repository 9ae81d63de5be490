"""Put one nest into a state: its loops as maps and loop regions, its instructions as tasklets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from ....runtime.language.dimension import Dimension
from ...ir.bounds import Bound, Const, Range
from ...ir.loops.gpu import marks_of
from ...ir.loops.nest import Load, NestLoop, Row, Store
from .arrangement import inside, needs_guard
from .columns import add_column
from .grid import ONE_THREAD, Grid, free_loops, on_threads, shared_by_parts
from .names import STATUS, GuardedStop, SdfgNames
from .rooms import Room, loop_region
from .tasklet import NAMELESS, BlockWriter, Style, Subsets
from .tasklet_nodes import TaskletNodes

# A number of threads that no machine has marks each nest in DaCe's text.
MARK: Final = 100_000


class NestBuilder:
    """Adds one nest to rooms; `functions` are those that its tasklets call.

    With a `grid` its maps are kernels of a GPU. Inside a loop over rows, `row` is the dimension of
    that loop and the name of its index; `around` are those of loops over planes.
    """

    def __init__(
        self,
        names: SdfgNames,
        number: int,
        style: Style,
        tests: dict[tuple[int, str], int],
        grid: Grid | None = None,
        row: tuple[Dimension, str] | None = None,
        around: Mapping[Dimension, str] = MappingProxyType({}),
    ) -> None:
        self.names = names
        self.number = number
        self.grid = grid
        nest = names.nests[number]
        self.guard = () if row else names.guard(nest)
        self.shared = shared_by_parts(nest) if grid else frozenset[Row]()
        self.nest = nest = inside(nest, row[0]) if row else on_threads(nest) if grid else nest
        self.indices = {**around} | {loop.range.dim: names.loop(loop) for loop in nest.loops}
        if row is not None:
            self.indices |= [row]
        writer = BlockWriter(names, nest, style, self.indices, tests)
        subsets = Subsets(names, self.indices, row[0] if row else None)
        self.tasklets = TaskletNodes(
            names, number, nest, self.indices, writer, subsets, is_for_cpu=grid is None
        )
        self.guarded = needs_guard(nest, self.guard)

    @property
    def functions(self) -> dict[str, str]:
        """The C++ functions that the tasklets call, by name."""
        return self.tasklets.functions

    @property
    def depth(self) -> int:
        """The number of loops."""
        return len(self.nest.loops)

    def build(self, room: Room) -> None:
        """Add the nest to a state."""
        room.begin_nest()
        room.known.clear()
        is_alone = self.grid is not None and not free_loops(self.nest)
        if is_alone or (self.guarded and (not self.nest.loops or self._rows(0))):
            number = room.dace.symbolic.pystr_to_symbolic
            count = self._guard_count(room) if self.guarded else number("1")
            once = self._map(room, "once", [("i_once", (number("0"), count))], 0)
            self._descend(room.inside(*once), 0)
        else:
            self._descend(room, 0)

    # --- loops ----------------------------------------------------------------------------------

    def _descend(self, room: Room, level: int) -> None:
        """Add the instructions and loops inside `level` loops."""
        if level == self.depth:
            self._innermost(room)
            return
        self._block(room, self._rows(level))
        loop = self.nest.loops[level]
        if loop.kind == "sequential":
            self._sequence(room, level)
            return
        last = level + 1
        while last < self.depth and not self._rows(last) and self._joins(last):
            last += 1
        innermost = last == self.depth
        parts = self.nest.parts if innermost and self.nest.parts else (None,)
        for part, range_ in enumerate(parts):
            loops = self.nest.loops[level:last]
            ranges = [(self.indices[each.range.dim], self._ends(room, each)) for each in loops]
            if range_ is not None:
                ranges[-1] = (ranges[-1][0], self._range(room, range_))
            steps = [each.step for each in loops]
            entry, exit_ = self._map(room, self._label(loops), ranges, level, steps)
            entry.map.collapse = max(1, sum(each.kind == "parallel" for each in loops))
            inner = room.inside(entry, exit_)
            if innermost:
                self._innermost(inner, part)
            else:
                self._descend(inner, last)
            self._close(inner)

    def _innermost(self, room: Room, part: int = 0) -> None:
        """Add what stands inside all loops."""
        if column := self.names.columns.get(self.number):
            add_column(room, self.tasklets, column)
        else:
            self._block(room, self._rows(self.depth, part))

    def _joins(self, level: int) -> bool:
        return self.nest.loops[level].kind != "sequential"

    def _label(self, loops: Sequence[NestLoop]) -> str:
        return "_".join([f"nest{self.number}", *(self.indices[each.range.dim] for each in loops)])

    def _map(
        self,
        room: Room,
        label: str,
        ranges: Sequence[Any],
        level: int,
        steps: Sequence[int] = (1,),
    ) -> tuple[Any, Any]:
        """Add a map over ranges; `steps` are how many indices the body works for."""
        dace = room.dace
        pairs = zip(ranges, steps, strict=True)
        outer = level == 0 and not room.maps and not room.nested
        kinds = dace.ScheduleType
        entry, exit_ = room.state.add_map(
            label,
            {
                name: dace.subsets.Range([(first, stop - 1, step)])
                for (name, (first, stop)), step in pairs
            },
            schedule=self._schedule(kinds) if outer else kinds.Sequential,
        )
        if outer and self.grid is None:
            entry.map.omp_num_threads = MARK + self.number
        elif outer:
            self._choose_threads(entry.map, len(ranges), label == "once")
        return entry, exit_

    def _schedule(self, kinds: Any) -> Any:
        return kinds.CPU_Multicore if self.grid is None else kinds.GPU_Device

    def _choose_threads(self, kernel: Any, loops: int, is_alone: bool) -> None:
        """Choose the threads of a block, and what the compiler is told about them."""
        assert self.grid is not None
        block = self.grid.block(loops, is_scan=bool(self.nest.states))
        if own := marks_of(self.nest).block:  # of a copy around scans, see `gpu/beside.py`
            x, y, z = (*own, 1)
            block = (x, y, z)
        block = ONE_THREAD if is_alone else block
        kernel.gpu_block_size = list(block)
        if bounds := self.grid.bounds(block):
            kernel.gpu_launch_bounds = bounds
        if self.grid.registers:
            kernel.gpu_maxnreg = self.grid.registers

    def _close(self, room: Room) -> None:
        """Join a map that reads nothing with the one around it."""
        entry = room.maps[-1][0]
        if len(room.maps) > 1 and not room.state.in_degree(entry):
            room.state.add_nedge(room.maps[-2][0], entry, room.dace.Memlet())

    def _sequence(self, room: Room, level: int) -> None:
        """Add a sequential loop, in a nested SDFG."""
        loop = self.nest.loops[level]
        dace = room.dace
        inner = dace.SDFG(f"levels{self.number}_{level}")
        known = self._known_inside(room, level)
        for row, name in known.items():
            inner.add_scalar(name, room.describe.type(self.nest.body[row].dtype))
        state = inner.add_state("first", is_start_block=True)
        if level == self.depth - 1:
            self.tasklets.add_first_states(room.within(inner, state, known))
        previous = state
        index = self.indices[loop.range.dim]
        room.describe.symbol(inner, index)  # else DaCe would guess its type from the start
        innermost = level == self.depth - 1
        parts = self.nest.parts if innermost and self.nest.parts else (None,)
        for part, range_ in enumerate(parts):
            start, stop = self._ends(room, loop) if range_ is None else self._range(room, range_)
            label = f"along_{index}_{part}"
            region = loop_region(label, index, start, stop, backward=loop.backward)
            inner.add_node(region)
            inner.add_edge(previous, region, dace.InterstateEdge())
            body = region.add_state(f"level_{part}", is_start_block=True)
            step = room.within(inner, body, known)
            if innermost:
                self._innermost(step, part)
            else:
                self._descend(step, level + 1)
            previous = region
        self.join(room, inner, self._rows_inside(level), known)

    def join(self, room: Room, inner: Any, body: Sequence[Any], known: Mapping[Row, str]) -> None:
        """Join a nested SDFG, in which the rows of `body` stand, with the state around it."""
        dace, state = room.dace, room.state
        rows = [row for row in body if isinstance(row, Load | Store)]
        reads = {self.names.data[row.buffer] for row in rows if isinstance(row, Load)}
        writes = {self.names.data[row.buffer] for row in rows if isinstance(row, Store)}
        given = [name for name in inner.arrays if not inner.arrays[name].transient]
        held = {name: row for row, name in known.items()}
        inputs = [name for name in given if name in reads or name not in writes]
        outputs = [name for name in given if name in writes or name == STATUS]
        free = sorted(inner.free_symbols - set(inner.arrays))
        for name in free:
            room.describe.symbol(inner, name)
        params = {name for entry, _ in room.maps for name in entry.map.params}
        for name in free:
            if name not in params or room.nested:
                room.describe.symbol(room.sdfg, name)
        node = state.add_nested_sdfg(
            inner,
            dict.fromkeys(inputs),
            dict.fromkeys(outputs),
            {name: dace.symbolic.pystr_to_symbolic(name) for name in free},
        )
        for name in inputs:
            if name in held:
                room.feed_row(node, name, held[name])
            else:
                room.feed(node, name, name, room.describe.whole(room.sdfg, name))
        room.hang(node)
        for name in outputs:
            room.store(node, name, name, room.describe.whole(room.sdfg, name))

    # --- ranges ---------------------------------------------------------------------------------

    def _expression(self, room: Room, bound: Bound | GuardedStop) -> Any:
        return room.describe.end(room.sdfg, bound)

    def _guard_count(self, room: Room) -> Any:
        """Return 1 where the guard of the nest is not empty, else 0."""
        return self._expression(room, GuardedStop(Const(0), Const(1), self.guard))

    def _range(self, room: Room, range_: Range) -> tuple[Any, Any]:
        return self._expression(room, range_.start), self._expression(room, range_.stop)

    def _ends(self, room: Room, loop: NestLoop) -> tuple[Any, Any]:
        start, stop = self._range(room, loop.range)
        if loop is self.nest.loops[0] and self.guarded and not self._rows(0):
            guard = GuardedStop(loop.range.start, loop.range.stop, self.guard)
            stop = self._expression(room, guard)
        return start, stop

    # --- instructions ---------------------------------------------------------------------------

    def _rows(self, level: int, part: int = 0) -> list[Row]:
        """Return the named instructions inside `level` loops, for one part of the innermost."""
        inside = level == self.depth
        return [
            number
            for number, row in enumerate(self.nest.body)
            if row.level == level
            and (not inside or row.part == part or number in self.shared)
            and not isinstance(row, NAMELESS)
        ]

    def _rows_inside(self, level: int) -> list[Any]:
        return [row for row in self.nest.body if row.level > level]

    def _used_below(self, level: int) -> set[Row]:
        """Return the rows that more than `level` loops, or the states of a scan, use."""
        used = {arg for row in self._rows_inside(level) for arg in row.operands}
        if level < self.depth:
            used |= {row for _, row in self.nest.states}
        return used

    def _known_inside(self, room: Room, level: int) -> dict[Row, str]:
        used = self._used_below(level)
        return {row: name for row, (name, _, _) in room.known.items() if row in used}

    def _block(self, room: Room, rows: Sequence[Row]) -> None:
        """Add rows that stand at one place; the loops inside it read some of their values."""
        level = self.nest.body[rows[0]].level if rows else self.depth
        used = self._used_below(level) if level < self.depth else set()
        exports = [
            row for row in rows if row in used and not isinstance(self.nest.body[row], Store)
        ]
        self.tasklets.add(room, rows, exports)
