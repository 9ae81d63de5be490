"""The adjoints of accesses through tables: gathers through transposed tables."""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.language.dimension import Dimension, DimensionKind
from ...runtime.meshes.transposed_tables import name_of_slot
from ...runtime.process import classes
from ...runtime.process.errors import DerivativeError
from ..artifacts import Variant
from ..ir.dataflow import Dataflow, Gather, Neighbours, Reduce, Ref, Table
from .joining import sides_of
from .parts import Part, also, extended
from .sweep import Sweep, not_yet


@classes.frozen(eq=False)
class Tables:
    """The tables of a program, and those that a call has beside them."""

    own: Mapping[str, Table]
    given: Mapping[str, tuple[int, bool]]
    used: dict[str, Table] = classes.field(factory=dict)

    @classmethod
    def of(cls, program: Dataflow, variant: Variant) -> Tables:
        """Return the tables of a program in a variant."""
        own = {table.name: table for table in program.tables}
        given = {name: (width, skip) for name, width, skip in variant.tables}
        return cls(own, given, dict(own))

    def slot(self, name: str, slot: int) -> Table:
        """Return the transposed table of a slot."""
        wanted, table = name_of_slot(name, slot), self.own[name]
        if wanted not in self.given:
            raise DerivativeError(
                f"The adjoint of a program that reads neighbours by '{name}' needs transposed "
                "tables.",
                hints=["Give 'offset_provider=ff.transposed(...)' to the call or the build."],
            )
        width, skip = self.given[wanted]
        local = Dimension(wanted, DimensionKind.LOCAL)
        self.used[wanted] = Table(wanted, table.target, table.source, local, width, skip)
        return self.used[wanted]


def gathered_back(sweep: Sweep, tables: Tables, value: Gather | Neighbours, part: Part) -> None:
    """Hand the contribution of neighbours to the points that they are."""
    row = extended(sweep.rows, part)
    if isinstance(value, Gather):
        _back(sweep, tables, value, {value.index: row})
        return
    table = tables.own[value.table]
    slots = range(table.width)
    _back(
        sweep, tables, value,
        {slot: sweep.rows.graph.local(row, table.local, slot) for slot in slots},
    )  # fmt: skip


def _back(
    sweep: Sweep, tables: Tables, value: Gather | Neighbours, rows: Mapping[int, Ref]
) -> None:
    """Sum what the points hand back that have one for a neighbour in some slots."""
    graph = sweep.rows.graph
    found: list[Ref] = []
    for slot, row in rows.items():
        back = tables.slot(value.table, slot)
        found.append(graph.reduce("sum", graph.neighbours(row, back), back))
    assert sweep.boxes is not None  # there are no tables in bodies
    part = Part(sweep.rows.sum(found), sides_of(sweep.boxes[value.arg]))
    sweep.give(value.arg, part, sweep.values[value.arg].dims)


def spread(sweep: Sweep, tables: Tables, row: Ref, value: Reduce, part: Part) -> None:
    """Hand the contribution of a sum to all its slots, of an extreme to the slot it takes."""
    graph, table = sweep.rows.graph, tables.own[value.table]
    dims = sweep.values[value.arg].dims
    if value.op != "sum":
        _to_extreme(sweep, tables, row, value, part)
    elif table.local not in dims:  # equal in all slots
        sweep.give(value.arg, Part(graph.reduce("sum", extended(sweep.rows, part), table)), dims)
    else:
        sweep.give(value.arg, part, value.dims)


def _to_extreme(sweep: Sweep, tables: Tables, row: Ref, value: Reduce, part: Part) -> None:
    """Follow the fold backwards: the last slot that equals the result takes all."""
    table = tables.own[value.table]
    if table.skip or table.local not in sweep.values[value.arg].dims:
        raise not_yet(f"takes an extreme by '{table.name}', in which neighbours may be missing")
    rows, left = sweep.rows, sweep.within(row, part)
    for slot in reversed(range(table.width)):
        own = rows.graph.local(value.arg, table.local, slot)
        taken = rows.apply("eq", own, row)
        to_slot(sweep, tables, value.arg, slot, also(rows, left, taken))
        left = also(rows, left, rows.apply("not", taken))


def to_slot(sweep: Sweep, tables: Tables, row: Ref, slot: int, part: Part) -> None:
    """Hand a contribution to one slot of all neighbours."""
    if row not in sweep.active:
        return
    value = sweep.values[row]
    if not isinstance(value, Neighbours):
        raise not_yet(f"takes slot {slot} of a sparse field, or of a value for all slots")
    _back(sweep, tables, value, {slot: extended(sweep.rows, part)})
