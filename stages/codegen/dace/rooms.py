"""A place for nodes in an SDFG: a state, the maps around them, descriptors, values known there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....runtime.process import classes
from ...ir.bounds import Bound
from ..rows import Dialect
from .names import STATUS, GuardedStop, SdfgNames
from .options import GridOptions


@classes.frozen
class Build:
    """What the nests of one SDFG share: names, descriptors, the spelling of tasklets.

    Attributes:
        dace: the package.
        names: the names of the kernel.
        dialect: how the platform spells rows.
        tests: the number of each tested store, by group of stores and field.
        grid: how maps run on a GPU, in whose memory all arrays lie; None on a CPU.
        functions: by name, the C++ functions that tasklets call.

    """

    dace: Any
    names: SdfgNames
    dialect: Dialect
    tests: Mapping[tuple[int, str], int]
    grid: GridOptions | None
    functions: dict[str, str] = classes.field(factory=dict)

    def ensure(self, sdfg: Any, data: str, *, nested: bool) -> None:
        """Add the descriptor of `data` to an SDFG if it is missing.

        An array begins at index 0 of the domain; nothing depends on its end.
        """
        if data in sdfg.arrays:
            return
        storages = self.dace.StorageType
        storage = storages.Default if self.grid is None else storages.GPU_Global
        if data in self.names.buffers:
            buffer = self.names.buffers[data]
            strides = self.names.strides(buffer)
            sdfg.add_array(
                data,
                self._sizes(sdfg, data) or [1],
                self.stored(buffer.dtype),
                strides=[1 if each == "1" else self.symbol(sdfg, each) for each in strides] or [1],
                total_size=self.symbol(sdfg, f"{data}_size"),
                may_alias=True,  # an output may be an input that is read at the same point only
                transient=buffer.memory == "arena" and not nested,
                storage=storage,
            )
        elif data == STATUS:
            sdfg.add_array(data, [1], self.dace.int32, may_alias=True, storage=storage)
        else:
            sdfg.add_scalar(data, self.type(self.names.dtypes[data]))

    def _sizes(self, sdfg: Any, data: str) -> list[Any]:
        axes = range(len(self.names.buffers[data].dims) if data in self.names.buffers else 0)
        return [self.symbol(sdfg, f"{data}_{axis}_size") for axis in axes]

    def add_register(self, sdfg: Any, name: str, dtype: str) -> None:
        """Add a number that a thread keeps."""
        sdfg.add_scalar(
            name, self.type(dtype), transient=True, storage=self.dace.StorageType.Register
        )

    def whole(self, sdfg: Any, data: str) -> Any:
        """Return the range of all elements."""
        ranges = [(0, size - 1, 1) for size in self._sizes(sdfg, data)] or [(0, 0, 1)]
        return self.dace.subsets.Range(ranges)

    def type(self, dtype: str) -> Any:
        """Return DaCe's name of a type."""
        return getattr(self.dace, dtype)

    def stored(self, dtype: str) -> Any:
        """Return DaCe's name of the type of an element in memory."""
        return self.type("uint8" if dtype == "bool" else dtype)  # in memory a bool is a byte

    def symbol(self, sdfg: Any, name: str) -> Any:
        """Return a symbol, known to an SDFG."""
        # 64 bits, because products of indices and strides would wrap in fewer
        if name not in sdfg.symbols:
            sdfg.add_symbol(name, self.dace.int64)
        # made as DaCe makes those that it parses: other symbols of the same name differ from them
        return self.dace.symbolic.pystr_to_symbolic(name)

    def end(self, sdfg: Any, bound: Bound | GuardedStop) -> Any:
        """Return the start or stop of a loop, known to an SDFG."""
        if isinstance(bound, GuardedStop):
            return self.symbol(sdfg, self.names.symbol(bound))
        name, constant = self.names.bound(bound)
        number = self.dace.symbolic.pystr_to_symbolic(str(constant))
        return number if name is None else self.symbol(sdfg, name) + constant


