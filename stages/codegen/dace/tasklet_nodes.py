"""Add instructions to a state: tasklets of nests and of imperative columns, with their memlets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....runtime.process import CodegenError
from ...ir.loops import (
    Access,
    Argument,
    Column,
    Kernel,
    Load,
    Row,
    Store,
    arrays_of,
    code_of,
    instructions,
)
from ..rows import Scope, WriterOptions, write_acts
from .names import NEST, STATUS, THREAD, words
from .rooms import Build, Room
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
        room.store(node, connector, own.build.names.data[store.buffer], _element(own, room, store))
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
        room.state.add_edge(node, connector, room.state.add_write(name), None, room.register(name))


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
        room.feed(node, connector, names.data[load.buffer], _opened(own, room, load), dynamic=True)
    for scalar, connector in block.scalars.items():
        room.feed(node, connector, names.scalars[scalar])
    for connector, row in block.known.items():
        room.feed_row(node, connector, row)
    for connector, index in block.states.items():
        name = _state(own, index)
        room.state.add_edge(room.state.add_read(name), None, node, connector, room.register(name))


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


def add_column(own: SdfgNest, room: Room, column: Column) -> None:
    """Add the tasklet of a column to the room inside its loops.

    It has whole arrays, as levels and conditions say what it touches. What it writes goes in, too,
    since it may leave elements as they were, but for arrays that nothing else writes. DaCe may not
    remove the tasklet: it looks for the dead by comparing sizes that only a call knows.

    Raises:
        CodegenError: if the program is checked.

    """
    build, names = own.build, own.build.names
    if build.tests:
        raise CodegenError(
            f"DaCe cannot test the values that columns of '{names.kernel.name}' store.",
            hint="Use another backend, or leave out option 'checked'.",
        )
    scope = _scope_of(own, column)
    scalars = {
        scope.scalar(row.name): names.scalars[row.name]
        for row in instructions(column)
        if isinstance(row, Argument)
    }
    levels = (  # by the indices of the map
        f"const s64 i{level} = {own.indices[loop.range.dim]};"
        for level, loop in enumerate(column.loops)
    )
    text = "\n".join([*levels, *write_acts(scope, column)])
    declare_symbols(own, room, text)
    build.functions.update(scope.uses.functions)
    written, others = arrays_of(column, Store), _written_by_others(names.kernel, column)
    outputs = {scope.buffers[name]: names.data[name] for name in scope.buffers if name in written}
    inputs = {
        f"{pointer}_before" if name in written else pointer: names.data[name]
        for name, pointer in scope.buffers.items()
        if name not in written - others or names.buffers[names.data[name]].memory == "field"
    }
    node = room.state.add_tasklet(
        "column",
        _pointers(build, inputs) | dict.fromkeys(scalars),
        _pointers(build, outputs),
        text,
        language=build.dace.Language.CPP,
        location={NEST: own.number},
        side_effects=True,
    )
    for connector, data in (inputs | scalars).items():
        room.feed(node, connector, data, dynamic=True)
    room.hang(node)
    for connector, data in outputs.items():
        room.store(node, connector, data, dynamic=True)


def _written_by_others(kernel: Kernel, column: Column) -> set[str]:
    return {
        name for each in code_of(kernel) if each is not column for name in arrays_of(each, Store)
    }


def _scope_of(own: SdfgNest, column: Column) -> Scope:
    """Return the names in the tasklet of a column: `p0`, `p1`, ... for its arrays."""
    names = own.build.names
    touched = [each.name for each in names.touched() if each.name in arrays_of(column)]
    return Scope(
        names.kernel,
        {},
        WriterOptions(0),
        own.build.dialect,
        bounds=names.text,
        strides=lambda buffer, axis: names.strides(buffer)[axis],
        around=own.indices,
        buffers={name: f"p{place}" for place, name in enumerate(touched)},
    )


def _pointers(build: Build, connectors: Mapping[str, str]) -> dict[str, Any]:
    """Return the types of connectors, which are pointers into data."""
    dtypes = {name: build.names.buffers[data].dtype for name, data in connectors.items()}
    return {name: build.dace.pointer(build.stored(dtype)) for name, dtype in dtypes.items()}
