"""Print types, boxes and bounds of listings, with labels for dimensions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from ...runtime.language import Dimension
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
    parts,
)
from .dataflow import Leaf, Ref, Side, Value
from .inside import BOUNDS, values_of
from .listing_line import NAME, compiled
from .settled import shared
from .strides import Stride


def quoted(name: str) -> str:
    """Return a name as a listing writes it.

    >>> quoted("pair.0"), quoted("my field")
    ('pair.0', '"my field"')
    """
    return name if compiled(NAME).fullmatch(name) else json.dumps(name)


def natural_paths(parameters: Sequence[str]) -> Callable[[str], tuple[int, ...]]:
    """Return a function from the name of a leaf to the path that the name implies.

    >>> natural_paths(("u", "pair"))("pair.0.1")
    (1, 0, 1)
    """
    places = {name: index for index, name in reversed(list(enumerate(parameters)))}

    def path_of(name: str) -> tuple[int, ...]:
        inside: list[int] = []
        while name not in places:
            name, dot, last = name.rpartition(".")
            if not dot or not last.isdecimal():
                return ()
            inside.insert(0, int(last))
        return (places[name], *inside)

    return path_of


def rows_of(refs: Iterable[Ref]) -> str:
    """Return references as a row lists them, each after a space."""
    return "".join(f" %{ref}" for ref in refs)


class Names:
    """Print parts of a listing that refer to dimensions by label and to some bounds by name."""

    def __init__(self, tree: object) -> None:
        found = list(values_of(tree, Dimension, PatchOrder, *BOUNDS))
        bounds = (each for each in found if isinstance(each, BOUNDS))
        self._all = tuple(dict.fromkeys(parts(*dict.fromkeys(bounds))))
        dims = {part.dim for part in self._all if isinstance(part, DomainSymbol)}
        dims.update(each for each in found if isinstance(each, Dimension))
        order = sorted(dims, key=lambda dim: (dim.kind.value, dim.value))
        count = Counter(dim.value for dim in order)
        self.labels = {
            dim: quoted(dim.value) + (f"[{dim.kind}]" if count[dim.value] > 1 else "")
            for dim in order
        }
        orders = [part.order for part in self._all if isinstance(part, PatchBound)]
        orders += (each for each in found if isinstance(each, PatchOrder))
        self.orders = {each: f"o{place}" for place, each in enumerate(dict.fromkeys(orders))}
        self._bounds: dict[Bound, str] = {}

    def type(self, value: Value | Leaf) -> str:
        """Print dimensions and dtype."""
        dims = ", ".join(self.labels[dim] for dim in value.dims)
        return f"[{dims}] {value.dtype}" if dims else value.dtype

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

    def definitions(self) -> Iterator[str]:
        """Name the bounds of tables, and the long ones; print their definitions."""
        for number, part in enumerate(shared(self._all)):
            yield f"bound ${number} = {self.bound(part)}"
            self._bounds[part] = f"${number}"

    def bound(self, bound: Bound) -> str:
        """Print a bound as `str` does, with quotes around names that need them."""
        if bound not in self._bounds:
            self._bounds[bound] = self._text(bound)
        return self._bounds[bound]

    def _text(self, bound: Bound) -> str:
        match bound:
            case Const() | Stride():
                return str(bound)
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
