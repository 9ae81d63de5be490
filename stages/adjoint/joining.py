"""Write a program as one statement on the values at entry, each value once.

What a statement writes replaces the field in later ones: `Input(u, 1)` becomes the value written
where that was, and `u` at entry elsewhere. `push_shifts` copies values to the places where others
read them; here each value is one row again, and its copies are shifts of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...runtime.language import DimensionKind
from ...runtime.process import classes
from ..ir.dataflow import Dataflow, Input, Leaf, Ranges, Ref, Side, Statement, Store
from ..lower.alike import Place, places_of
from ..lower.domains import whole
from ..lower.graph import Graph
from ..lower.regions import Box
from ..lower.rewrite import rebuilt


def sides_of(ranges: Ranges) -> Box:
    """Return ranges as the box of a region, which has all slots of neighbours."""
    return tuple(
        Side(each.dim, each.start, each.stop)
        for each in ranges
        if each.dim.kind is not DimensionKind.LOCAL
    )


def joined(program: Dataflow, of: Iterable[str]) -> Dataflow:
    """Return the program with one statement that writes the final values of some leaves."""
    graph, finals = _at_entry(program)
    leaves = {leaf.name: leaf for leaf in program.leaves}
    stores = []
    for name in of:
        leaf = leaves[name]
        if name not in finals:  # its parameter has other leaves that are written
            finals[name] = graph.input(name, leaf.dims, leaf.dtype)
        stores.append(Store(name, whole(leaf), finals[name]))
    statement = Statement(tuple(stores))
    return _each_once(classes.evolve(program, values=tuple(graph.values), statements=(statement,)))


def _at_entry(program: Dataflow) -> tuple[Graph, dict[str, Ref]]:
    """Replace later versions of fields by what was written; return the last of each field."""
    graph = Graph()
    tables = {table.name: table for table in program.tables}
    leaves = {leaf.name: leaf for leaf in program.leaves}
    now: dict[str, Ref] = {}  # the latest version of each field that was written
    versions: dict[tuple[str, int], Ref] = {}
    counts: dict[str, int] = {}
    rows: dict[Ref, Ref] = {}

    def row_of(row: Ref) -> Ref:
        """Add a row and all that it is made from; versions it reads are known by then."""
        stack = [row]
        while stack:
            value = program.values[stack[-1]]
            missing = [each for each in value.operands if each not in rows]
            if missing:
                stack += missing
                continue
            last = stack.pop()
            if isinstance(value, Input) and value.version:
                rows[last] = versions[value.name, value.version]
            elif last not in rows:
                rows[last] = rebuilt(graph, value, rows.__getitem__, tables)
        return rows[row]

    for statement in program.statements:
        values = {store: row_of(store.value) for store in statement.stores}
        for target in dict.fromkeys(store.target for store in statement.stores):
            leaf = leaves[target]
            stores = [store for store in statement.stores if store.target == target]
            before = now.get(target)
            if before is None:
                before = graph.input(target, leaf.dims, leaf.dtype)
            now[target] = _written(graph, leaf, stores, values, before)
        for target in {store.target for store in statement.stores}:
            counts[target] = counts.get(target, 0) + 1
            versions[target, counts[target]] = now[target]
    return graph, now


def _written(
    graph: Graph, leaf: Leaf, stores: Sequence[Store], values: Mapping[Store, Ref], before: Ref
) -> Ref:
    """Return what a field holds after some stores of one statement."""
    for box in dict.fromkeys(store.output.box for store in stores):
        parts = [store for store in stores if store.output.box == box]
        value = values[parts[-1]]  # the parts cover the box
        for store in reversed(parts[:-1]):
            value = graph.region((sides_of(store.box),), values[store], value)
        is_whole = box == whole(leaf) or not box
        before = value if is_whole else graph.region((sides_of(box),), value, before)
    return before


def _each_once(program: Dataflow) -> Dataflow:
    """Make the copies of a value shifts of one of them."""
    places = places_of(program.values)
    tables = {table.name: table for table in program.tables}
    graph = Graph()
    rows: list[Ref] = []
    first: dict[int, tuple[Ref, Place]] = {}
    for value, place in zip(program.values, places, strict=True):
        known = first.get(place.value)
        if known is None:
            row = rebuilt(graph, value, rows.__getitem__, tables)
            first[place.value] = row, place
        else:
            row = known[0]
            for dim in graph[row].dims:
                row = graph.shift(row, dim, place.along(dim) - known[1].along(dim))
        rows.append(row)
    statements = tuple(
        Statement(tuple(classes.evolve(each, value=rows[each.value]) for each in old.stores))
        for old in program.statements
    )
    return classes.evolve(program, values=tuple(graph.values), statements=statements)
