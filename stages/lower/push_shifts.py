"""Push shifts, neighbours and displacements to the inputs, so that equal values share rows.

    shift(add(u, v), I+1)   becomes   add(shift(u, I+1), shift(v, I+1))

Shifts of shifts add up, a shift along a dimension in which the value does not vary vanishes, and
equivalent accesses share one row: see `paths`. A shift of a region moves its boxes. Some accesses
stay: a neighbour of a reduction (whose missing slots belong to its own rows) or of a region along
that dimension, a displacement of a displacement, and any access to the results of a scan.

Cost rule: a value that its users read at more than `SPREAD` points keeps the accesses to it, and
the count starts again below it. A neighbour of an expensive operation counts as `HEAVY` points, and
so does one of a value that is made from this one alone, whose operations are then not repeated. A
value of one dimension keeps all accesses through tables: each of them loads single elements, of
which one of the value replaces all those that it is made of.
Without the rule a chain of n stencils would become n**2 rows or more; with it a program grows at
most by the factor `SPREAD`. `codegen` decides for each such value whether to store it in an array.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from ...runtime.language import Dimension
from ...runtime.language.operation_table import TABLE
from ...runtime.process import classes
from ..ir.dataflow import (
    Bound,
    Collect,
    Dataflow,
    Displace,
    Map,
    Reduce,
    Ref,
    Region,
    Side,
    Value,
    add,
)
from .graph import Dims, Graph
from .paths import (
    Access,
    All,
    Fix,
    Jump,
    Move,
    Path,
    Pick,
    Slot,
    Step,
    Tables,
    inside,
    onto,
    points,
    step_of,
)
from .rewrite import rebuilt, with_values

SPREAD: Final = 16
HEAVY: Final = 4
EXPENSIVE: Final = frozenset(row.name for row in TABLE if not row.is_recomputed)
HIDING: Final = frozenset(row.name for row in TABLE if row.hides_nan)
STILL: Final[Path] = ()

Demand: TypeAlias = dict[Path, None]  # an ordered set
Wanted: TypeAlias = tuple[Ref, Path]


def push_shifts(program: Dataflow) -> Dataflow:
    """Push accesses to the inputs, except through values read at too many points."""
    return _Pusher(program).result()


def join_shifts(program: Dataflow) -> Dataflow:
    """Make one access of those that follow one another; push only those through tables."""
    return _Pusher(program, joins=True).result()


def push_checked_shifts(program: Dataflow) -> Dataflow:
    """Push accesses, but no neighbours through operations that may hide a missing one."""
    return _Pusher(program, checked=True).result()


@classes.define
class _Pusher:
    program: Dataflow
    checked: bool = False
    joins: bool = False
    tables: Tables = classes.field(init=False)
    demands: list[Demand] = classes.field(init=False)
    kept: list[bool] = classes.field(init=False)
    heavy: list[bool] = classes.field(init=False)
    rows: dict[Wanted, Ref] = classes.field(factory=dict)
    onto: dict[tuple[Dims, Path], Path] = classes.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.tables = {table.name: table for table in self.program.tables}
        self.demands = [{} for _ in self.program.values]
        self.kept = [False for _ in self.program.values]
        self.heavy = []
        for value in self.program.values:
            self.heavy.append(self._is_heavy(value))
        for statement in self.program.statements:
            for store in statement.stores:
                self.demands[store.value][STILL] = None
        for ref in range(len(self.demands) - 1, -1, -1):
            self.kept[ref] = self._is_kept(ref)
            for path in self.demands[ref]:
                for operand, at in self._operands(ref, self._split(ref, path)[0]):
                    self.demands[operand][at] = None

    def result(self) -> Dataflow:
        """Return the program after the pass."""
        return with_values(self.program, self.rebuilt(), lambda ref: self.rows[ref, STILL])

    def rebuilt(self) -> Graph:
        """Add every value at all of its paths to a new graph."""
        graph = Graph()
        for ref, demand in enumerate(self.demands):
            for path in demand:
                self._build(graph, (ref, path))
        return graph

    def _build(self, graph: Graph, wanted: Wanted) -> None:
        """Add a value after all its operands; the distance of a displacement may stand later."""
        stack = [wanted]
        while stack:
            ref, path = stack[-1]
            missing = [each for each in self._needs(ref, path) if each not in self.rows]
            if missing:
                stack += missing
                continue
            stack.pop()
            if (ref, path) not in self.rows:
                self.rows[ref, path] = self._row(graph, ref, path)

    def _needs(self, ref: Ref, path: Path) -> Iterator[Wanted]:
        inner, outer = self._split(ref, path)
        yield from self._operands(ref, inner)
        yield from (_by(step) for step in outer if isinstance(step, Jump))

    def _row(self, graph: Graph, ref: Ref, path: Path) -> Ref:
        value = self.program.values[ref]
        inner, outer = self._split(ref, path)
        moved = [self.rows[each] for each in self._operands(ref, inner)]
        if isinstance(value, Access | Displace):
            base = moved[0]
        else:
            if isinstance(value, Region):
                value = classes.evolve(value, boxes=_moved_boxes(value, inner))
            place = dict(zip(value.operands, moved, strict=True))
            base = rebuilt(graph, value, place.__getitem__, self.tables)
        for step in outer:
            base = self._applied(graph, base, step)
        return base

    def _applied(self, graph: Graph, base: Ref, step: Step) -> Ref:
        match step:
            case Move():
                return graph.shift(base, step.dim, step.offset, step.onto)
            case Pick():
                return graph.gather(base, self.tables[step.table], step.column)
            case All():
                return graph.neighbours(base, self.tables[step.table])
            case Slot():
                return graph.local(base, step.dim, step.place)
            case Fix():
                return graph.level(base, step.dim, step.at)
            case Jump():
                return graph.displace(base, step.dim, self.rows[_by(step)])

    def _operands(self, ref: Ref, path: Path) -> Iterator[Wanted]:
        """Yield each operand with its path, for a path that passes through the value."""
        value = self.program.values[ref]
        if isinstance(value, Access):
            yield value.arg, inside(step_of(value), path, self.tables)
        elif isinstance(value, Displace):
            by = self._onto(value.by, path)
            yield value.arg, (*self._onto(value.arg, path), Jump(value.dim, value.by, by))
            yield value.by, by
        else:
            yield from ((operand, self._onto(operand, path)) for operand in value.operands)

    def _onto(self, ref: Ref, path: Path) -> Path:
        if not path:
            return path
        key = (self.program.values[ref].dims, path)
        if key not in self.onto:
            self.onto[key] = onto(*key, self.tables)
        return self.onto[key]

    def _is_kept(self, ref: Ref) -> bool:
        value, demand = self.program.values[ref], self.demands[ref]
        if not isinstance(value, Map | Region | Reduce):
            return False
        if self.checked and _may_hide(value) and any(_is_indirect(path) for path in demand):
            return True
        if len(value.dims) == 1 and any(_is_indirect(path) for path in demand):
            return True
        if self.joins and not any(_is_indirect(path) for path in demand):
            return True
        counts = (self._points(path, HEAVY if self.heavy[ref] else 1) for path in demand)
        return sum(counts) > SPREAD

    def _is_heavy(self, value: Value) -> bool:
        """Tell whether a value is an expensive operation, or made from one and scalars."""
        if not isinstance(value, Map):
            return False
        fields = [each for each in dict.fromkeys(value.operands) if self.program.values[each].dims]
        return value.op in EXPENSIVE or (len(fields) == 1 and self.heavy[fields[0]])

    def _points(self, path: Path, heavy: int) -> int:
        return points(path, self.tables) * (heavy if _is_indirect(path) else 1)

    def _split(self, ref: Ref, path: Path) -> tuple[Path, Path]:
        """Split a path into the steps that pass through a value and those that stay outside."""
        value = self.program.values[ref]
        if isinstance(value, Collect):
            return STILL, path
        if not path or isinstance(value, Access) or (isinstance(value, Map) and not self.kept[ref]):
            return path, STILL
        if self.kept[ref] or not isinstance(value, Region | Reduce | Displace):
            return STILL, path
        count = 0
        fixed = _fixed(value, self.tables)
        for step in path:
            if not self._passes(value, step, fixed):
                break
            count += 1
            if isinstance(step, Move) and step.dim in fixed:
                fixed = [step.onto if dim is step.dim else dim for dim in fixed]
        return path[:count], path[count:]

    def _passes(self, value: Value, step: Step, fixed: list[Dimension]) -> bool:
        """Tell whether a step passes through a value that depends on the indices of `fixed`."""
        match step:
            case Slot():
                return True
            case Move():
                if isinstance(value, Displace):
                    return step.dim not in fixed or step.onto is step.dim
                return isinstance(value, Region) or step.dim not in fixed
            case Fix():
                return step.dim not in fixed
            case Jump():
                return not isinstance(value, Displace) and step.dim not in fixed
            case Pick() | All():
                is_free = self.tables[step.table].source not in fixed
                return is_free and not isinstance(value, Reduce)


def _by(step: Jump) -> Wanted:
    return step.by, step.path


def _is_indirect(path: Path) -> bool:
    return any(isinstance(step, Pick | All) for step in path)


def _may_hide(value: Value) -> bool:
    """Tell whether a value may be a number where an operand is NaN, as a missing neighbour is."""
    return isinstance(value, Region) or (isinstance(value, Map) and value.op in HIDING)


def _fixed(value: Region | Reduce | Displace, tables: Tables) -> list[Dimension]:
    match value:
        case Region():
            return [side.dim for box in value.boxes for side in box]
        case Reduce():
            return [tables[value.table].target]
        case Displace():
            return [value.dim]


def _moved_boxes(value: Region, path: Path) -> tuple[tuple[Side, ...], ...]:
    boxes = value.boxes
    for step in path:
        if isinstance(step, Move):
            boxes = tuple(tuple(_moved(side, step) for side in box) for box in boxes)
    return boxes


def _moved(side: Side, step: Move) -> Side:
    if side.dim is not step.dim:
        return side
    return Side(step.onto, _less(side.start, step.offset), _less(side.stop, step.offset))


def _less(bound: Bound | None, offset: int) -> Bound | None:
    return None if bound is None else add(bound, -offset)
