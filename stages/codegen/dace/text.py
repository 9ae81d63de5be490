"""Print an SDFG: its states in order, maps with their ranges, memlets, tasklets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...ir.loops import Kernel
from .names import Names


def show_graph(sdfg: Any, kernel: Kernel, names: Names) -> str:
    """Return the listing of an SDFG; the schedule behind it says what its names stand for."""
    return "\n".join(_lines(sdfg, kernel, names)) + "\n"


def _lines(sdfg: Any, kernel: Kernel, names: Names) -> Iterator[str]:
    yield f"sdfg of {kernel.name}"
    for name, dtype in kernel.scalars:
        yield f"  {names.scalar(name)} = scalar {name} {dtype}"
    for buffer in names.touched():
        dims = ", ".join(dim.value for dim in buffer.dims)
        strides = ", ".join(names.strides(buffer))
        text = f"{buffer.memory} {buffer.name} {buffer.dtype} [{dims}] strides ({strides})"
        reason = f"  # {buffer.reason}" if buffer.reason else ""
        yield f"  {names.array(buffer.name)} = {text}{reason}"
    for note in kernel.notes:
        yield f"  # {note}"
    reasons = {f"nest{index}": nest for index, nest in enumerate(kernel.nests)}
    for state in _in_order(sdfg):
        nest = reasons.get(state.label)
        yield f"state {state.label}" + (f"  # {nest.reason}" if nest else "")
        for level, loop in enumerate(nest.loops if nest else ()):
            number = state.label.removeprefix("nest")
            yield f"  lo{number}_{level}:hi{number}_{level} = {loop.range}"
        yield from _state_lines(state)


def _in_order(sdfg: Any) -> Iterator[Any]:
    state = sdfg.start_block
    while state is not None:
        yield state
        state = next(iter(sdfg.successors(state)), None)


def _state_lines(state: Any) -> Iterator[str]:
    from dace.sdfg import nodes

    for entry in (node for node in state.nodes() if isinstance(node, nodes.MapEntry)):
        pairs = zip(entry.map.params, entry.map.range.ranges, strict=True)
        ranges = ", ".join(f"{name}={first}:{last + 1}" for name, (first, last, _) in pairs)
        yield f"  map [{ranges}] {entry.map.schedule.name} collapse {entry.map.collapse}"
        yield from (f"    {_place(edge)} -> map" for edge in _full(state.in_edges(entry)))
    for tasklet in (node for node in state.nodes() if isinstance(node, nodes.Tasklet)):
        for edge in _full(state.in_edges(tasklet)):
            yield f"    {edge.dst_conn} <- {_place(edge)}"
        yield from (f"      {line}" for line in tasklet.code.as_string.splitlines())
        yield from (f"    {edge.src_conn} -> {_place(edge)}" for edge in state.out_edges(tasklet))


def _full(edges: Iterable[Any]) -> Iterator[Any]:
    """Leave out the edges that carry nothing and only say what comes first."""
    return (edge for edge in edges if not edge.data.is_empty())


def _place(edge: Any) -> str:
    return f"{edge.data.data}[{edge.data.subset}]"
