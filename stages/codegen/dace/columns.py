"""Put an imperative column into a map over columns: one tasklet, with pointers to its arrays."""

from __future__ import annotations

from collections.abc import Mapping

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
from .rooms import Room
from .tasklet_nodes import TaskletNodes


def add_column(room: Room, tasklets: TaskletNodes, column: Column) -> None:
    """Add the tasklet of a column to the room inside its loops.

    It has whole arrays, as levels and conditions say what it touches. Arrays that it writes go in,
    too, since it may leave elements as they were.

    Raises:
        CodegenError: if the program is checked.

    """
    names, style = tasklets.names, tasklets.writer.style
    if style.checked:
        raise CodegenError(
            f"DaCe cannot test the values that columns of '{names.kernel.name}' store.",
            hint="Use another backend, or leave out option 'checked'.",
        )
    dace, describe = room.dace, room.describe
    touched = {each.name: f"p{place}" for place, each in enumerate(names.kernel.buffers)
               if each.name in arrays_of(column)}  # fmt: skip
    outputs = {name: touched[name] for name in touched if name in arrays_of(column, Store)}
    inputs = {name: f"{p}_before" if name in outputs else p for name, p in touched.items()}
    options = WriterOptions(0, vector_math=False, own_math=style.own_math)
    scope = Scope(
        names.kernel,
        {},
        options,
        dialect_of(options) if style.device else cpp(options),
        bounds=names.text,
        strides=lambda buffer, axis: names.strides(buffer)[axis],
        around=tasklets.indices,
        buffers=touched,
    )
    rows = instructions(column)
    scalars = {row.name: scope.scalar(row.name) for row in rows if isinstance(row, Argument)}
    levels = enumerate(tasklets.indices[loop.range.dim] for loop in column.loops)
    lines = [f"const s64 i{level} = {index};" for level, index in levels]
    text = "\n".join([*lines, *write_acts(scope, column)])
    tasklets.declare_symbols(room, text)
    tasklets.functions.update(scope.uses.functions)

    def pointers(connectors: Mapping[str, str]) -> dict[str, object]:
        dtypes = {name: stored_type(names.by_name[name].dtype) for name in connectors}
        return {p: dace.pointer(describe.type(dtypes[name])) for name, p in connectors.items()}

    node = room.state.add_tasklet(
        "column",
        pointers(inputs) | dict.fromkeys(scalars.values()),
        pointers(outputs),
        text,
        language=dace.Language.CPP,
    )
    for given, ways in ((inputs, names.data), (scalars, names.scalars)):
        for name, connector in given.items():
            data = ways[name]
            describe.ensure(room.sdfg, data, nested=room.nested)
            whole = describe.whole(room.sdfg, data)
            room.feed(node, connector, data, whole, dynamic=ways is names.data)
    room.hang(node)
    for name, connector in outputs.items():
        whole = describe.whole(room.sdfg, names.data[name])
        room.store(node, connector, names.data[name], whole, dynamic=True)
