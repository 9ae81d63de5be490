"""Put an imperative column into a map over columns: one tasklet, with pointers to its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir.loops.column import Column
from ...ir.loops.nest import Argument, Store
from ...ir.loops.traverse import arrays_of, instructions
from ..errors import CodegenError
from ..gpu.text.spellings import dialect_of
from ..rows.acts import write_acts
from ..rows.dialect import cpp
from ..rows.options import WriterOptions
from ..rows.scope import Scope
from .names import stored_type
from .rooms import Descriptors, Room
from .tasklet_nodes import TaskletNodes


def add_column(room: Room, tasklets: TaskletNodes, column: Column) -> None:
    """Add the tasklet of a column to the room inside its loops.

    It has whole arrays, as levels and conditions say what it touches. Arrays that it writes go in,
    too, since it may leave elements as they were.

    Raises:
        CodegenError: if the program is checked.

    """
    names = tasklets.names
    if tasklets.writer.style.checked:
        raise CodegenError(
            f"DaCe cannot test the values that columns of '{names.kernel.name}' store.",
            hint="Use another backend, or leave out option 'checked'.",
        )
    scope = _scope_of(tasklets, column)
    rows = [row for row in instructions(column) if isinstance(row, Argument)]
    scalars = {scope.scalar(row.name): names.scalars[row.name] for row in rows}
    levels = enumerate(tasklets.indices[loop.range.dim] for loop in column.loops)
    lines = [f"const s64 i{level} = {index};" for level, index in levels]
    text = "\n".join([*lines, *write_acts(scope, column)])
    tasklets.declare_symbols(room, text)
    tasklets.functions.update(scope.uses.functions)
    written = arrays_of(column, Store)
    outputs = {scope.buffers[name]: names.data[name] for name in scope.buffers if name in written}
    inputs = {
        f"{pointer}_before" if name in written else pointer: names.data[name]
        for name, pointer in scope.buffers.items()
    }
    node = room.state.add_tasklet(
        "column",
        _pointers(room.describe, inputs) | dict.fromkeys(scalars),
        _pointers(room.describe, outputs),
        text,
        language=room.dace.Language.CPP,
    )
    for connector, data in (inputs | scalars).items():
        room.feed(node, connector, data, room.describe.whole(room.sdfg, data), dynamic=True)
    room.hang(node)
    for connector, data in outputs.items():
        room.store(node, connector, data, room.describe.whole(room.sdfg, data), dynamic=True)


def _scope_of(tasklets: TaskletNodes, column: Column) -> Scope:
    """Return the names in the tasklet of a column: `p0`, `p1`, ... for its arrays."""
    names, style = tasklets.names, tasklets.writer.style
    options = WriterOptions(0, vector_math=False, own_math=style.own_math)
    touched = [each.name for each in names.touched() if each.name in arrays_of(column)]
    return Scope(
        names.kernel,
        {},
        options,
        dialect_of(options) if style.device else cpp(options),
        bounds=names.text,
        strides=lambda buffer, axis: names.strides(buffer)[axis],
        around=tasklets.indices,
        buffers={name: f"p{place}" for place, name in enumerate(touched)},
    )


def _pointers(describe: Descriptors, connectors: Mapping[str, str]) -> dict[str, Any]:
    """Return the types of connectors, which are pointers into data."""
    dtypes = {name: stored_type(describe.buffers[data].dtype) for name, data in connectors.items()}
    return {name: describe.dace.pointer(describe.type(dtype)) for name, dtype in dtypes.items()}
