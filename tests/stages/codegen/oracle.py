"""The meaning of a dataflow program, one point at a time: slow, and like nothing that we ship."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fieldforge.runtime.language import operations
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.ir import bounds, dataflow
from fieldforge.stages.ir.bounds import Const, DomainSymbol, ScalarSymbol, TableBound
from fieldforge.stages.ir.literal import number

from .grids import At

Place = dict[Dimension, int]


class Undefined(Exception):
    """The value of something that the language leaves open, as a missing neighbour."""


class Oracle:
    """Runs programs on arrays with starts, scalars, and tables that begin at row 0."""

    def __init__(
        self, program: dataflow.Dataflow, arguments: Mapping[str, Any], tables: Mapping[str, Any]
    ) -> None:
        self.program = program
        self.arguments = arguments
        self.tables = tables
        self.known = {table.name: table for table in program.tables}
        self.reads: dict[str, set[tuple[int, ...]]] = {}
        self.undefined: list[tuple[str, tuple[int, ...]]] = []

    def run(self) -> None:
        with np.errstate(all="ignore"):
            for statement in self.program.statements:
                self._run(statement)

    def _run(self, statement: dataflow.Statement) -> None:
        self.memo: dict[Any, Any] = {}
        self.columns: dict[Any, Any] = {}
        boxes = [
            [(self.bound(each.start), self.bound(each.stop)) for each in store.box]
            for store in statement.stores
        ]
        found = []
        for store, box in zip(statement.stores, boxes, strict=True):
            dims = [each.dim for each in store.box]
            shape = [max(0, stop - start) for start, stop in box]
            for offsets in np.ndindex(*shape):
                index = tuple(start + n for (start, _), n in zip(box, offsets, strict=True))
                try:
                    value = self.value(store.value, dict(zip(dims, index, strict=True)))
                    found.append((store.target, index, value))
                except Undefined:
                    self.undefined.append((store.target, index))
        for target, index, value in found:
            at: At = self.arguments[target]
            at.array[self._inside(at, index)] = value

    def _inside(self, at: At, index: tuple[int, ...]) -> tuple[int, ...]:
        places = tuple(i - start for i, start in zip(index, at.starts, strict=True))
        if any(not 0 <= i < n for i, n in zip(places, at.array.shape, strict=True)):
            raise IndexError(index)
        return places

    def bound(self, bound: bounds.Bound) -> int:
        def value_of(symbol: bounds.Symbol) -> int:
            match symbol:
                case ScalarSymbol(name=name):
                    return int(self.arguments[name])
                case DomainSymbol(end=end, field=name, dim=dim):
                    leaf = next(each for each in self.program.leaves if each.name == name)
                    at, axis = self.arguments[name], leaf.dims.index(dim)
                    return int(at.starts[axis] + (end == "stop") * at.array.shape[axis])
                case TableBound(end=end, table=name, start=Const(value=a), stop=Const(value=b)):
                    rows = self.tables[name][a:b]
                    rows = rows[rows >= 0]
                    return int(
                        0 if not rows.size else rows.min() if end == "lowest" else rows.max() + 1
                    )
            raise TypeError(symbol)

        return bounds.evaluate(bound, value_of)

    def value(self, ref: int, place: Place) -> Any:
        row = self.program.values[ref]
        key = (ref, tuple(place[dim] for dim in row.dims))
        if key not in self.memo:
            try:
                self.memo[key] = self._value(row, {dim: place[dim] for dim in row.dims})
            except Undefined as error:
                self.memo[key] = error
        if isinstance(self.memo[key], Undefined):
            raise self.memo[key]
        return self.memo[key]

    def _value(self, row: dataflow.Value, place: Place) -> Any:  # noqa: PLR0912 - one case a value
        match row:
            case dataflow.Input(name=name):
                at, index = self.arguments[name], tuple(place[dim] for dim in row.dims)
                self.reads.setdefault(name, set()).add(index)
                return at.array[self._inside(at, index)]
            case dataflow.Scalar(name=name):
                return np.dtype(row.dtype).type(self.arguments[name])
            case dataflow.Literal(text=text):
                return number(text, row.dtype)
            case dataflow.Map(op=op, args=args):
                values = [self._or_none(arg, place) for arg in args]
                if op == "select" and values[0] is not None:
                    # a choice is defined if what it chooses is
                    values = [values[0], *([values[1 if values[0] else 2]] * 2)]
                if any(value is None for value in values):
                    raise Undefined
                dtype = row.dtype if op == "cast" else None
                return operations.apply(op, *values, dtype=dtype)
            case dataflow.Shift(arg=arg, dim=dim, offset=offset):
                moved = {each: place[each] for each in row.dims if each is not row.onto}
                return self.value(arg, {**moved, dim: place[row.onto] + offset})
            case dataflow.Gather(arg=arg, table=name, index=slot):
                return self._neighbour(arg, self.known[name], slot, place)
            case dataflow.Neighbours(arg=arg, table=name):
                table = self.known[name]
                return self._neighbour(arg, table, place[table.local], place)
            case dataflow.Local(arg=arg, dim=dim, index=slot):
                return self.value(arg, {**place, dim: slot})
            case dataflow.Level(arg=arg, dim=dim, at=at):
                return self.value(arg, {**place, dim: self.bound(at)})
            case dataflow.Displace(arg=arg, dim=dim, by=by):
                return self.value(arg, {**place, dim: place[dim] + int(self.value(by, place))})
            case dataflow.Reduce():
                return self._reduce(row, place)
            case dataflow.Region(boxes=boxes, then=then, otherwise=otherwise):
                inside = any(all(self._in(side, place) for side in box) for box in boxes)
                return self.value(then if inside else otherwise, place)
            case dataflow.Result(scan=scan, index=leaf):
                walk = self.program.values[scan]
                assert isinstance(walk, dataflow.Scan)
                return self._level(scan, walk, place)[leaf]
        raise TypeError(row)

    def _or_none(self, ref: int, place: Place) -> Any:
        try:
            return self.value(ref, place)
        except Undefined:
            return None

    def _neighbour(self, arg: int, table: dataflow.Table, slot: int, place: Place) -> Any:
        entry = int(self.tables[table.name][place[table.target], slot])
        if entry < 0:
            raise Undefined
        return self.value(arg, {**place, table.source: entry})

    def _in(self, side: dataflow.Side, place: Place) -> bool:
        low = side.start is None or place[side.dim] >= self.bound(side.start)
        return low and (side.stop is None or place[side.dim] < self.bound(side.stop))

    def _reduce(self, row: dataflow.Reduce, place: Place) -> Any:
        table, kind = self.known[row.table], np.dtype(row.dtype)
        limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
        first = {"sum": 0, "max": limits.min, "min": limits.max}[row.op]
        total = kind.type(first)
        op = {"sum": "add", "max": "maximum", "min": "minimum"}[row.op]
        for slot in range(table.width):
            if table.skip and self.tables[table.name][place[table.target], slot] < 0:
                continue
            total = operations.apply(op, total, self.value(row.arg, {**place, table.local: slot}))
        return total

    def _level(self, ref: int, scan: dataflow.Scan, place: Place) -> list[Any]:
        """Return the state at one level of a column, which is walked once."""
        rest = {dim: i for dim, i in place.items() if dim is not scan.axis}
        key = (ref, tuple(rest.values()))
        if key not in self.columns:
            self.columns[key] = self._column(scan, rest)
        found = self.columns[key].get(place[scan.axis])
        if found is None:
            raise Undefined
        return found  # type: ignore[no-any-return]

    def _column(self, scan: dataflow.Scan, rest: Place) -> dict[int, list[Any] | None]:
        levels = range(self.bound(scan.start), self.bound(scan.stop))
        state: list[Any] | None = [self.value(each, rest) for each in scan.init]
        column: dict[int, list[Any] | None] = {}
        for level in levels if scan.forward else reversed(levels):
            if state is not None:
                args = [self._or_none(arg, {**rest, scan.axis: level}) for arg in scan.args]
                state = self._step(scan.body, state, args)
            column[level] = state
        return column

    def _step(self, body: dataflow.Body, state: list[Any], args: list[Any]) -> list[Any] | None:
        if any(arg is None for arg in args):
            return None
        rows: list[Any] = []
        for value in body.values:
            match value:
                case dataflow.Scalar(name=name):
                    rows.append((state if name[0] == "s" else args)[int(name[1:])])
                case dataflow.Literal(text=text):
                    rows.append(number(text, value.dtype))
                case dataflow.Map(op=op, args=inner):
                    dtype = value.dtype if op == "cast" else None
                    rows.append(operations.apply(op, *(rows[ref] for ref in inner), dtype=dtype))
        return [rows[ref] for ref in body.results]
