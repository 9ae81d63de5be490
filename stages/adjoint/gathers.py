"""The adjoints of accesses through tables: gathers through transposed tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...runtime.language.dimension import Dimension, DimensionKind
from ...runtime.meshes.transposed_tables import name_of_slot
from ...runtime.process import classes
from ...runtime.process.errors import DerivativeError
from ..artifacts import Variant
from ..ir.dataflow import Dataflow, Gather, Neighbours, Reduce, Ref, Table
from .joining import sides_of
from .parts import Part, also, everywhere
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
    slots = (value.index,) if isinstance(value, Gather) else range(tables.own[value.table].width)
    _back(sweep, tables, value, part, slots)


def _back(
    sweep: Sweep, tables: Tables, value: Gather | Neighbours, part: Part, slots: Iterable[int]
) -> None:
    """Hand on what the points hand back that have one for a neighbour in some slots."""
    rows, graph, local = sweep.rows, sweep.rows.graph, tables.own[value.table].local
    backs = {slot: tables.slot(value.table, slot) for slot in slots}

    def back(row: Ref) -> Ref:
        """Sum a row over the points that have this one for a neighbour, slot by slot."""
        own = ((graph.local(row, local, slot), table) for slot, table in backs.items())
        return rows.sum(
            [graph.reduce("sum", graph.neighbours(each, table), table) for each, table in own]
        )

    assert sweep.boxes is not None  # there are no tables in bodies
    whole = everywhere(rows, part)
    need = whole.need
    if need is not None:
        zero = rows.number(0.0, whole.row)
        count = back(rows.apply("select", need, rows.number(1.0, whole.row), zero))
        need = rows.apply("ne", count, zero)
    given = Part(back(whole.row), sides_of(sweep.boxes[value.arg]), need, True, whole.is_negative)
    sweep.give(value.arg, given, sweep.values[value.arg].dims)


def spread(sweep: Sweep, tables: Tables, row: Ref, value: Reduce, part: Part) -> None:
    """Hand the contribution of a sum to all its slots, of an extreme to the slot it takes."""
    graph, table = sweep.rows.graph, tables.own[value.table]
    dims = sweep.values[value.arg].dims
    if value.op != "sum":
        _to_extreme(sweep, tables, row, value, part)
    elif table.local not in dims:  # equal in all slots
        whole = everywhere(sweep.rows, part)
        sweep.give(
            value.arg, classes.evolve(whole, row=graph.reduce("sum", whole.row, table)), dims
        )
    else:
        sweep.give(value.arg, part, value.dims, row)


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
    _back(sweep, tables, value, part, (slot,))
