"""When outputs are stored: at the end, or between blocks where a field is updated in place.

A statement reads all its values before it writes. So a field that one block updates and a later
one reads would need a copy, were all outputs stored at the end. It is stored after the block where
nothing that comes later needs its old values, or what its new ones are made of; later blocks then
read the field itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from ....runtime.process import classes
from ...ir.dataflow import (
    Input,
    Literal,
    Range,
    Ranges,
    Ref,
    Scalar,
    Shift,
    Statement,
    Store,
    is_empty_box,
)
from ...ir.stencil import Assign, Block, Limits
from ...lower.rewrite import reachable
from .. import K, dims_of, least_levels
from .environment import FIRST, LAST, Environment, written_box


@classes.define
class Storing:
    """The statements so far, and the writes to fields that none of them stores, by variable.

    `led` are the fields among them that were written at levels which a value gives.
    """

    environment: Environment
    statements: list[Statement] = classes.field(factory=list)
    pending: dict[int, list[tuple[Block, Limits | None]]] = classes.field(factory=dict)
    versions: dict[int, int] = classes.field(factory=dict)
    led: set[int] = classes.field(factory=set)

    def after(self, block: Block, later: Sequence[Block], live: Set[int]) -> None:
        """Note what a block has written, and store what is better stored now.

        `live` are the variables that later blocks may read.
        """
        variables = self.environment.root.variables
        for each in block.body:
            if variables[each.variable].kind == "field":
                written = (with_moves(block, each), each.region)
                self.pending.setdefault(each.variable, []).append(written)
                if each.level is not None:
                    self.led.add(each.variable)
        if not later:
            self._store(sorted(self.pending))
        elif (block.order, later[0].order) != ("parallel", "parallel"):
            self._store(sorted(self._in_place(block, live)))

    def _in_place(self, block: Block, live: Set[int]) -> set[int]:
        """Return the fields that a block updates in place and whose old values nothing needs."""
        written = {each.variable for each in block.body} & self.pending.keys()
        read = self._below(self.pending)
        wanted = {each for each in written if self._old(each) in read}
        return self._free(wanted, live) if wanted else set()

    def _free(self, wanted: set[int], live: Set[int]) -> set[int]:
        """Return those of some fields, with their readers, that may be stored now.

        Nothing that comes later needs their old values, nor computes again what a store computes.
        """
        variables = self.environment.root.variables
        kept = {each for each in live if variables[each].kind == "temporary"}
        while wanted:
            found = self._with_readers(wanted)
            rest = self._below(kept | (self.pending.keys() - found))
            stuck = {each for each in found if self._old(each) in rest}
            if not stuck and not any(map(self._is_computed, rest & self._below(found))):
                return found
            wanted = wanted - stuck if stuck & wanted else set()
        return set()

    def _is_computed(self, ref: Ref) -> bool:
        return not isinstance(self.environment.graph[ref], Input | Literal | Scalar | Shift)

    def _with_readers(self, wanted: set[int]) -> set[int]:
        """Return fields with all others whose new values depend on old values of the former."""
        found = set(wanted)
        while True:
            old = {self._old(each) for each in found}
            more = {each for each in self.pending.keys() - found if self._below([each]) & old}
            if not more:
                return found
            found |= more

    def _below(self, numbers: Iterable[int]) -> set[Ref]:
        """Return the rows that the values of some variables depend on."""
        environment = self.environment
        roots = [environment.values[each] for each in numbers if each in environment.values]
        return set(reachable(tuple(environment.graph.values), roots))

    def _old(self, number: int) -> Ref:
        """Return the row of a field as the statements so far have left it."""
        variable = self.environment.variable(number)
        version = self.versions.get(number, 0)
        dims = dims_of(variable.axes)
        return self.environment.graph.input(variable.name, dims, variable.dtype, version)

    def _store(self, numbers: Sequence[int]) -> None:
        """Add a statement that stores fields; from now on they are read from memory."""
        environment, stores = self.environment, []
        least = least_levels(environment.root.blocks)
        for number in numbers:
            variable = environment.variable(number)
            box = self._box(number, least)
            if not is_empty_box(box):
                stores.append(Store(variable.name, box, environment.current(number)))
                self.versions[number] = self.versions.get(number, 0) + 1
            environment.values[number] = self._old(number)
        if stores:
            self.statements.append(Statement(tuple(stores)))

    def _box(self, number: int, least: int) -> Ranges:
        """Return the box to store: all levels of a field if values give those that are written."""
        variable = self.environment.variable(number)
        box = written_box(variable.axes, self.pending.pop(number), least)
        if number not in self.led:
            return box
        self.led.discard(number)
        ends = self.environment.ends(number)
        return tuple(Range(K, *ends) if each.dim is K else each for each in box)


def with_moves(block: Block, each: Assign) -> Block:
    """Return a block with the levels that an assignment in it may write, if its text tells them."""
    if each.level is not None:
        return classes.evolve(block, start=FIRST, stop=LAST)
    start, stop = (
        classes.evolve(end, offset=end.offset + each.offset) for end in (block.start, block.stop)
    )
    return classes.evolve(block, start=start, stop=stop) if each.offset else block
