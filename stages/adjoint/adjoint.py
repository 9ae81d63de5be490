"""The adjoint of a program: how a cost moves with each input, by a sweep from its outputs.

The program is one statement on the values at entry (see `joining`). The sweep visits its values in
reverse; each gets the sum of the contributions of its users, in their order, and hands its own to
its operands. An adjoint of a shift is a shift back, that of a choice a choice, and each point sums
its contributions itself: no two points write to one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...runtime.process import classes
from ..ir.dataflow import (
    Body,
    Collect,
    Dataflow,
    Displace,
    Gather,
    Input,
    Leaf,
    Level,
    Local,
    Map,
    Neighbours,
    Ranges,
    Reduce,
    Ref,
    Region,
    Result,
    Scalar,
    Scan,
    Shift,
    Side,
    Statement,
    Store,
    Value,
    add,
)
from ..lower.boxes.infer_boxes import infer_boxes
from ..lower.domains import whole
from ..lower.regions import EVERYWHERE, Boxes, without
from ..lower.split_regions import within
from .activity import Leaves, active_rows
from .coverage import exact_reads
from .explaining import Told
from .gathers import Tables, gathered_back, spread, to_slot
from .joining import sides_of
from .keeping import reading_kept, with_kept
from .names import partner
from .parts import Part, also, everywhere, extended, inside, plain, shifted
from .reverse_scans import reversed_scan
from .rows import Rows
from .sweep import Sweep, not_yet


@classes.frozen
class Wanted:
    """Which adjoint a program gets, in leaves of the program.

    Attributes:
        wrt: the inputs whose adjoints are written.
        of: the outputs whose adjoints are given.
        added: those of `wrt` whose adjoints are added to what the field holds.
        value: whether the outputs are written too.
        names: the pattern of the names of adjoints.
        keep: outputs that are read as they are after the program, and not computed again.

    """

    wrt: tuple[str, ...]
    of: tuple[str, ...]
    added: frozenset[str]
    value: bool
    names: str
    keep: tuple[str, ...] = ()


@classes.frozen
class Derived:
    """An adjoint, how many of its rows are those of its program, the bodies of its own scans."""

    program: Dataflow
    forward: int
    bodies: frozenset[Body]
    told: Told


def adjoint(program: Dataflow, wanted: Wanted, leaves: Sequence[Leaf], tables: Tables) -> Derived:
    """Return the adjoint of a program, whose leaves are given."""
    written = dict.fromkeys(store.target for each in program.statements for store in each.stores)
    final = tuple(written) if wanted.value else wanted.of
    entire, kept = with_kept(program, final, wanted.keep)
    forward = infer_boxes(entire)
    values = forward.program.values
    active, states = active_rows(values, frozenset(wanted.wrt))
    sweep = Sweep.over(values, active, forward.boxes, program.tables)
    exact = exact_reads(forward.program) - frozenset(written)
    return _Adjoint(forward.program, wanted, sweep, states, tables, exact, kept).result(leaves)


@classes.define(eq=False)
class _Adjoint:
    program: Dataflow
    wanted: Wanted
    sweep: Sweep
    states: Leaves
    tables: Tables
    exact: frozenset[str]
    kept: Mapping[Ref, Input]
    results: dict[Ref, dict[int, Part]] = classes.field(factory=dict)
    bodies: list[Body] = classes.field(factory=list)
    origins: dict[Ref, Ref] = classes.field(factory=dict)

    @property
    def rows(self) -> Rows:
        """What computes with rows."""
        return self.sweep.rows

    def result(self, leaves: Sequence[Leaf]) -> Derived:
        """Sweep, and return the adjoint."""
        for store in self.program.statements[0].stores:
            if store.target in self.wanted.of:
                self._seed(store)
        for row in reversed(range(len(self.program.values))):
            first = len(self.rows.graph.values)
            self._visit(row, self.program.values[row])
            self.origins |= dict.fromkeys(range(first, len(self.rows.graph.values)), row)
        stores = self._stores({leaf.name: leaf for leaf in leaves})
        made = classes.evolve(
            self.program,
            parameters=tuple(dict.fromkeys(leaf.name.partition(".")[0] for leaf in leaves)),
            leaves=tuple(leaves),
            values=reading_kept(self.rows.graph.values, self.kept, stores),
            statements=(Statement(tuple(stores)),),
            tables=tuple(table for _, table in sorted(self.tables.used.items())),
        )
        told = Told(self.program, self.sweep.active, self.kept, self.origins)
        return Derived(made, len(self.program.values), frozenset(self.bodies), told)

    def _seed(self, store: Store) -> None:
        leaf = next(each for each in self.program.leaves if each.name == store.target)
        given = self.rows.graph.input(partner(leaf.name, self.wanted.names), leaf.dims, leaf.dtype)
        self.sweep.give(store.value, Part(given, sides_of(store.box) or None), leaf.dims)

    def _visit(self, row: Ref, value: Value) -> None:
        if isinstance(value, Scan) and row in self.results:
            found = self.results.pop(row)
            self.bodies.append(reversed_scan(self.sweep, row, value, self.states[row], found))
            return
        part = None if isinstance(value, Input | Scalar) else self.sweep.total(row)
        if part is None:
            return
        match value:
            case Map():
                self.sweep.map(row, value, part)
            case Shift():
                moved = shifted(self.rows, everywhere(self.rows, part), value)
                self.sweep.give(value.arg, moved, self.program.values[value.arg].dims)
            case Region():
                self._region(row, value, part)
            case Result():
                self.results.setdefault(value.scan, {})[value.index] = part
            case Displace():
                raise not_yet("moves by 'as_offset'")
            case Gather() | Neighbours() | Collect():
                gathered_back(self.sweep, self.tables, value, part)
            case Reduce():
                spread(self.sweep, self.tables, row, value, part)
            case Local():
                to_slot(self.sweep, self.tables, value.arg, value.index, part)
            case Level():
                level = (Side(value.dim, value.at, add(value.at, 1)),)
                self.sweep.give(value.arg, inside(part, level), value.dims)
            case _:
                raise not_yet(f"has a '{type(value).__name__}'")

    def _region(self, row: Ref, value: Region, part: Part) -> None:
        whole, zero = everywhere(self.rows, part), self.rows.number(0.0, part.row)
        if len(value.boxes) == 1:
            self.sweep.give(value.then, inside(part, value.boxes[0]), value.dims, row)
        else:
            then = self.rows.graph.region(value.boxes, whole.row, zero)
            given = classes.evolve(whole, row=then, cover=value.boxes)
            self.sweep.give(value.then, given, value.dims, row)
        row_outside = self.rows.graph.region(value.boxes, zero, whole.row)
        other = classes.evolve(whole, row=row_outside)
        if not _is_one_side(value.boxes):  # else the box of the operand ends there
            no, yes = (self.rows.graph.literal("bool", text) for text in ("False", "True"))
            outside = self.rows.graph.region(value.boxes, no, yes)
            other = classes.evolve(also(self.rows, other, outside), is_zero=True)
        self.sweep.give(value.otherwise, other, value.dims, row)

    def _stores(self, leaves: Mapping[str, Leaf]) -> list[Store]:
        stores = []
        for name in self.wanted.wrt:
            leaf = leaves[partner(name, self.wanted.names)]
            row = next((r for r, v in enumerate(self.program.values) if _is_entry(v, name)), None)
            stores += self._written(name, leaf, row)
        if self.wanted.value:
            stores += self.program.statements[0].stores
        return stores

    def _written(self, name: str, leaf: Leaf, row: Ref | None) -> list[Store]:
        part = None if row is None else self.sweep.total(row)
        is_added = name in self.wanted.added
        if part is None:
            zero = self.rows.literal(0.0, leaf.dtype)
            return [] if is_added else [Store(leaf.name, whole(leaf), zero)]
        if any(table.skip and table.local in leaf.dims for table in self.program.tables):
            raise not_yet(f"reads '{name}', a sparse field in which neighbours may be missing")
        assert row is not None  # it has contributions
        assert self.sweep.boxes is not None  # a program has some
        box = self.sweep.boxes[row]
        if not is_added:
            if name not in self.exact:
                return [Store(leaf.name, whole(leaf), extended(self.rows, part))]
            return self._with_zeros(leaf, box, part)
        before = self.rows.graph.input(leaf.name, leaf.dims, leaf.dtype)
        more = self.rows.apply("add", before, extended(self.rows, part))
        return [Store(leaf.name, box, more)]

    def _with_zeros(self, leaf: Leaf, box: Ranges, part: Part) -> list[Store]:
        """Store a contribution on the box that is read, which the field must have, and 0 around."""
        sides = sides_of(box)
        row = (plain if part.box == sides and part.need is None else extended)(self.rows, part)
        zero, output = self.rows.literal(0.0, leaf.dtype), whole(leaf)
        outside = (within(output, each) for each in without(EVERYWHERE, (sides,)))
        return [
            Store(leaf.name, box, row, output),
            *(Store(leaf.name, each, zero, output) for each in outside if each is not None),
        ]


def _is_one_side(boxes: Boxes) -> bool:
    """Tell whether boxes are all points on one side of a bound."""
    ends = [end for each in boxes for side in each for end in (side.start, side.stop)]
    return len(boxes) == 1 and sum(end is not None for end in ends) == 1


def _is_entry(value: Value, name: str) -> bool:
    if isinstance(value, Scalar):
        return value.name == name
    return isinstance(value, Input) and value.name == name and value.version == 0
