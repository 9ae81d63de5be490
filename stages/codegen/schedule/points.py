"""Points: a value at a place relative to the loops; equal values at other places are one value.

`lower` moves shifts to the inputs, so that the Laplacians at i and at i + 1 are two
rows of the dataflow IR. Here both are the *node* Laplacian, at two places. Shifts, gathers, slots
and displacements are not nodes but places of their argument. The place of a
node is the middle of what it reads, so that the parts of a symmetric stencil have one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ....runtime.language import Dimension, flip_staggered, is_staggered
from ....runtime.meshes.transposed_tables import transposed_names
from ....runtime.process import classes
from ...ir import dataflow
from ...ir.column_rows import Column
from ...ir.dataflow import Ref
from .places import (
    FIXED,
    OWN,
    Along,
    Coord,
    Entries,
    Entry,
    Indices,
    Level,
    Moved,
    Point,
    grow,
    still,
)

Env: TypeAlias = Mapping[Dimension, Coord]  # coordinates in place of the loop's own index
EntryTest: TypeAlias = tuple[Point, str, int]  # a table entry, a comparison, and a number


@classes.frozen
class Node:
    """A value without its place: its operation, and its operands relative to itself.

    The operands of a reduction are its slots and, where some may be missing, then the entries of
    the table; those of a scan its first states and arguments. `row` is the first row of the
    program that is this node somewhere; `reach` is the smallest and largest offset, for each
    dimension, at which it reads inputs.
    """

    row: Ref
    value: dataflow.Value
    operands: tuple[Point, ...]
    reach: tuple[tuple[int, int], ...]

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """The dimensions that the node varies over."""
        return self.value.dims

    @property
    def name(self) -> str:
        """The name in notes and options: the row in the listing of `lower`."""
        return f"%{self.row}"


class Points:
    """The nodes of a program, operands first, and where each row stands.

    In a `checked` program the value of a missing neighbour is NaN.
    """

    def __init__(
        self,
        values: Sequence[dataflow.Value],
        tables: Sequence[dataflow.Table] = (),
        checked: bool = False,
    ) -> None:
        self.checked = checked
        self.nodes: list[Node] = []
        self.indices = Indices()
        self.tables = {table.name: table for table in tables}
        self._known: dict[tuple[object, ...], int] = {}
        self._views: list[Point] = []
        self._operands: dict[Point, list[Point]] = {}  # asked for by each step of a draft
        self.known_costs: dict[object, Any] = {}  # below some roots, in all schedules
        for row, value in enumerate(values):
            self._views.append(self._view(row, value))

    def at(self, row: Ref) -> Point:
        """Return the point of a row of the program."""
        return self._views[row]

    def here(self, index: int) -> Point:
        """Return the point of a node at the loops' own indices."""
        return index, still(len(self.nodes[index].dims))

    def operands(self, point: Point) -> Sequence[Point]:
        """Return the operands of the value at `point`, as points."""
        found = self._operands.get(point)
        if found is None:
            node = self.nodes[point[0]]
            ahead = dict(zip(node.dims, point[1], strict=True))
            found = self._operands[point] = [self.placed(each, ahead) for each in node.operands]
        return found

    def needed_to_find(self, point: Point) -> list[Point]:
        """Return the points whose values give the coordinates of `point`."""
        return self.finders(base for base, _ in point[1])

    def finders(self, bases: Iterable[int]) -> list[Point]:
        """Return the points whose values give some bases of coordinates."""
        found = []
        pending = list(bases)
        while pending:
            if (base := pending.pop()) > OWN:
                index = self.indices[base]
                if isinstance(index, Entry) and index.known is not None:
                    pending.append(index.point[1][0][0])  # what tells whether it is there
                elif isinstance(index, Entry):
                    found.append(index.point)
                elif isinstance(index, Moved):
                    found.append(index.by)
                    pending.append(index.at[0])
        return found

    def scan(self, index: int) -> dataflow.Scan | Column:
        """Return the scan or column of a node, or the one whose result it is."""
        node = self.nodes[index]
        if isinstance(node.value, dataflow.Result):
            node = self.nodes[node.operands[0][0]]
        assert isinstance(node.value, dataflow.Scan | Column)
        return node.value

    def placed(self, point: Point, env: Env) -> Point:
        """Return the point with other coordinates in place of the loops' own indices."""
        if not env:
            return point
        index, coords = point
        return index, tuple(
            self._coord(dim, coord, env)
            for dim, coord in zip(self.nodes[index].dims, coords, strict=True)
        )

    def reachable(self, roots: Iterable[Point]) -> list[int]:
        """Return the nodes that `roots` depend on, ascending."""
        found: set[int] = set()
        pending = list(roots)
        while pending:
            point = pending.pop()
            pending += self.needed_to_find(point)
            if point[0] not in found:
                found.add(point[0])
                pending += self.nodes[point[0]].operands
        return sorted(found)

    def _view(self, row: Ref, value: dataflow.Value) -> Point:
        match value:
            case dataflow.Shift(arg=arg, dim=dim, offset=offset):
                onto = value.onto
                base = OWN if onto is dim else self.indices.add(Along(onto))
                return self.placed(self._views[arg], {dim: (base, offset)})
            case dataflow.Gather(arg=arg, table=table, index=slot):
                return self._gathered(row, value, arg, self.tables[table], (FIXED, slot))
            case dataflow.Neighbours(arg=arg, table=table):
                return self._gathered(row, value, arg, self.tables[table], (OWN, 0))
            case dataflow.Collect(arg=arg, table=table, slots=slots):
                return self._collected(row, value, arg, self.tables[table], self.tables[slots])
            case dataflow.Local(arg=arg, dim=dim, index=slot):
                return self.placed(self._views[arg], {dim: (FIXED, slot)})
            case dataflow.Level(arg=arg, dim=dim, at=at):
                return self.placed(self._views[arg], {dim: (self.indices.add(Level(at)), 0)})
            case dataflow.Displace(arg=arg, dim=dim, by=by):
                way = Moved(dim, (OWN, 0), self._views[by])
                return self.placed(self._views[arg], {dim: (self._index(way), 0)})
            case dataflow.Map(op=op, args=args):
                return self._combined(row, value, op, [self._views[arg] for arg in args])
            case dataflow.Reduce(op=op, table=table):
                operands = self._slots(row, value, self.tables[table])
                return self._combined(row, value, f"reduce {op}", operands)
        key: tuple[object, ...] = (row,) if isinstance(value, dataflow.Scan | Column) else (value,)
        operands = [self._views[operand] for operand in value.operands]
        if isinstance(value, dataflow.Region | dataflow.Result):
            own = value.boxes if isinstance(value, dataflow.Region) else value.index
            key = (type(value), own, value.dtype, value.dims, *operands)
        return self._node(key, Node(row, value, tuple(operands), ((0, 0),) * len(value.dims)))

    def _gathered(
        self, row: Ref, value: dataflow.Value, arg: Ref, table: dataflow.Table, slot: Coord
    ) -> Point:
        entries, _ = self._entries(row, table)
        entry = (entries, ((OWN, 0), slot))
        found = self.placed(self._views[arg], {table.source: (self._index(Entry(entry)), 0)})
        if self.checked and table.skip and self.nodes[found[0]].value.dtype.startswith("float"):
            return self._found_where(row, value, found, (entry, "ge", 0), "nan")
        return found

    def _collected(
        self,
        row: Ref,
        value: dataflow.Collect,
        arg: Ref,
        table: dataflow.Table,
        slots: dataflow.Table,
    ) -> Point:
        back, which = (self._entries(row, each) for each in (table, slots))
        ways = {table.source: back, slots.source: which}
        found = self.placed(
            self._views[arg], {d: (self._index(Entry(e)), 0) for d, e in ways.items()}
        )
        if value.index is None:
            return found
        zero = "0.0" if value.dtype[0] == "f" else "0"
        return self._found_where(row, value, found, (which, "eq", value.index), zero)

    def _found_where(
        self, row: Ref, value: dataflow.Value, found: Point, test: EntryTest, otherwise: str
    ) -> Point:
        """Return the node of a lookup where a test of an entry holds, and of a number elsewhere."""
        (entry, coords), op, number = test
        instead = self._constant(row, value.dtype, otherwise)
        wanted = self._constant(row, "int32", str(number))
        dims = self.nodes[entry].dims
        comparison = dataflow.Map(dims=dims, dtype="bool", op=op, args=())
        holds, _ = self._combined(row, comparison, op, [(entry, still(len(dims))), wanted])
        choice = dataflow.Map(dims=value.dims, dtype=value.dtype, op="select", args=())
        return self._combined(row, choice, "select", [(holds, coords), found, instead])

    def _constant(self, row: Ref, dtype: str, text: str) -> Point:
        value = dataflow.Literal(dims=(), dtype=dtype, text=text)
        return self._node((value,), Node(row, value, (), ()))

    def _entries(self, row: Ref, table: dataflow.Table) -> Point:
        value = Entries(
            dims=(table.target, table.local),
            dtype="int32",
            table=table.name,
            skip=table.skip,
            width=table.width,
        )
        return self._node((value,), Node(row, value, (), ((0, 0), (0, 0))))

    def _slots(self, row: Ref, value: dataflow.Reduce, table: dataflow.Table) -> list[Point]:
        slots: list[Coord] = [(FIXED, slot) for slot in range(table.width)]
        found = [self.placed(self._views[value.arg], {table.local: slot}) for slot in slots]
        if table.skip and table.target in value.dims:
            entries, _ = self._entries(row, table)
            found += [(entries, ((OWN, 0), slot)) for slot in slots]
        return found

    def _combined(
        self, row: Ref, value: dataflow.Value, what: str, operands: Sequence[Point]
    ) -> Point:
        across = self._across(value.dims, operands)
        if across:
            value = classes.evolve(value, dims=tuple(across.get(dim, dim) for dim in value.dims))
            env: Env = {dim: (self.indices.add(Along(own)), 0) for dim, own in across.items()}
            operands = [self.placed(operand, env) for operand in operands]
        reach: dict[Dimension, tuple[int, int]] = {}
        for index, coords in operands:
            node = self.nodes[index]
            for dim, (base, offset), (low, high) in zip(node.dims, coords, node.reach, strict=True):
                along, (own, more) = self.indices.plain(dim, (base, offset))
                if own == OWN:
                    grow(reach, along, (low + more, high + more))
                elif base > OWN:
                    for other, ends in self.indices.mentioned([(dim, (base, offset))]).items():
                        grow(reach, other, ends)
        middle = {dim: sum(reach.get(dim, (0, 0))) // 2 for dim in value.dims}
        back: Env = {dim: (OWN, -place) for dim, place in middle.items() if place}
        relative = tuple(self.placed(operand, back) for operand in operands)
        around = tuple(
            (reach.get(dim, (0, 0))[0] - middle[dim], reach.get(dim, (0, 0))[1] - middle[dim])
            for dim in value.dims
        )
        key = (what, value.dtype, value.dims, relative)
        index, _ = self._node(key, Node(row, value, relative, around))
        bases = {own: self.indices.add(Along(dim)) for dim, own in across.items()}
        return index, tuple((bases.get(dim, OWN), place) for dim, place in middle.items())

    def _across(
        self, dims: Sequence[Dimension], operands: Sequence[Point]
    ) -> dict[Dimension, Dimension]:
        """Return the dimensions of which a value takes the staggered counterparts, and these.

        What reads fields over I + 1/2 only is a value over I + 1/2; with any over I it is one over
        I: then the outputs on cells and on faces that need a value need the same one.
        """
        read: set[Dimension] = set()
        for index, coords in operands:
            for dim, coord in zip(self.nodes[index].dims, coords, strict=True):
                _, (base, _) = self.indices.plain(dim, coord)
                read |= {dim} if base == OWN else set(self.indices.mentioned([(dim, coord)]))
        pairs = ((dim, flip_staggered(dim)) for dim in dims)
        return {
            dim: other
            for dim, other in pairs
            if other in read and (dim not in read or is_staggered(dim))
        }

    def _node(self, key: tuple[object, ...], node: Node) -> Point:
        index = self._known.setdefault(key, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(node)
        return index, still(len(node.dims))

    def _coord(self, dim: Dimension, coord: Coord, env: Env) -> Coord:
        base, offset = coord
        if base == OWN:
            to, more = env.get(dim, (OWN, 0))
            return to, offset + more
        if base == FIXED:
            return coord
        value = self.indices[base]
        if isinstance(value, Level):
            return coord
        if isinstance(value, Along):
            to, more = env.get(value.dim, (base, 0))
            to = base if to == OWN else to
            back = to > OWN and self.indices[to] == Along(dim)
            return OWN if back else to, offset + more
        if isinstance(value, Entry):
            return self._index(self._entry(self.placed(value.point, env))), offset
        at = self._coord(value.dim, value.at, env)
        return self._index(Moved(value.dim, at, self.placed(value.by, env))), offset

    def _entry(self, point: Point) -> Entry:
        """Return the entry of a table at a place; one there and back is known."""
        index, ((row, one), (slot, other)) = point
        if min(row, slot) <= OWN or (one, other) != (0, 0):
            return Entry(point)
        table = self.nodes[index].value
        ways = self.indices[row], self.indices[slot]
        if not isinstance(table, Entries) or not all(isinstance(each, Entry) for each in ways):
            return Entry(point)
        back, which = (each.point for each in ways if isinstance(each, Entry))
        names = tuple(
            found.table if isinstance(found := self.nodes[node].value, Entries) else ""
            for node in (back[0], which[0])
        )
        if back[1] != which[1] or names != tuple(transposed_names([table.table])):
            return Entry(point)
        return Entry(point, (self.nodes[back[0]].dims[0], back[1][0]))

    def _index(self, value: Entry | Moved) -> int:
        index, _ = value.point if isinstance(value, Entry) else value.by
        found = self.nodes[index].value
        skip = isinstance(value, Entry) and isinstance(found, Entries) and found.skip
        return self.indices.add(value, found.dims, skip)
