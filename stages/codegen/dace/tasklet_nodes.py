"""Add the instructions of a nest that stand at one place to a state: a tasklet and its memlets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from ....runtime.language.dimension import Dimension
from ...ir.loops.nest import Nest, Row, Store
from .names import STATUS, SdfgNames
from .rooms import Room
from .strips import NEST
from .tasklet import Block, BlockWriter, Subsets

_WORD: Final = re.compile(r"[A-Za-z_]\w*")


@attrs.frozen
class TaskletNodes:
    """Adds tasklets of one nest to rooms; collects in `functions` what their C++ calls.

    Attributes:
        names: the names of the kernel.
        number: the number of the nest, in the labels of its nodes.
        nest: the nest; for a GPU that of one thread.
        indices: the names of the loop indices.
        writer: writes the C++ of the tasklets.
        subsets: the elements that they load and store.
        is_for_cpu: vector loops are marked, so that `strips` finds them in DaCe's text.
        functions: by name, the C++ functions that the tasklets call.

    """

    names: SdfgNames
    number: int
    nest: Nest
    indices: Mapping[Dimension, str]
    writer: BlockWriter
    subsets: Subsets
    is_for_cpu: bool
    functions: dict[str, str] = attrs.field(factory=dict)

    def add(self, room: Room, rows: Sequence[Row], exports: Sequence[Row]) -> None:
        """Add a tasklet for `rows`, if there are any; loops inside read the values of `exports`."""
        if not rows:
            return
        block = self.writer.write(rows, exports)
        if self._is_vector(self.nest.body[rows[0]].level):
            block = attrs.evolve(block, text=f"{NEST} {self.number}\n{block.text}")
        node = self._tasklet(room, self._title(rows), block)
        for connector, row in block.exports:
            name = f"row{row}_of_{self.number}"
            kept = room.keep(row, name, self.nest.body[row].dtype)
            room.state.add_edge(node, connector, kept, None, room.dace.Memlet(f"{name}[0]"))
        for connector, store in block.stores:
            data = self.names.data[store.buffer]
            room.store(node, connector, data, self.subsets.element(room, store))
        for connector, index in block.advances:
            self._write_state(room, node, connector, self._state(index))
        if block.tests:
            one = room.dace.subsets.Range([(0, 0, 1)])
            room.store(node, f"{STATUS}_at", STATUS, one, dynamic=True)

    def add_first_states(self, room: Room) -> None:
        """Add the states of a scan with their values before the first level."""
        for index, (dtype, row) in enumerate(self.nest.states):
            name = self._state(index)
            room.sdfg.add_scalar(
                name,
                room.describe.type(dtype),
                transient=True,
                storage=room.dace.StorageType.Register,
            )
            block = self.writer.first_state(row)
            node = self._tasklet(room, f"first_{name}", block)
            self._write_state(room, node, "o0", name)

    def _state(self, index: int) -> str:
        return f"state{index}_of_{self.number}"

    def _write_state(self, room: Room, node: Any, connector: str, name: str) -> None:
        target = room.state.add_write(name)
        room.state.add_edge(node, connector, target, None, room.dace.Memlet(f"{name}[0]"))

    def _is_vector(self, level: int) -> bool:
        """Tell whether `level` loops end with one over the lanes of vectors, on a CPU."""
        loops = self.nest.loops
        return self.is_for_cpu and 1 < level == len(loops) and loops[-1].kind == "vector"

    def _title(self, rows: Iterable[Row]) -> str:
        """Name a tasklet after the buffer that it writes, or after its nest."""
        stores = [row.buffer for row in map(self.nest.body.__getitem__, rows)
                  if isinstance(row, Store)]  # fmt: skip
        names = [self.names.data[name] for name in dict.fromkeys(stores)]
        return "_".join(["make", *names[:3]]) if names else f"outside{self.number}"

    def _tasklet(self, room: Room, label: str, block: Block) -> Any:
        """Add the node of a tasklet and the edges to what it reads."""
        self.functions.update(block.functions)
        self.declare_symbols(room, block.text)
        node = self._node(room, label, block)
        self._feed(room, node, block)
        room.hang(node)
        return node

    def declare_symbols(self, room: Room, text: str) -> None:
        """Declare the symbols and the indices of outer loops that stand in a text."""
        around = {name for entry, _ in room.maps for name in entry.map.params}
        params = set(self.indices.values()) - around if room.nested else set()
        for word in _WORD.findall(text):
            if word in self.names.symbols or word in params:
                room.describe.symbol(room.sdfg, word)

    def _node(self, room: Room, label: str, block: Block) -> Any:
        """Add the node with its connectors; those of table lookups and tests are pointers."""
        dace = room.dace
        pointers = {
            connector: dace.pointer(self.subsets.element_type(room, load))
            for connector, load in block.lookups
        }
        inputs = [
            name
            for group in (block.loads, block.lookups, block.scalars, block.known, block.states)
            for name, _ in group
        ]
        outputs = dict.fromkeys(
            name for group in (block.exports, block.stores, block.advances) for name, _ in group
        )
        if block.tests:
            outputs[f"{STATUS}_at"] = dace.pointer(dace.int32)
        return room.state.add_tasklet(
            label,
            {name: pointers.get(name) for name in inputs},
            outputs,
            block.text,
            language=dace.Language.CPP,
        )

    def _feed(self, room: Room, node: Any, block: Block) -> None:
        """Add the edges from arrays, scalars, values of outer loops and states of scans."""
        dace, data = room.dace, self.names.data
        for connector, load in block.loads:
            room.feed(node, connector, data[load.buffer], self.subsets.element(room, load))
        for connector, load in block.lookups:
            whole = self.subsets.opened(room, load)
            room.feed(node, connector, data[load.buffer], whole, dynamic=True)
        point = dace.subsets.Range([(0, 0, 1)])
        for connector, name in block.scalars:
            room.feed(node, connector, self.names.scalars[name], point)
        for connector, row in block.known:
            room.feed_row(node, connector, row)
        for connector, index in block.states:
            name = self._state(index)
            source = room.state.add_read(name)
            room.state.add_edge(source, None, node, connector, dace.Memlet(f"{name}[0]"))
