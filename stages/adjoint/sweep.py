"""A sweep: rows in reverse, each gets the sum of its contributions and hands on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Final

from ...runtime.language import Dimension
from ...runtime.language.derivatives import QUOTIENT
from ...runtime.process import DerivativeError, classes
from ..ir.dataflow import Literal, Map, Ranges, Ref, Table, Value
from ..lower.graph import Graph
from .joining import sides_of
from .parts import Part, also, covered, everywhere, inside, narrowed, total, unsigned
from .rows import Rows, derivative_of, is_reciprocal
from .sums import summed

LINEAR: Final = frozenset(("add", "sub", "neg", "cast"))  # their pulls read no operand
SCALING: Final = frozenset(("mul", "fma"))  # those of the first two read the other of both


@classes.define(eq=False)
class Sweep:
    """The state of a sweep over some rows.

    Attributes:
        values: the rows, with which the graph begins.
        active: those that get contributions.
        boxes: where each is computed; None for the body of a scan, which has no dimensions.
        rows: computes with rows of the graph.
        slots: the tables by their local dimensions.
        parts: the contributions to each row so far, the last user's first.

    """

    values: Sequence[Value]
    active: frozenset[Ref]
    boxes: Sequence[Ranges] | None
    rows: Rows
    slots: Mapping[Dimension, Table] = classes.field(factory=dict)
    parts: dict[Ref, list[Part]] = classes.field(factory=dict)

    @classmethod
    def over(
        cls,
        values: Sequence[Value],
        active: frozenset[Ref],
        boxes: Sequence[Ranges],
        tables: Iterable[Table],
    ) -> Sweep:
        """Begin a sweep with a graph of its own."""
        graph = Graph()
        for value in values:
            graph.add(value)  # each is new, so the place of a row stays
        return cls(values, active, boxes, Rows(graph), {table.local: table for table in tables})

    def give(
        self, row: Ref, part: Part, dims: Sequence[Dimension], user: Ref | None = None
    ) -> None:
        """Hand a contribution of a value with these dimensions to an operand, if that is active.

        `user` is the row of the value; without one the contribution has a box along all of them.
        """
        if row not in self.active:
            return
        lost = [dim for dim in dims if dim not in self.values[row].dims]
        for local in [dim for dim in lost if dim in self.slots]:
            part = self._over_slots(part, self.slots[local])
            lost.remove(local)
        if lost:
            if user is not None and self.boxes is not None:
                part = inside(part, sides_of(self.boxes[user]))
            part = summed(self.rows, part, lost)
        self.parts.setdefault(row, []).append(part)

    def _over_slots(self, part: Part, table: Table) -> Part:
        """Sum a contribution over the slots of a table."""
        rows, whole = self.rows, everywhere(self.rows, part)
        need, row = whole.need, rows.graph.reduce("sum", whole.row, table)
        if need is not None and table.local in rows.graph[need].dims:
            zero = rows.number(0.0, row)
            flag = rows.apply("select", need, rows.number(1.0, row), zero)
            need = rows.apply("ne", rows.graph.reduce("sum", flag, table), zero)
        return classes.evolve(whole, row=row, need=need)

    def total(self, row: Ref) -> Part | None:
        """Return the sum of the contributions to a row; None if there are none."""
        parts = self.parts.get(row)
        return total(self.rows, list(reversed(parts))) if parts else None

    def within(self, row: Ref, part: Part) -> Part:
        """Return a contribution that holds where a row is computed."""
        return part if self.boxes is None else narrowed(part, sides_of(self.boxes[row]))

    def map(self, row: Ref, value: Map, part: Part) -> None:
        """Hand the contribution of an operation to its operands."""
        derivative = derivative_of(value, self.values)
        if derivative.takes_first is not None:
            self._choice(row, value, part)
            return
        for place, arg in enumerate(value.args):
            if arg not in self.active or not derivative.varies_with(place):
                continue
            if value.op == "mul" and is_reciprocal(self.values[arg], self.values):
                self._divisor(row, value, arg, part)
                continue
            reads = value.op not in LINEAR and not (value.op == "fma" and place == 2)
            factor = self.values[value.args[1 - place]] if reads and value.op in SCALING else None
            is_scaled = factor is not None and not factor.dims
            here = part
            if reads and not is_scaled:
                here = self.within(row, covered(self.rows, part, self.values[row].dims))
            pulled = derivative.pull(place, self.rows, part.row, row, value.args)
            is_tame = isinstance(factor, Literal) and isfinite(float(factor.text))
            is_zero = here.is_zero and (not reads or is_tame)
            given = classes.evolve(here, row=pulled, is_zero=is_zero)
            self.give(arg, unsigned(self.rows, given), value.dims, row)

    def _divisor(self, row: Ref, value: Map, reciprocal: Ref, part: Part) -> None:
        """Hand the contribution of a product with `1 / y` to `y`.

        It reads the product, which a scan has often stored, and not the other factor.
        """
        divisor = self.values[reciprocal].operands[1]
        here = self.within(row, covered(self.rows, part, self.values[row].dims))
        pulled = QUOTIENT.pull(1, self.rows, part.row, row, (reciprocal, divisor))
        given = classes.evolve(here, row=pulled, is_zero=False)
        self.give(divisor, unsigned(self.rows, given), value.dims, row)

    def _choice(self, row: Ref, value: Map, part: Part) -> None:
        """Hand everything to the operand that is taken, and nothing to the other one."""
        first = derivative_of(value).first_taken(self.rows, value.args)
        here = self.within(row, part) if self.rows.graph[first].dims else part
        sides = (first, self.rows.apply("not", first))
        for arg, need in zip(value.args[-2:], sides, strict=True):
            self.give(arg, also(self.rows, here, need), value.dims, row)


def not_yet(what: str) -> DerivativeError:
    """Return the error for a program whose adjoint is not there yet."""
    return DerivativeError(
        f"The adjoint of a program that {what} is not there yet.",
        hints=["'vjp' computes it, in Python; 'tangent' derives such programs."],
    )
