"""Print an SDFG: its states in order, maps with their ranges, memlets, tasklets, loops.

Or write a page in which DaCe's viewer shows it; pages load the viewer from the installed DaCe.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...ir.loops import Kernel
from .names import SdfgNames


def show_graph(sdfg: Any, kernel: Kernel, names: SdfgNames) -> str:
    """Return the listing of an SDFG and of the meanings of its names."""
    return "\n".join([*_head(sdfg, kernel, names), *show_sdfg(sdfg)]) + "\n"


def _head(sdfg: Any, kernel: Kernel, names: SdfgNames) -> Iterator[str]:
    yield f"sdfg of {kernel.name}"
    yield from (
        f"  {names.scalars[name]} = scalar {name} {dtype}" for name, dtype in kernel.scalars
    )
    for buffer in names.touched():
        if names.data[buffer.name] in sdfg.arrays:
            dims = ", ".join(dim.value for dim in buffer.dims)
            strides = ", ".join(names.strides(buffer))
            text = f"{buffer.memory} {buffer.name} {buffer.dtype} [{dims}] strides ({strides})"
            reason = f"  # {buffer.reason}" if buffer.reason else ""
            yield f"  {names.data[buffer.name]} = {text}{reason}"
    for symbol, meaning in names.symbols.items():
        if not symbol.endswith("_stride"):
            yield f"  {symbol} = {meaning}"
    yield from (f"  # {note}" for note in kernel.notes)
    yield from (f"  # nest{number}: {nest.reason}" for number, nest in enumerate(names.nests))


def show_sdfg(sdfg: Any, indent: str = "") -> Iterator[str]:
    """Yield the lines of a control flow region: blocks breadth first, and their successors."""
    for block in sdfg.bfs_nodes(sdfg.start_block) if sdfg.nodes() else ():
        yield from _block_lines(block, indent)
        for edge in block.parent_graph.out_edges(block):
            if not edge.data.is_unconditional() or edge.data.assignments:
                yield f"{indent}to {edge.dst.label} if {edge.data.condition.as_string}"


def _block_lines(block: Any, indent: str) -> Iterator[str]:
    from dace.sdfg.state import ConditionalBlock, ControlFlowRegion, LoopRegion, SDFGState

    match block:
        case SDFGState():
            yield from (f"{indent}state {block.label}", *_nodes(block, None, f"{indent}  "))
        case ConditionalBlock():
            for condition, branch in block.branches:
                yield f"{indent}if {condition.as_string if condition is not None else 'not'}"
                yield from show_sdfg(branch, f"{indent}  ")
        case LoopRegion():
            texts = (block.init_statement, block.loop_condition, block.update_statement)
            title = f"{indent}loop {'; '.join(each.as_string for each in texts)}"
            yield from (title, *show_sdfg(block, f"{indent}  "))
        case ControlFlowRegion():
            yield from (f"{indent}region {block.label}", *show_sdfg(block, f"{indent}  "))


def _nodes(state: Any, scope: Any, indent: str) -> Iterator[str]:
    """Yield the lines of one scope of a state."""
    from dace.sdfg import nodes
    from dace.sdfg.utils import dfs_topological_sort

    children = set(state.scope_children()[scope])
    for node in dfs_topological_sort(state):
        if node not in children:
            continue
        if isinstance(node, nodes.MapEntry):
            pairs = zip(node.map.params, node.map.range.ranges, strict=True)
            ranges = ", ".join(
                f"{name}={first}:{last + 1}{f':{step}' if step != 1 else ''}"
                for name, (first, last, step) in pairs
            )
            collapse = f" collapse {node.map.collapse}" if node.map.collapse > 1 else ""
            yield from (
                f"{indent}map {node.map.label} [{ranges}] {node.map.schedule.name}{collapse}",
                *(f"{indent}  {_place(edge)} ->" for edge in _full(state.in_edges(node))),
                *_nodes(state, node, f"{indent}  "),
            )
        elif isinstance(node, nodes.Tasklet | nodes.NestedSDFG | nodes.LibraryNode):
            yield from (
                f"{indent}{type(node).__name__.lower()} {node.label}",
                *_edges(state.in_edges(node), indent, "<-"),
            )
            if isinstance(node, nodes.Tasklet):
                yield from (f"{indent}    {line}" for line in node.code.as_string.splitlines())
            elif isinstance(node, nodes.NestedSDFG):
                yield from show_sdfg(node.sdfg, f"{indent}    ")
            yield from _edges(state.out_edges(node), indent, "->")
        elif isinstance(node, nodes.AccessNode):
            yield from (
                f"{indent}{node.data} copied to {edge.dst.data}: {_place(edge)}"
                for edge in state.out_edges(node)
                if isinstance(edge.dst, nodes.AccessNode)
            )


def _edges(edges: Iterable[Any], indent: str, arrow: str) -> Iterator[str]:
    for edge in _full(edges):
        connector = edge.dst_conn if arrow == "<-" else edge.src_conn
        yield f"{indent}  {connector} {arrow} {_place(edge)}"


def _full(edges: Iterable[Any]) -> Iterator[Any]:
    """Leave out empty edges, which only order nodes."""
    return (edge for edge in edges if not edge.data.is_empty())


def _place(edge: Any) -> str:
    return f"{edge.data.data}[{edge.data.subset}]"


def viewer_page(sdfg: Any) -> str:
    """Return the HTML of a page that shows an SDFG, whole, with its memlets and tasklets."""
    import dace
    import jinja2

    folder = Path(dace.__file__).resolve().parent / "viewer"
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(folder / "templates"))
    # a string of the script; the text of no tasklet may end the script
    text = json.dumps(json.dumps(sdfg.to_json())).replace("</", "<\\/")
    return templates.get_template("sdfv.html").render(sdfg=text, dir=f"{folder}/")
