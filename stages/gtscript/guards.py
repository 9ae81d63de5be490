"""Watch levels: a stencil that notes where another one reads or writes beyond a field along K.

Calls clamp such reads and drop such writes. A checked call runs the guarded stencil first: before
each statement it assigns, to one more field, a code of the first such access at the point, under
the conditions under which the access counts: those of `if`, `while` and regions, the side of a
ternary, what stands before it in `and` or `or`. The limits of each variable are scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ...runtime.process import Span, classes
from ..ir.stencil import Assign, Block, Node, Number, Operation, Read, Ref, Stencil, Variable
from .parsed import ParsedStencil

NOTES: Final = "guard.notes"
SHIFT: Final = 1 << 32  # a note is a number of an access times this, plus its level
INT: Final = "int64"
Test = tuple[Ref, bool]  # a condition, and which value it must have


@classes.frozen
class Watched:
    """An access to a variable at a level that a value gives, with its place in the text."""

    variable: str
    is_write: bool
    place: Span


@classes.frozen
class Guarded:
    """A stencil that watches, what its notes mean, and the variables with their limits.

    `limits` are the names of the scalars for the first level and for one past the last.
    """

    parsed: ParsedStencil
    watched: tuple[Watched, ...]
    limits: dict[str, tuple[str, str]]

    def read(self, note: int) -> tuple[Watched, int]:
        """Return the access and the level that a note means."""
        number = (note + SHIFT // 2) // SHIFT
        return self.watched[number - 1], note - number * SHIFT


def guarded(parsed: ParsedStencil, places: Sequence[Span]) -> Guarded | None:
    """Return a stencil that watches another one; None if it has nothing to watch.

    `places` are the spans of its nodes.
    """
    root = parsed.root
    writer = _Writer(list(root.nodes), list(places), list(root.variables))
    writer.notes = writer.declare(Variable(NOTES, "field", INT, "IJK"))
    blocks = tuple(classes.evolve(block, body=writer.body(block)) for block in root.blocks)
    if not writer.watched:
        return None
    made = Stencil(root.name, tuple(writer.variables), tuple(writer.nodes), blocks)
    scalars = [name for pair in writer.limits.values() for name in pair]
    used = (*parsed.used, NOTES, *scalars)
    return Guarded(ParsedStencil(made, used), tuple(writer.watched), writer.limits)


@classes.define
class _Writer:
    """The tables of the guarded stencil while it is written."""

    nodes: list[Node]
    places: list[Span]
    variables: list[Variable]
    notes: int = -1
    watched: list[Watched] = classes.field(factory=list)
    limits: dict[str, tuple[str, str]] = classes.field(factory=dict)
    numbers: dict[str, int] = classes.field(factory=dict)  # of variables, by name

    def declare(self, variable: Variable) -> int:
        """Return the number of a variable."""
        if variable.name not in self.numbers:
            self.numbers[variable.name] = len(self.variables)
            self.variables.append(variable)
        return self.numbers[variable.name]

    def body(self, block: Block) -> tuple[Assign, ...]:
        """Return the assignments of a block with the notes.

        The condition of a loop is watched in each round after it, and once more after the loop.
        """
        found: list[Assign] = []
        begun: set[int] = set()
        last: list[tuple[int, Assign]] = []  # the loops around, and their conditions
        for each in block.body:
            while last and last[-1][0] not in each.loops:
                found += self._after(last.pop()[1])
            is_condition = bool(each.loops) and each.loops[-1] not in begun
            if is_condition:
                begun.add(each.loops[-1])
                last.append((each.loops[-1], each))
                found.append(classes.evolve(each, value=self._until_noted(each.value)))
                found += self._guards(each, self._read(each.variable))
            else:
                found += [*self._guards(each, each.mask), each]
        while last:
            found += self._after(last.pop()[1])
        return tuple(found)

    def _until_noted(self, test: Ref) -> Ref:
        """Return the condition of a loop that ends at the first note, if not before."""
        nothing = self._map("eq", self._read(self.notes), self._number(0), dtype="bool")
        return self._map("and", nothing, test, dtype="bool")

    def _after(self, condition: Assign) -> Iterator[Assign]:
        outside = classes.evolve(condition, loops=condition.loops[:-1])
        return self._guards(outside, None)

    def _guards(self, assign: Assign, mask: Ref | None) -> Iterator[Assign]:
        accesses = [*self._accesses(assign.value, ())]
        if assign.mask is not None:
            accesses += self._accesses(assign.mask, ())
        if assign.level is not None:
            accesses += self._accesses(assign.level, ())
            write = (assign.variable, self._here(assign.level), True, assign.level)
            accesses.append((*write, ()))
        for variable, level, is_write, place, tests in accesses:
            note = self._note(variable, level, is_write, self.places[place])
            yield Assign(
                self.notes, self._where(note, level, variable, tests), assign.statement, mask,
                assign.region, loops=assign.loops,
            )  # fmt: skip

    def _accesses(
        self, root: Ref, tests: tuple[Test, ...]
    ) -> Iterator[tuple[int, Ref, bool, Ref, tuple[Test, ...]]]:
        """Yield variable, level, whether it is a write, row, and the conditions of each access."""
        node = self.nodes[root]
        if isinstance(node, Read):
            for each in node.operands:
                yield from self._accesses(each, tests)
            if node.level is not None and "K" in self.variables[node.variable].axes:
                level = node.level if node.is_absolute else self._here(node.level)
                yield node.variable, self._wide(level), False, root, tests
        elif isinstance(node, Operation):
            for place, each in enumerate(node.args):
                more: tuple[Test, ...] = ()
                if place and node.op == "select":
                    more = ((node.args[0], place == 1),)
                elif place and node.op in ("and", "or"):
                    more = ((node.args[0], node.op == "and"),)
                yield from self._accesses(each, (*tests, *more))

    # --- rows -------------------------------------------------------------------------------------

    def _note(self, variable: int, level: Ref, is_write: bool, place: Span) -> Ref:
        self.watched.append(Watched(self.variables[variable].name, is_write, place))
        return self._map("add", level, self._number(len(self.watched) * SHIFT))

    def _where(self, note: Ref, level: Ref, variable: int, tests: tuple[Test, ...]) -> Ref:
        """Return the notes after an access: the first one stays."""
        first, stop = self._limits(variable)
        known = self._read(self.notes)
        below = self._map("lt", level, self._read(first), dtype="bool")
        beyond = self._map("ge", level, self._read(stop), dtype="bool")
        outside = self._map("or", below, beyond, dtype="bool")
        is_new = self._map("eq", known, self._number(0), dtype="bool")
        found = self._map("and", is_new, outside, dtype="bool")
        for test, wanted in tests:
            side = test if wanted else self._map("not", test, dtype="bool")
            found = self._map("and", side, found, dtype="bool")
        return self._map("select", found, note, known)

    def _limits(self, variable: int) -> tuple[int, int]:
        name = self.variables[variable].name
        names = self.limits.setdefault(name, (f"guard.first.{name}", f"guard.stop.{name}"))
        first, stop = (self.declare(Variable(each, "scalar", INT, "")) for each in names)
        return first, stop

    def _here(self, by: Ref) -> Ref:
        level = self.declare(Variable("guard.K", "level", INT, "K"))
        return self._map("add", self._read(level), self._wide(by))

    def _wide(self, row: Ref) -> Ref:
        return row if self.nodes[row].dtype == INT else self._map("cast", row)

    def _read(self, variable: int) -> Ref:
        return self._add(Read(dtype=self.variables[variable].dtype, variable=variable))

    def _number(self, value: int) -> Ref:
        return self._add(Number(dtype=INT, text=str(value)))

    def _map(self, op: str, *args: Ref, dtype: str = INT) -> Ref:
        return self._add(Operation(dtype=dtype, op=op, args=args))

    def _add(self, node: Node) -> Ref:
        self.nodes.append(node)
        return len(self.nodes) - 1
