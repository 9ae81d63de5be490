"""The adjoint of a program: how a cost moves with each input, by a sweep from its outputs.

The program is one statement on the values at entry (see `joining`). The sweep visits its values in
reverse; each gets the sum of the contributions of its users, in their order, and hands its own to
its operands. An adjoint of a shift is a shift back, that of a choice a choice, and each point sums
its contributions itself: no two points write to one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...runtime.language.dimension import Dimension
from ...runtime.language.types import FLOATS
from ...runtime.process import classes
from ...runtime.process.errors import DerivativeError
from ..ir.bounds import Ranges
from ..ir.dataflow import (
    Dataflow,
    Displace,
    Input,
    Leaf,
    Map,
    Ref,
    Region,
    Result,
    Scalar,
    Scan,
    Shift,
    Statement,
    Store,
    Value,
)
from ..lower.boxes.infer_boxes import infer_boxes
from ..lower.domains import whole
from ..lower.graph import Graph
from ..lower.regions import Box
from .joining import joined, sides_of
from .names import partner
from .parts import Part, also, extended, inside, narrowed, needed, shifted, total
from .rows import Rows, derivative_of

LINEAR: Final = frozenset(("add", "sub", "neg", "cast"))  # their pulls read no operand


@classes.frozen
class Wanted:
    """Which adjoint a program gets, in leaves of the program.

    Attributes:
        wrt: the inputs whose adjoints are written.
        of: the outputs whose adjoints are given.
        added: those of `wrt` whose adjoints are added to what the field holds.
        value: whether the outputs are written too.
        names: the pattern of the names of adjoints.

    """

    wrt: tuple[str, ...]
    of: tuple[str, ...]
    added: frozenset[str]
    value: bool
    names: str


def adjoint(program: Dataflow, wanted: Wanted, leaves: Sequence[Leaf]) -> tuple[Dataflow, int]:
    """Return the adjoint of a program, and how many of its rows are those of the program."""
    written = dict.fromkeys(store.target for each in program.statements for store in each.stores)
    final = tuple(written) if wanted.value else wanted.of
    forward = infer_boxes(joined(program, final))
    sweep = Sweep(forward.program, forward.boxes, wanted)
    return sweep.result(leaves)


@classes.define(eq=False)
class Sweep:
    """The state of a sweep: a graph that begins with the rows of the program."""

    program: Dataflow
    boxes: Sequence[Ranges]
    wanted: Wanted
    rows: Rows = classes.field(init=False)
    active: frozenset[Ref] = classes.field(init=False)
    parts: dict[Ref, list[Part]] = classes.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        graph = Graph()
        for value in self.program.values:
            graph.add(value)  # each is new: the place of a row stays
        self.rows = Rows(graph)
        self.active = active_rows(self.program.values, frozenset(self.wanted.wrt))

    def result(self, leaves: Sequence[Leaf]) -> tuple[Dataflow, int]:
        """Sweep, and return the adjoint."""
        for store in self.program.statements[0].stores:
            if store.target in self.wanted.of:
                self._seed(store)
        for row in reversed(range(len(self.program.values))):
            if row in self.parts:
                self._visit(row, self.program.values[row])
        stores = self._stores({leaf.name: leaf for leaf in leaves})
        made = classes.evolve(
            self.program,
            parameters=tuple(dict.fromkeys(leaf.name.partition(".")[0] for leaf in leaves)),
            leaves=tuple(leaves),
            values=tuple(self.rows.graph.values),
            statements=(Statement(tuple(stores)),),
        )
        return made, len(self.program.values)

    def give(self, row: Ref, part: Part, dims: Sequence[Dimension]) -> None:
        """Hand a contribution of a value with these dimensions to an operand, if that is active."""
        if row not in self.active:
            return
        lost = [dim for dim in dims if dim not in self.dims(row)]
        if lost:
            raise not_yet(
                f"sums over '{lost[0].value}', along which a value is constant that is read there"
            )
        self.parts.setdefault(row, []).append(part)

    def dims(self, row: Ref) -> tuple[Dimension, ...]:
        """Return the dimensions of a row of the program."""
        return self.program.values[row].dims

    def box(self, row: Ref) -> Box:
        """Return the box on which the program computes a row."""
        return sides_of(self.boxes[row])

    def _seed(self, store: Store) -> None:
        leaf = next(each for each in self.program.leaves if each.name == store.target)
        given = self.rows.graph.input(partner(leaf.name, self.wanted.names), leaf.dims, leaf.dtype)
        self.give(store.value, Part(given, sides_of(store.box) or None), leaf.dims)

    def _visit(self, row: Ref, value: Value) -> None:
        if isinstance(value, Input | Scalar):
            return
        part = total(self.rows, list(reversed(self.parts.pop(row))))
        match value:
            case Map():
                self._map(row, value, part)
            case Shift():
                self.give(value.arg, shifted(self.rows, part, value), self.dims(value.arg))
            case Region():
                self._region(row, value, part)
            case Displace():
                raise not_yet("moves by 'as_offset'")
            case Scan() | Result():
                raise not_yet("runs a scan")
            case _:
                raise not_yet("reads neighbours")

    def _map(self, row: Ref, value: Map, part: Part) -> None:
        derivative = derivative_of(value)
        if derivative.takes_first is not None:
            self._choice(row, value, part)
            return
        for place, arg in enumerate(value.args):
            if arg not in self.active or not derivative.varies_with(place):
                continue
            others = [each for at, each in enumerate(value.args) if at != place]
            reads = value.op not in LINEAR and not (value.op == "fma" and place == 2)
            is_scaled = value.op in ("mul", "fma") and not any(map(self.dims, others))
            here = narrowed(part, self.box(row)) if reads and not is_scaled else part
            pulled = derivative.pull(place, self.rows, part.row, row, value.args)
            self.give(arg, classes.evolve(here, row=pulled), value.dims)

    def _choice(self, row: Ref, value: Map, part: Part) -> None:
        """Hand everything to the operand that is taken, and nothing to the other one."""
        first = derivative_of(value).first_taken(self.rows, value.args)
        here = narrowed(part, self.box(row)) if self.rows.graph[first].dims else part
        sides = (first, self.rows.apply("not", first))
        for arg, need in zip(value.args[-2:], sides, strict=True):
            self.give(arg, also(self.rows, here, need), value.dims)

    def _region(self, row: Ref, value: Region, part: Part) -> None:
        zero = self.rows.number(0.0, part.row)
        if len(value.boxes) == 1:
            self.give(value.then, inside(part, value.boxes[0]), value.dims)
        else:
            then = self.rows.graph.region(value.boxes, extended(self.rows, part), zero)
            self.give(value.then, Part(then, None, needed(self.rows, part)), value.dims)
        other = self.rows.graph.region(value.boxes, zero, extended(self.rows, part))
        self.give(value.otherwise, Part(other, None, needed(self.rows, part)), value.dims)

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
        parts = [] if row is None else list(reversed(self.parts.get(row, [])))
        is_added = name in self.wanted.added
        if not parts:
            zero = self.rows.literal(0.0, leaf.dtype)
            return [] if is_added else [Store(leaf.name, whole(leaf), zero)]
        found = extended(self.rows, total(self.rows, parts))
        if not is_added:
            return [Store(leaf.name, whole(leaf), found)]
        assert row is not None  # it has parts
        before = self.rows.graph.input(leaf.name, leaf.dims, leaf.dtype)
        more = self.rows.apply("add", before, found)
        return [Store(leaf.name, self.boxes[row], more)]


def _is_entry(value: Value, name: str) -> bool:
    return isinstance(value, Input) and value.name == name and value.version == 0


def active_rows(values: Sequence[Value], wrt: frozenset[str]) -> frozenset[Ref]:
    """Return the rows of floats that vary with some leaves."""
    found: set[Ref] = set()
    for row, value in enumerate(values):
        if isinstance(value, Input | Scalar):
            is_active = value.name in wrt
        elif isinstance(value, Map):
            is_active = any(
                arg in found and derivative_of(value).varies_with(place)
                for place, arg in enumerate(value.args)
            )
        else:
            is_active = any(arg in found for arg in value.operands)
        if is_active and (value.dtype in FLOATS or isinstance(value, Scan)):
            found.add(row)
    return frozenset(found)


def not_yet(what: str) -> DerivativeError:
    """Return the error for a program whose adjoint is not there yet."""
    return DerivativeError(
        f"The adjoint of a program that {what} is not there yet.",
        hints=["'vjp' computes it, in Python; 'tangent' derives such programs."],
    )
