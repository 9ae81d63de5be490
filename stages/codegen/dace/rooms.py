"""A place for nodes in an SDFG: a state, the maps around them, descriptors, values known there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ...ir.bounds import Bound
from ...ir.loops.buffers import Buffer
from .names import STATUS, GuardedStop, SdfgNames, stored_type


class Descriptors:
    """Adds descriptors of buffers and scalars to SDFGs, nested ones among them."""

    def __init__(self, dace: Any, names: SdfgNames, on_gpu: bool) -> None:
        self.dace = dace
        self.names = names
        self.buffers: dict[str, Buffer] = {names.data[b.name]: b for b in names.touched()}
        self.dtypes = dict(names.used_scalars())
        storages = dace.StorageType
        self.storage = storages.GPU_Global if on_gpu else storages.Default

    def ensure(self, sdfg: Any, data: str, *, nested: bool) -> None:
        """Add the descriptor of `data` if it is missing."""
        if data in sdfg.arrays:
            return
        if data in self.dtypes:
            sdfg.add_scalar(data, self.type(self.dtypes[data]))
        elif data == STATUS:
            sdfg.add_array(data, [1], self.dace.int32, may_alias=True, storage=self.storage)
        else:
            self._add_array(sdfg, data, self.buffers[data], nested)

    def _add_array(self, sdfg: Any, data: str, buffer: Buffer, nested: bool) -> None:
        """Add an array that begins at index 0 of the domain; nothing depends on its end."""
        strides = self.names.strides(buffer)
        sdfg.add_array(
            data,
            [self.symbol(sdfg, f"{data}_{axis}_size") for axis in range(len(strides))] or [1],
            self.type(stored_type(buffer.dtype)),
            strides=[1 if each == "1" else self.symbol(sdfg, each) for each in strides] or [1],
            total_size=self.symbol(sdfg, f"{data}_size"),
            may_alias=True,  # an output may be an input that is read at the same point only
            transient=buffer.memory == "arena" and not nested,
            storage=self.storage,
        )

    def whole(self, sdfg: Any, data: str) -> Any:
        """Return the range of all elements."""
        if data in self.buffers and self.buffers[data].dims:
            count = len(self.buffers[data].dims)
            sizes = [self.symbol(sdfg, f"{data}_{axis}_size") for axis in range(count)]
            return self.dace.subsets.Range([(0, size - 1, 1) for size in sizes])
        return self.dace.subsets.Range([(0, 0, 1)])

    def type(self, dtype: str) -> Any:
        """Return DaCe's name of a type."""
        return getattr(self.dace, "bool" if dtype == "bool" else dtype)

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