@classes.define
class Room:
    """A state of an SDFG, and the maps that what is added stands in, outer to inner.

    `latest` are the nodes that hold what was written to data in the state, `read` those that are
    read from. `known` are rows of a nest: the data that holds them, the node if it stands in this
    state, and inside how many maps that is.
    """

    build: Build
    sdfg: Any
    state: Any
    nested: bool = False
    maps: tuple[tuple[Any, Any], ...] = ()
    known: dict[int, tuple[str, Any, int]] = classes.field(factory=dict)
    latest: dict[str, Any] = classes.field(factory=dict)
    read: dict[str, Any] = classes.field(factory=dict)
    written: dict[str, Any] = classes.field(factory=dict)

    def inside(self, entry: Any, exit_: Any) -> Room:
        """Return the room inside one more map."""
        return classes.evolve(self, maps=(*self.maps, (entry, exit_)), known=dict(self.known))

    def begin_nest(self) -> None:
        """Begin a new nest: later reads use the values that the last nest wrote."""
        self.latest.update(self.written)
        self.written.clear()
        self.known.clear()

    # --- edges ----------------------------------------------------------------------------------

    def memlet(self, data: str, subset: Any = None, *, dynamic: bool = False) -> Any:
        """Return a memlet of its own, of all elements if there is no `subset`."""
        dace = self.build.dace
        chosen = self.build.whole(self.sdfg, data) if subset is None else subset
        return dace.Memlet(data=data, subset=dace.subsets.Range(chosen.ranges), dynamic=dynamic)

    def register(self, name: str) -> Any:
        """Return the memlet of a number that a thread keeps."""
        return self.build.dace.Memlet(f"{name}[0]")

    def feed(
        self, node: Any, connector: str, data: str, subset: Any = None, *, dynamic: bool = False
    ) -> None:
        """Give a connector of `node` what data holds at `subset`."""
        source = self.latest.get(data)
        if source is None:
            self.build.ensure(self.sdfg, data, nested=self.nested)
            source = self._read(data)
        self._lead(source, 0, node, connector, self.memlet(data, subset, dynamic=dynamic))

    def _read(self, data: str) -> Any:
        """Return the node that data is read from in this state."""
        if data not in self.read:
            self.read[data] = self.state.add_read(data)
        return self.read[data]

    def _lead(self, source: Any, depth: int, node: Any, connector: str, memlet: Any) -> None:
        """Join a source that stands inside `depth` maps with a node inside all."""
        port, data = None, memlet.data
        for entry, _ in self.maps[depth:]:
            if entry.add_in_connector(f"IN_{data}"):
                entry.add_out_connector(f"OUT_{data}")
                self.state.add_edge(source, port, entry, f"IN_{data}", self.memlet(data))
            source, port = entry, f"OUT_{data}"
        self.state.add_edge(source, port, node, connector, memlet)

    def store(
        self, node: Any, connector: str, data: str, subset: Any = None, *, dynamic: bool = False
    ) -> None:
        """Write the value of a connector of `node` to data."""
        if data not in self.written:
            self.build.ensure(self.sdfg, data, nested=self.nested)
            self.written[data] = self.state.add_write(data)
        memlet = self.memlet(data, subset, dynamic=dynamic)
        for _, exit_ in reversed(self.maps):
            is_new = exit_.add_in_connector(f"IN_{data}")
            exit_.add_out_connector(f"OUT_{data}")
            self.state.add_edge(node, connector, exit_, f"IN_{data}", memlet)
            if not is_new:
                return
            node, connector, memlet = exit_, f"OUT_{data}", self.memlet(data)
        self.state.add_edge(node, connector, self.written[data], None, memlet)

    def hang(self, node: Any, depth: int = 1) -> None:
        """Connect a node without inputs to the map around it, the one `depth` maps from inside."""
        if len(self.maps) >= depth and not self.state.in_degree(node):
            self.state.add_nedge(self.maps[-depth][0], node, self.build.dace.Memlet())

    # --- rows -----------------------------------------------------------------------------------

    def keep(self, row: int, name: str, dtype: str) -> Any:
        """Add a register for a row of a nest; return its node."""
        self.build.add_register(self.sdfg, name, dtype)
        node = self.state.add_access(name)
        self.known[row] = (name, node, len(self.maps))
        return node

    def feed_row(self, node: Any, connector: str, row: int) -> None:
        """Give a connector of `node` a row that is known here."""
        name, source, depth = self.known[row]
        source = self._read(name) if source is None else source
        self._lead(source, depth, node, connector, self.memlet(name))

    def within(self, sdfg: Any, state: Any, known: Mapping[int, str]) -> Room:
        """Return the room that a state of a nested SDFG is."""
        return Room(
            self.build, sdfg, state, nested=True,
            known={row: (name, None, 0) for row, name in known.items()},
        )  # fmt: skip


def loop_region(label: str, index: str, start: Any, stop: Any, *, backward: bool) -> Any:
    """Return a loop that runs for one index after the other; its blocks are added to it."""
    from dace.sdfg.state import LoopRegion

    if backward:
        ends = (f"{index} >= {start}", f"{index} = {stop - 1}", f"{index} = {index} - 1")
    else:
        ends = (f"{index} < {stop}", f"{index} = {start}", f"{index} = {index} + 1")
    return LoopRegion(label, ends[0], index, ends[1], ends[2])
