"""Build the SDFG of a kernel: a state for each nest, in it one map around one tasklet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from ....runtime.language.dimension import Dimension
from ...ir.loops import Kernel, Load, Nest, Store
from .names import SDFG_NAME, Names, stored_type
from .tasklet import write_body


@attrs.frozen
class Graph:
    """An SDFG and the inline functions, by name, that its tasklets call."""

    sdfg: Any
    functions: tuple[tuple[str, str], ...]


def build_graph(kernel: Kernel, names: Names) -> Graph:
    """Return the SDFG of a kernel.

    The schedule is in it: the order of the states is that of the nests, arrays of the arena
    have the strides that they were given there.
    """
    builder = _Builder(names)
    previous = None
    for index, nest in enumerate(kernel.nests):
        state = builder.sdfg.add_state(f"nest{index}", is_start_block=previous is None)
        builder.fill(state, index, nest)
        if previous is not None:
            builder.sdfg.add_edge(previous, state, builder.dace.InterstateEdge())
        previous = state
    if previous is None:
        builder.sdfg.add_state("empty", is_start_block=True)
    return Graph(builder.sdfg, tuple(sorted(builder.functions.items())))


class _Builder:
    """The SDFG while states are added to it."""

    def __init__(self, names: Names) -> None:
        import dace

        self.dace: Any = dace
        self.names = names
        self.functions: dict[str, str] = {}
        self.sdfg: Any = dace.SDFG(SDFG_NAME)
        for buffer in names.touched():
            self._add_array(
                names.array(buffer.name), stored_type(buffer.dtype), names.strides(buffer)
            )
        for name, dtype in names.used_scalars():
            self.sdfg.add_scalar(name, self._type(dtype))

    def _add_array(self, name: str, dtype: str, strides: Sequence[str]) -> None:
        """Add an array that begins at index 0 of the domain; where it ends is nobody's business."""
        self.sdfg.add_array(
            name,
            [self._symbol(f"{name}e{axis}") for axis in range(len(strides))] or [1],
            self._type(dtype),
            strides=[1 if stride == "1" else self._symbol(stride) for stride in strides] or [1],
            total_size=self._symbol(f"{name}e"),
            may_alias=True,  # an output may be an input that is read at the same point only
        )

    def _type(self, dtype: str) -> Any:
        return getattr(self.dace, "bool" if dtype == "bool" else dtype)

    def _symbol(self, name: str) -> Any:
        # 64 bits: with fewer, products of indices and strides would wrap
        if name not in self.sdfg.symbols:
            self.sdfg.add_symbol(name, self.dace.int64)
        return self.dace.symbol(name, self.dace.int64)

    def fill(self, state: Any, index: int, nest: Nest) -> None:
        """Put what a nest does into a state."""
        body = write_body(nest)
        self.functions.update(body.functions)
        inputs = [name for name, _ in (*body.loads, *body.scalars)]
        tasklet = state.add_tasklet(
            f"nest{index}",
            dict.fromkeys(inputs),
            dict.fromkeys(name for name, _ in body.stores),
            body.text,
            language=self.dace.Language.CPP,
        )
        entry, exit_ = self._map(state, index, nest) if nest.loops else (None, None)
        subsets = _Subsets(self, index, nest)
        reads: dict[str, list[tuple[str, Any]]] = {}
        for connector, load in body.loads:
            reads.setdefault(load.buffer, []).append((connector, subsets.element(load)))
        for buffer, elements in reads.items():
            whole = subsets.box(load for _, load in body.loads if load.buffer == buffer)
            self._read(state, entry, tasklet, self.names.array(buffer), whole, elements)
        for connector, name in body.scalars:
            point = self.dace.subsets.Range([(0, 0, 1)])
            self._read(state, entry, tasklet, self.names.scalar(name), point, [(connector, point)])
        if entry is not None and not inputs:
            state.add_nedge(entry, tasklet, self.dace.Memlet())
        for connector, store in body.stores:
            element, whole = subsets.element(store), subsets.box([store])
            self._write(
                state, exit_, tasklet, self.names.array(store.buffer), whole, connector, element
            )

    def _map(self, state: Any, index: int, nest: Nest) -> tuple[Any, Any]:
        loops = range(len(nest.loops))
        ranges = {
            f"i{index}_{level}": self.dace.subsets.Range([self.bounds(index, level)])
            for level in loops
        }
        schedule = self.dace.ScheduleType.CPU_Multicore
        entry, exit_ = state.add_map(f"nest{index}", ranges, schedule=schedule)
        entry.map.collapse = max(1, sum(loop.kind == "parallel" for loop in nest.loops))
        return entry, exit_

    def bounds(self, index: int, level: int) -> tuple[Any, Any, int]:
        """Return first index, last index and step of a loop, as DaCe counts."""
        first, after = (self._symbol(f"{end}{index}_{level}") for end in ("lo", "hi"))
        return first, after - 1, 1

    def _read(
        self, state: Any, entry: Any, tasklet: Any, data: str, whole: Any, elements: Sequence[Any]
    ) -> None:
        """Join an array with a tasklet: one edge to the map, one from it for each element."""
        node, port = state.add_read(data), None
        if entry is not None:
            entry.add_in_connector(f"IN_{data}")
            entry.add_out_connector(f"OUT_{data}")
            state.add_edge(node, None, entry, f"IN_{data}", self._memlet(data, whole))
            node, port = entry, f"OUT_{data}"
        for connector, element in elements:
            state.add_edge(node, port, tasklet, connector, self._memlet(data, element))

    def _write(
        self, state: Any, exit_: Any, tasklet: Any, data: str, whole: Any, connector: str, at: Any
    ) -> None:
        node, port = state.add_write(data), None
        if exit_ is not None:
            exit_.add_in_connector(f"IN_{data}")
            exit_.add_out_connector(f"OUT_{data}")
            state.add_edge(exit_, f"OUT_{data}", node, None, self._memlet(data, whole))
            node, port = exit_, f"IN_{data}"
        state.add_edge(tasklet, connector, node, port, self._memlet(data, at))

    def _memlet(self, data: str, subset: Any) -> Any:
        return self.dace.Memlet(data=data, subset=self.dace.subsets.Range(subset.ranges))


