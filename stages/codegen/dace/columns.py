"""Put an imperative column into a map over columns: one tasklet, with pointers to its arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...ir.loops import Argument, Column, Kernel, Store, arrays_of, code_of, instructions
from ..errors import CodegenError
from ..rows.acts import write_acts
from ..rows.options import WriterOptions
from ..rows.scope import Scope
from .names import NEST
from .rooms import Build, Room
from .tasklet import SdfgNest
from .tasklet_nodes import declare_symbols


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
    rows = [row for row in instructions(column) if isinstance(row, Argument)]
    scalars = {scope.scalar(row.name): names.scalars[row.name] for row in rows}
    text = "\n".join([*_levels(own, column), *write_acts(scope, column)])
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
    nodes = (each for each in code_of(kernel) if each is not column)
    return {name for each in nodes for name in arrays_of(each, Store)}


def _levels(own: SdfgNest, column: Column) -> Iterator[str]:
    """Define the indices of a column, `i0`, `i1`, ..., from those of the map."""
    for level, loop in enumerate(column.loops):
        yield f"const s64 i{level} = {own.indices[loop.range.dim]};"


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
