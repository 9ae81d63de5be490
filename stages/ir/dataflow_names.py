"""Print rows, declarations, boxes and bounds of dataflow, with labels for dimensions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from ...runtime.language.dimension import Dimension
from .bounds import (
    Apply,
    Bound,
    Const,
    DomainSymbol,
    PatchBound,
    PatchOrder,
    Range,
    Ranges,
    ScalarSymbol,
    TableBound,
    is_long,
    parts,
)
from .dataflow import (
    Displace,
    Gather,
    Input,
    Leaf,
    Literal,
    Local,
    Map,
    Neighbours,
    Reduce,
    Ref,
    Region,
    Result,
    Scalar,
    Scan,
    Shift,
    Side,
    Store,
    Table,
    Value,
)
from .listing_line import NAME, NUMBER


def quoted(name: str) -> str:
    """Return a name as a listing writes it.

    >>> quoted("pair.0"), quoted("my field")
    ('pair.0', '"my field"')
    """
    return name if NAME.fullmatch(name) else json.dumps(name)


def rows_of(refs: Iterable[Ref]) -> str:
    """Return references as a row lists them, each after a space."""
    return "".join(f" %{ref}" for ref in refs)


class Names:
    """Print parts of a listing that refer to dimensions by label and to some bounds by name."""

    def __init__(self, dims: Iterable[Dimension]) -> None:
        order = sorted(set(dims), key=lambda dim: (dim.kind.value, dim.value))
        count = Counter(dim.value for dim in order)
        self.labels = {
            dim: quoted(dim.value) + (f"[{dim.kind}]" if count[dim.value] > 1 else "")
            for dim in order
        }
        self.orders: dict[PatchOrder, str] = {}  # of patches, in loops only
        self._bounds: dict[Bound, str] = {}

    def type(self, value: Value | Leaf) -> str:
        """Print dimensions and dtype."""
        return f"{self._dims(value.dims)} {value.dtype}" if value.dims else value.dtype

    def leaf(self, leaf: Leaf, natural: tuple[int, ...]) -> str:
        """Print the declaration of a leaf."""
        where = "" if leaf.path == natural else f" at {'.'.join(map(str, leaf.path))}"
        known = f" on {self.box(leaf.ranges)}" if leaf.ranges else ""
        return f"{leaf.kind} {quoted(leaf.name)}{where}: {self.type(leaf)}{known}"

    def table(self, table: Table) -> str:
        """Print the declaration of a neighbour table."""
        dims, source = self._dims((table.target, table.local)), self.labels[table.source]
        skip = " skip" if table.skip else ""
        return f"table {quoted(table.name)}: {dims} -> {source} width {table.width}{skip}"

    def store(self, store: Store) -> str:
        """Print a store, and the box of the output that it is a part of."""
        whole = "" if store.whole is None else f" of [{self.box(store.whole)}]"
        return f"  {quoted(store.target)}[{self.box(store.box)}]{whole} = %{store.value}"

    def _dims(self, dims: Iterable[Dimension]) -> str:
        return f"[{', '.join(self.labels[dim] for dim in dims)}]"

    def value(self, value: Value) -> str:
        """Print the operation of a row, and its type."""
        return f"{self._what(value)} : {self.type(value)}"

    def _what(self, value: Value) -> str:
        match value:
            case Input() | Scalar() | Literal():
                return _leaf_value(value)
            case Map():
                return value.op + rows_of(value.args)
            case Reduce():
                return f"{value.op} %{value.arg} over {quoted(value.table)}"
            case Region():
                sides = (", ".join(map(self.side, box)) for box in value.boxes)
                boxes = "".join(f" [{each}]" for each in sides)
                return f"region{boxes} %{value.then} %{value.otherwise}"
            case Scan():
                return self._scan(value)
            case Result():
                return f"result %{value.scan} {value.index}"
        return self._access(value)

    def _access(self, value: Value) -> str:
        match value:
            case Shift():
                return f"shift %{value.arg} {self.labels[value.dim]}{value.offset:+d}"
            case Displace():
                return f"displace %{value.arg} {self.labels[value.dim]} %{value.by}"
            case Gather():
                return f"gather %{value.arg} {quoted(value.table)}[{value.index}]"
            case Neighbours():
                return f"neighbours %{value.arg} {quoted(value.table)}"
            case Local():
                return f"local %{value.arg} {self.labels[value.dim]}[{value.index}]"
        raise TypeError(f"'{type(value).__name__}' is no value of the dataflow IR.")

    def _scan(self, scan: Scan) -> str:
        way = "forward" if scan.forward else "backward"
        levels = f"{self.bound(scan.start)} .. {self.bound(scan.stop)}"
        rows = f"init{rows_of(scan.init)} args{rows_of(scan.args)}"
        return f"scan {self.labels[scan.axis]} {way} {levels} {rows}"

    def box(self, box: Ranges) -> str:
        """Print the ranges of a box; a point is `()`."""
        return ", ".join(map(self.range, box)) or "()"

    def range(self, each: Range) -> str:
        """Print `I: 0 .. n`."""
        return f"{self.labels[each.dim]}: {self.bound(each.start)} .. {self.bound(each.stop)}"

    def side(self, side: Side) -> str:
        """Print `K: 0 .. n`; omit an infinite bound."""
        start = "" if side.start is None else f" {self.bound(side.start)}"
        stop = "" if side.stop is None else f" {self.bound(side.stop)}"
        return f"{self.labels[side.dim]}:{start} ..{stop}"

    def definitions(self, bounds: Iterable[Bound]) -> Iterator[str]:
        """Name the bounds of tables inside `bounds`, and the long ones; print their definitions."""
        for part in parts(*bounds):
            if part in self._bounds or not _is_named(part):
                continue
            text = self.bound(part)
            self._bounds[part] = f"${len(self._bounds)}"
            yield f"bound {self._bounds[part]} = {text}"

    def bound(self, bound: Bound) -> str:
        """Print a bound as `str` does, with quotes around names that need them."""
        if bound in self._bounds:
            return self._bounds[bound]
        match bound:
            case Const():
                return str(bound.value)
            case ScalarSymbol():
                return quoted(bound.name)
            case DomainSymbol():
                return f"{bound.end}({quoted(bound.field)}, {self.labels[bound.dim]})"
            case TableBound():
                rows = f"{self.bound(bound.start)}, {self.bound(bound.stop)}"
                return f"{bound.end}({quoted(bound.table)}{bound.slots_text}, {rows})"
            case PatchBound():
                return f"{bound.number}({self.orders[bound.order]})"
            case Apply():
                inner = [self.bound(arg) for arg in bound.args]
                return " + ".join(inner) if bound.op == "add" else f"{bound.op}({', '.join(inner)})"


def _is_named(bound: Bound) -> bool:
    return isinstance(bound, TableBound) or is_long(bound)


def _leaf_value(value: Input | Scalar | Literal) -> str:
    match value:
        case Input():
            version = f" @{value.version}" if value.version else ""
            return f"input {quoted(value.name)}{version}"
        case Scalar():
            return f"scalar {quoted(value.name)}"
        case Literal():
            plain = NUMBER.fullmatch(value.text)
            return f"literal {value.text if plain else json.dumps(value.text)}"
