"""The adjoints of accesses through tables: points collect what others hand back to them."""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.language import Dimension
from ...runtime.meshes.transposed_tables import ROWS, transposed_names, transposed_slots
from ...runtime.process import DerivativeError, classes
from ..artifacts import Variant
from ..ir.dataflow import Collect, Dataflow, Gather, Map, Neighbours, Reduce, Ref, Table
from .joining import sides_of
from .parts import Part, also, everywhere
from .rows import Rows
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

    def back(self, name: str) -> tuple[Table, Table]:
        """Return the transpose of a table, and its slots."""
        own, names = self.own[name], tuple(transposed_names([name]))
        if not self.given.keys() >= set(names):
            raise DerivativeError(
                f"The adjoint of a program that reads neighbours by '{name}' needs transposed "
                "tables.",
                hints=[
                    "Give the tables themselves to the build, or "
                    "'offset_provider=ff.transposed(...)'."
                ],
            )
        local = transposed_slots(name)
        for each, holds in zip(names, (own.target, own.local), strict=True):
            self.used[each] = Table(each, holds, own.source, local, *self.given[each])
        return self.used[names[0]], self.used[names[1]]

    def ahead(self, back: str) -> Table | None:
        """Return the table whose transpose has a name; None if it is no transpose."""
        base, _, kind = back.rpartition("_")
        return self.own.get(base) if kind == ROWS else None


def gathered_back(
    sweep: Sweep, tables: Tables, value: Gather | Neighbours | Collect, part: Part
) -> None:
    """Hand the contribution of neighbours to the points that they are."""
    if tables.ahead(value.table) is not None:
        _handed_out(sweep, tables, value, part)
    else:
        _back(sweep, tables, value, part, value.index if isinstance(value, Gather) else None)


def _handed_out(
    sweep: Sweep, tables: Tables, value: Gather | Neighbours | Collect, part: Part
) -> None:
    """Hand the contribution of what was collected to where it came from: by the table itself.

    What was collected was summed, so all that is listed gets the same.
    """
    graph, table = sweep.rows.graph, tables.ahead(value.table)
    assert table is not None
    whole = everywhere(sweep.rows, part)
    if whole.need is not None or tables.own[value.table].local in graph[whole.row].dims:
        raise not_yet(f"takes neighbours by '{value.table}' other than to sum them")
    if isinstance(value, Collect) and value.index is None:
        row = graph.neighbours(whole.row, table)
    elif isinstance(value, Collect) and value.index is not None:
        row = graph.gather(whole.row, table, value.index)
    else:
        row = graph.reduce("sum", graph.neighbours(whole.row, table), table)
    box = sides_of(sweep.boxes[value.arg]) if sweep.boxes else None
    given = classes.evolve(whole, row=row, box=box)
    sweep.give(value.arg, given, graph[row].dims)


def _back(
    sweep: Sweep, tables: Tables, value: Gather | Neighbours | Collect, part: Part, slot: int | None
) -> None:
    """Hand on what the points hand back that have one for a neighbour, in any slot or in one."""
    rows, graph = sweep.rows, sweep.rows.graph
    table, slots = tables.back(value.table)

    def back(row: Ref) -> Ref:
        """Sum a row over the points that have this one for a neighbour."""
        return graph.reduce("sum", graph.collect(row, table, slots, slot), table)

    assert sweep.boxes is not None  # there are no tables in bodies
    whole = _weighted(rows, part, slots.source)
    if table.source not in graph[whole.row].dims:
        return  # it is 0: what a program computes on a box varies along it
    need = whole.need
    if need is not None:
        zero = rows.number(0.0, whole.row)
        count = back(rows.apply("select", need, rows.number(1.0, whole.row), zero))
        need = rows.apply("ne", count, zero)
    given = Part(back(whole.row), sides_of(sweep.boxes[value.arg]), need, True, whole.is_negative)
    sweep.give(value.arg, given, sweep.values[value.arg].dims)


def _weighted(rows: Rows, part: Part, local: Dimension) -> Part:
    """Return a contribution everywhere; one with weights as a product of what is 0 elsewhere.

    Then loops over levels test no box: the weights have none.
    """
    value, box = rows.graph[part.row], part.box
    if not (isinstance(value, Map) and value.op == "mul" and box) or part.need is not None:
        return everywhere(rows, part)
    if [local in rows.graph[each].dims for each in value.args].count(True) != 1:
        return everywhere(rows, part)
    zero = rows.number(0.0, part.row)
    sides = (
        (each, tuple(side for side in box if side.dim in rows.graph[each].dims))
        for each in value.args
    )
    row = rows.apply("mul", *(rows.graph.region((own,), each, zero) for each, own in sides))
    return classes.evolve(part, row=row, box=None, is_zero=True)


def spread(sweep: Sweep, tables: Tables, row: Ref, value: Reduce, part: Part) -> None:
    """Hand the contribution of a sum to all its slots, of an extreme to the slot it takes."""
    graph, table = sweep.rows.graph, tables.own[value.table]
    dims = sweep.values[value.arg].dims
    if value.op != "sum":
        _to_extreme(sweep, tables, row, value, part)
    elif table.local not in dims:  # equal in all slots
        whole = everywhere(sweep.rows, part)
        added = classes.evolve(whole, row=graph.reduce("sum", whole.row, table))
        sweep.give(value.arg, added, value.dims, row)
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
    _back(sweep, tables, value, part, slot)