class _Subsets:
    """What the accesses of one nest touch, as subsets of DaCe."""

    def __init__(self, builder: _Builder, index: int, nest: Nest) -> None:
        self.builder = builder
        self.index = index
        self.levels = {loop.range.dim: level for level, loop in enumerate(nest.loops)}
        self.dims: dict[str, tuple[Dimension, ...]] = {
            buffer.name: buffer.dims for buffer in builder.names.touched()
        }

    def element(self, access: Load | Store) -> Any:
        """Return the one element that an access touches in each iteration."""
        dace = self.builder.dace
        places = [
            dace.symbol(f"i{self.index}_{self.levels[dim]}", dace.int64) + offset
            for dim, offset in self._offsets(access)
        ]
        return dace.subsets.Range([(place, place, 1) for place in places] or [(0, 0, 1)])

    def box(self, accesses: Iterable[Load | Store]) -> Any:
        """Return what accesses of one buffer touch in all iterations."""
        columns = list(zip(*(self._offsets(access) for access in accesses), strict=True))
        ranges = []
        for column in columns:
            first, last, step = self.builder.bounds(self.index, self.levels[column[0][0]])
            offsets = [offset for _, offset in column]
            ranges.append((first + min(offsets), last + max(offsets), step))
        return self.builder.dace.subsets.Range(ranges or [(0, 0, 1)])

    def _offsets(self, access: Load | Store) -> list[tuple[Dimension, int]]:
        dims = self.dims[access.buffer]
        offsets = access.offsets if isinstance(access, Load) else (0,) * len(dims)
        return list(zip(dims, offsets, strict=True))