@attrs.define
class Room:
    """A state of an SDFG, and the maps that what is added stands in, outer to inner.

    `latest` are the nodes that hold what was written to data in the state, `read` those that are
    read from. `known` are rows of a nest: the data that holds them, the node if it stands in this
    state, and inside how many maps that is.
    """

    dace: Any
    sdfg: Any
    state: Any
    describe: Descriptors
    nested: bool = False
    maps: tuple[tuple[Any, Any], ...] = ()
    known: dict[int, tuple[str, Any, int]] = attrs.field(factory=dict)
    latest: dict[str, Any] = attrs.field(factory=dict)
    read: dict[str, Any] = attrs.field(factory=dict)
    written: dict[str, Any] = attrs.field(factory=dict)

    def inside(self, entry: Any, exit_: Any) -> Room:
        """Return the room inside one more map."""
        return attrs.evolve(self, maps=(*self.maps, (entry, exit_)), known=dict(self.known))

    def begin_nest(self) -> None:
        """Begin a new nest: later reads use the values that the last nest wrote."""
        self.latest.update(self.written)
        self.written.clear()

    # --- edges ----------------------------------------------------------------------------------

    def memlet(self, data: str, subset: Any, *, dynamic: bool = False) -> Any:
        """Return a memlet of its own."""
        dace = self.dace
        ranges = dace.subsets.Range(subset.ranges)
        return dace.Memlet(data=data, subset=ranges, dynamic=dynamic)

    def source(self, data: str) -> Any:
        """Return the node that data is read from in this state."""
        if data in self.latest:
            return self.latest[data]
        if data not in self.read:
            self.describe.ensure(self.sdfg, data, nested=self.nested)
            self.read[data] = self.state.add_read(data)
        return self.read[data]

    def feed(self, node: Any, connector: str, data: str, subset: Any, **how: bool) -> None:
        """Give a connector of `node` what data holds at `subset`."""
        self.lead(self.source(data), 0, node, connector, data, subset, **how)

    def lead(
        self,
        source: Any,
        depth: int,
        node: Any,
        connector: str | None,
        data: str,
        subset: Any,
        **how: bool,
    ) -> None:
        """Join a source that stands inside `depth` maps with a node inside all."""
        port = None
        whole = self.describe.whole(self.sdfg, data)
        for entry, _ in self.maps[depth:]:
            if entry.add_in_connector(f"IN_{data}"):
                entry.add_out_connector(f"OUT_{data}")
                self.state.add_edge(source, port, entry, f"IN_{data}", self.memlet(data, whole))
            source, port = entry, f"OUT_{data}"
        self.state.add_edge(source, port, node, connector, self.memlet(data, subset, **how))

    def store(self, node: Any, connector: str, data: str, subset: Any, **how: bool) -> None:
        """Write the value of a connector of `node` to data."""
        target = self.written.get(data)
        if target is None:
            self.describe.ensure(self.sdfg, data, nested=self.nested)
            target = self.written[data] = self.state.add_write(data)
        steps = [exit_ for _, exit_ in reversed(self.maps)]
        whole = self.describe.whole(self.sdfg, data)
        memlet = self.memlet(data, subset, **how)
        for exit_ in steps:
            is_new = exit_.add_in_connector(f"IN_{data}")
            exit_.add_out_connector(f"OUT_{data}")
            self.state.add_edge(node, connector, exit_, f"IN_{data}", memlet)
            if not is_new:
                return
            node, connector, memlet = exit_, f"OUT_{data}", self.memlet(data, whole)
        self.state.add_edge(node, connector, target, None, memlet)

    def hang(self, node: Any) -> None:
        """Connect a node without inputs to the map around it."""
        if self.maps and not self.state.in_degree(node):
            self.state.add_nedge(self.maps[-1][0], node, self.dace.Memlet())

    # --- rows -----------------------------------------------------------------------------------

    def keep(self, row: int, name: str, dtype: str) -> Any:
        """Add a register for a row of a nest; return its node."""
        self.sdfg.add_scalar(
            name,
            self.describe.type(dtype),
            transient=True,
            storage=self.dace.StorageType.Register,
        )
        node = self.state.add_access(name)
        self.known[row] = (name, node, len(self.maps))
        return node

    def feed_row(self, node: Any, connector: str, row: int) -> None:
        """Give a connector of `node` a row that is known here."""
        name, source, depth = self.known[row]
        if source is None:
            source = self.read.get(name)
            if source is None:
                source = self.read[name] = self.state.add_read(name)
        point = self.dace.subsets.Range([(0, 0, 1)])
        self.lead(source, depth, node, connector, name, point)

    def within(self, sdfg: Any, state: Any, known: Mapping[int, str]) -> Room:
        """Return the room that a state of a nested SDFG is."""
        rows = {row: (name, None, 0) for row, name in known.items()}
        return Room(self.dace, sdfg, state, self.describe, nested=True, known=dict(rows))


def loop_region(label: str, index: str, start: Any, stop: Any, *, backward: bool) -> Any:
    """Return a loop that runs for one index after the other; its blocks are added to it."""
    from dace.sdfg.state import LoopRegion

    if backward:
        ends = (f"{index} >= {start}", f"{index} = {stop - 1}", f"{index} = {index} - 1")
    else:
        ends = (f"{index} < {stop}", f"{index} = {start}", f"{index} = {index} + 1")
    return LoopRegion(label, ends[0], index, ends[1], ends[2])
