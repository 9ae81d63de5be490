"""Add the instructions of a nest that stand at one place to a state: a tasklet and its memlets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...ir.loops import Access, Load, Row, Store
from .names import NEST, STATUS, THREAD, words
from .rooms import Room
from .tasklet import Block, SdfgNest, block_of, first_state, ranged_axes


def add_rows(own: SdfgNest, room: Room, rows: Sequence[Row], exports: Sequence[Row]) -> None:
    """Add a tasklet for `rows`, if there are any; loops inside read the values of `exports`."""
    if not rows:
        return
    block = block_of(own, rows, exports)
    node = _tasklet(own, room, _title(own, rows), block)
    for connector, row in block.exports.items():
        name = f"row{row}_of_{own.number}"
        kept = room.keep(row, name, own.nest.body[row].dtype)
        room.state.add_edge(node, connector, kept, None, room.register(name))
    for connector, store in block.stores.items():
        data = own.build.names.data[store.buffer]
        room.store(node, connector, data, _element(own, room, store))
    _advance(own, room, node, block)
    if block.tests:
        room.store(node, f"{STATUS}_at", STATUS, dynamic=True)


def add_first_states(own: SdfgNest, room: Room) -> None:
    """Add the states of a scan with their values before the first level."""
    for index, (dtype, row) in enumerate(own.nest.states):
        name = _state(own, index)
        own.build.add_register(room.sdfg, name, dtype)
        block = first_state(own, index, row)
        _advance(own, room, _tasklet(own, room, f"first_{name}", block), block)


def _state(own: SdfgNest, index: int) -> str:
    return f"state{index}_of_{own.number}"


def _advance(own: SdfgNest, room: Room, node: Any, block: Block) -> None:
    for connector, index in block.advances.items():
        name = _state(own, index)
        target = room.state.add_write(name)
        room.state.add_edge(node, connector, target, None, room.register(name))


def _title(own: SdfgNest, rows: Iterable[Row]) -> str:
    """Name a tasklet after the buffer that it writes, or after its nest."""
    stores = [row.buffer for row in map(own.nest.body.__getitem__, rows)
              if isinstance(row, Store)]  # fmt: skip
    names = [own.build.names.data[name] for name in dict.fromkeys(stores)]
    return "_".join(["make", *names[:3]]) if names else f"outside{own.number}"


def _tasklet(own: SdfgNest, room: Room, label: str, block: Block) -> Any:
    """Add the node of a tasklet and the edges to what it reads.

    Its connectors for table lookups and tests are pointers.
    """
    text, dace = "\n".join(block.lines), own.build.dace
    declare_symbols(own, room, text)
    pointers = {
        connector: dace.pointer(own.build.stored(load.dtype))
        for connector, load in block.lookups.items()
    }
    inputs = (*block.loads, *block.lookups, *block.scalars.values(), *block.known, *block.states)
    outputs = dict.fromkeys((*block.exports, *block.stores, *block.advances))
    if block.tests:
        outputs[f"{STATUS}_at"] = dace.pointer(dace.int32)
    node = room.state.add_tasklet(
        label,
        {name: pointers.get(name) for name in inputs},
        outputs,
        text,
        language=dace.Language.CPP,
        location={NEST: own.number},
    )
    _feed(own, room, node, block)
    room.hang(node)
    return node


def declare_symbols(own: SdfgNest, room: Room, text: str) -> None:
    """Declare the symbols and the indices of outer loops that stand in a text."""
    around = {name for entry, _ in room.maps for name in entry.map.params}
    params = set(own.indices.values()) - around if room.nested else set()
    for word in words(text):
        if word in own.build.names.symbols or word in params:
            own.build.symbol(room.sdfg, word)


def _feed(own: SdfgNest, room: Room, node: Any, block: Block) -> None:
    """Add the edges from arrays, scalars, values of outer loops and states of scans."""
    names = own.build.names
    for connector, load in block.loads.items():
        room.feed(node, connector, names.data[load.buffer], _element(own, room, load))
    for connector, load in block.lookups.items():
        opened = _opened(own, room, load)
        room.feed(node, connector, names.data[load.buffer], opened, dynamic=True)
    for scalar, connector in block.scalars.items():
        room.feed(node, connector, names.scalars[scalar])
    for connector, row in block.known.items():
        room.feed_row(node, connector, row)
    for connector, index in block.states.items():
        name = _state(own, index)
        source = room.state.add_read(name)
        room.state.add_edge(source, None, node, connector, room.register(name))


# --- subsets ------------------------------------------------------------------------------------


def _element(own: SdfgNest, room: Room, access: Access) -> Any:
    """Return the one element that an access touches in each iteration, without indirect parts."""
    buffer, dace = own.build.names.by_name[access.buffer], room.build.dace
    indices = dict(own.indices)
    if own.rows is not None and buffer.memory == "arena":
        indices[own.rows] = THREAD
    named = dace.symbolic.pystr_to_symbolic
    offsets = (offset for _, offset in access.coordinates(len(buffer.dims)))
    places = [
        (named(indices[dim]) if dim in indices else 0) + offset
        for dim, offset in zip(buffer.dims, offsets, strict=True)
    ]
    return dace.subsets.Range([(place, place, 1) for place in places] or [(0, 0, 1)])


def _opened(own: SdfgNest, room: Room, load: Load) -> Any:
    """Return the elements that a lookup may read."""
    data, element = own.build.names.data[load.buffer], _element(own, room, load)
    own.build.ensure(room.sdfg, data, nested=room.nested)
    whole = own.build.whole(room.sdfg, data)
    for axis in ranged_axes(load):
        element.ranges[axis] = whole.ranges[axis]
    return element
