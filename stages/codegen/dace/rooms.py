"""A place for nodes in an SDFG: a state, the maps around them, and the values known there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import attrs


class Descriptors(Protocol):
    """Adds descriptors of data and symbols to SDFGs."""

    def ensure(self, sdfg: Any, data: str, *, nested: bool) -> None:
        """Add the descriptor of `data` if it is missing."""

    def whole(self, sdfg: Any, data: str) -> Any:
        """Return the range of all elements."""

    def type(self, dtype: str) -> Any:
        """Return DaCe's name of a type."""

    def symbol(self, sdfg: Any, name: str) -> Any:
        """Return a symbol, known to an SDFG."""


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
