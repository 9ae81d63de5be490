"""Tidy the acts of a column: each value once, and outside of the loops that do not change it.

Registers and elements of arrays are read where their value is not known already, and conditions
that are known choose a side. Rows that a loop does not change stand before it, although a condition
in the loop would skip them: no row traps, and the indices of loads are inside. What nobody reads is
left out, by `act_trees.py`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from typing import TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Act,
    Column,
    Compute,
    Get,
    If,
    Index,
    Instruction,
    Load,
    Places,
    Row,
    Set,
    Store,
    Sweep,
    While,
    with_operands,
)
from ..schedule.costs import TRANSCENDENTAL, operations
from .act_trees import Numbered, needed, numbered, ordered, rows_of
from .choices import gathered

Key: TypeAlias = tuple[object, ...]
Element: TypeAlias = tuple[str, Places, Row | None]  # a buffer, where, and under which condition


def tidied(column: Column) -> Column:
    """Return a column with the same results and fewer rows."""
    acts = needed(_Tidying().acts(numbered(column.acts)))
    acts = needed(_Tidying().acts(numbered(ordered(gathered(acts)))))
    return classes.evolve(column, acts=ordered(acts))


@classes.define
class _Block:
    """Acts while they are written, and what is known after the last of them.

    `values` are rows by what they compute, also those of the blocks around; `registers` and
    `elements` the rows whose values these have. `truths` are conditions that are known. `floor`
    counts the loops around the innermost condition.
    """

    floor: int = 0
    acts: list[Act] = classes.field(factory=list)
    values: ChainMap[Key, Row] = classes.field(factory=ChainMap)
    registers: dict[int, Row] = classes.field(factory=dict)
    elements: dict[Element, Row] = classes.field(factory=dict)
    truths: dict[Row, bool] = classes.field(factory=dict)

    def inner(self, floor: int | None = None) -> _Block:
        """Return a block inside this one."""
        return _Block(
            self.floor if floor is None else floor,
            values=self.values.new_child(),
            registers=dict(self.registers),
            elements=dict(self.elements),
            truths=dict(self.truths),
        )

    def forget(self, changes: _Changes) -> None:
        """Know nothing of what acts may have changed."""
        for register in changes.registers:
            self.registers.pop(register, None)
        self.elements = {
            key: row for key, row in self.elements.items() if key[0] not in changes.buffers
        }


@classes.frozen
class _Changes:
    """The registers and the buffers that acts change."""

    registers: frozenset[int]
    buffers: frozenset[str]

    @classmethod
    def of(cls, acts: Iterable[Act]) -> _Changes:
        """Return what acts change."""
        rows = list(rows_of(acts))
        registers = frozenset(row.register for row in rows if isinstance(row, Set))
        return cls(registers, frozenset(row.buffer for row in rows if isinstance(row, Store)))


@classes.frozen
class _Loop:
    """A loop, the block that it stands in, and the dimension of a sweep."""

    outer: _Block
    changes: _Changes
    dim: Dimension | None = None


@classes.frozen
class _Tidying:
    """The rows so far: which row stands for each, and how many loops are around it."""

    same: dict[Row, Row] = classes.field(factory=dict)
    rows: dict[Row, Instruction] = classes.field(factory=dict)
    depths: dict[Row, int] = classes.field(factory=dict)
    loops: list[_Loop] = classes.field(factory=list)

    def acts(self, acts: Iterable[Act]) -> tuple[Act, ...]:
        """Return the acts of a column."""
        block = _Block()
        self._write(block, acts)
        return tuple(block.acts)

    def _write(self, block: _Block, acts: Iterable[Act]) -> None:
        for act in acts:
            match act:
                case Sweep(range=range_):
                    inner = self._opened(block, act.acts, range_.dim)
                    self._write(inner, act.acts)
                    self._closed(block)
                    block.acts.append(classes.evolve(act, acts=tuple(inner.acts)))
                case While(condition=condition):
                    self._while(block, act, (*condition, *act.acts))
                case If():
                    self._choice(block, act)
                case Numbered():
                    self._row(block, act.number, act.row)

    def _opened(self, block: _Block, acts: Iterable[Act], dim: Dimension | None = None) -> _Block:
        changes = _Changes.of(acts)
        self.loops.append(_Loop(block, changes, dim))
        inner = block.inner()
        inner.forget(changes)
        return inner

    def _closed(self, block: _Block) -> None:
        block.forget(self.loops.pop().changes)

    def _while(self, block: _Block, loop: While, acts: tuple[Act, ...]) -> None:
        condition = self._opened(block, acts)
        self._write(condition, loop.condition)
        row = self._of(loop.row)
        inner = condition.inner()
        self._suppose(inner, row, truth=True)
        self._write(inner, loop.acts)
        self._closed(block)
        block.acts.append(While(tuple(condition.acts), row, tuple(inner.acts)))

    def _choice(self, block: _Block, choice: If) -> None:
        row = self._of(choice.row)
        truth = self._truth(block, row)
        if truth is not None:
            self._write(block, choice.then if truth else choice.otherwise)
            return
        sides = []
        for acts, supposed in ((choice.then, True), (choice.otherwise, False)):
            inner = block.inner(floor=len(self.loops))
            self._suppose(inner, row, truth=supposed)
            self._write(inner, acts)
            sides.append(tuple(inner.acts))
        block.forget(_Changes.of((*choice.then, *choice.otherwise)))
        block.acts.append(If(row, *sides))

    # --- conditions -----------------------------------------------------------------------------

    def _truth(self, block: _Block, row: Row) -> bool | None:
        """Tell whether a condition is known to be true or false."""
        made = self.rows[row]
        if row in block.truths:
            return block.truths[row]
        if isinstance(made, Compute) and made.op == "not":
            inner = self._truth(block, made.args[0])
            return None if inner is None else not inner
        return None

    def _part(self, block: _Block, row: Instruction) -> Row | None:
        """Return the operand that a conjunction is, if the other one is known to be true."""
        if isinstance(row, Compute) and row.op == "and":
            for known, value in (row.args, row.args[::-1]):
                if self._truth(block, known):
                    return value
        return None

    def _suppose(self, block: _Block, row: Row, *, truth: bool) -> None:
        """Note a condition, and what follows from it."""
        block.truths[row] = truth
        made = self.rows[row]
        if isinstance(made, Compute) and made.op == "not":
            self._suppose(block, made.args[0], truth=not truth)
        if isinstance(made, Compute) and made.op == ("and" if truth else "or"):
            for each in made.args:
                self._suppose(block, each, truth=truth)

    # --- rows -----------------------------------------------------------------------------------

    def _of(self, row: Row) -> Row:
        return self.same.get(row, row)

    def _row(self, block: _Block, number: Row, row: Instruction) -> None:
        made = with_operands(row, self._of)
        match made:
            case Set():
                self._set(block, number, made)
            case Store():
                if made.add or block.elements.get(_element(made)) != made.value:
                    self._put(block, number, made)
                    self._stored(block, made)
            case _:
                found = self._found(block, made)
                if found is None:
                    self._placed(block, number, made)
                else:
                    self.same[number] = found

    def _found(self, block: _Block, row: Instruction) -> Row | None:
        """Return the row that has the value already."""
        match row:
            case Get(register=register):
                return block.registers.get(register)
            case Load():
                return block.elements.get(_element(row))
        part = self._part(block, row)
        return block.values.get((type(row), row)) if part is None else part

    def _set(self, block: _Block, number: Row, row: Set) -> None:
        made = classes.evolve(row, value=self._of(row.value))
        if block.registers.get(row.register) != made.value:
            self._put(block, number, made)
            block.registers[row.register] = made.value

    def _stored(self, block: _Block, store: Store) -> None:
        own = _element(store)
        block.elements = {k: row for k, row in block.elements.items() if _differ(k, own)}
        if store.when is None and not store.add and store.dtype != "bool":
            block.elements[own] = store.value

    def _placed(self, block: _Block, number: Row, row: Instruction) -> None:
        """Put a row before all loops that do not change it."""
        depth = self._depth(row)
        if isinstance(row, Compute) and operations(row.op) >= TRANSCENDENTAL:
            depth = max(depth, block.floor)
        home = block if depth == len(self.loops) else self.loops[depth].outer
        self._put(home, number, row)
        self.depths[number] = depth
        for each in (home, block):
            match row:
                case Get(register=register):
                    each.registers[register] = number
                case Load():
                    each.elements[_element(row)] = number
        home.values[type(row), row] = number

    def _put(self, block: _Block, number: Row, row: Instruction) -> None:
        self.rows[number] = row
        block.acts.append(Numbered(dtype=row.dtype, number=number, row=row))

    def _depth(self, row: Instruction) -> int:
        """Return how many loops must be around a row."""
        depth = max((self.depths[each] for each in row.operands), default=0)
        if isinstance(row, Load) and row.when is not None:
            return len(self.loops)
        varying = (n + 1 for n, loop in enumerate(self.loops) if _varies(row, loop))
        return max((depth, *varying))


def _varies(row: Instruction, loop: _Loop) -> bool:
    """Tell whether a row, its operands left out, changes from turn to turn of a loop."""
    match row:
        case Get(register=register):
            return register in loop.changes.registers
        case Index(dim=dim):
            return dim is loop.dim
        case Load(buffer=buffer, places=places):
            own = any(dim is loop.dim and index is None for dim, index, _ in places)
            return own or buffer in loop.changes.buffers
    return False


def _element(access: Load | Store) -> Element:
    """Return what an access touches."""
    axes = max(len(access.offsets), len(access.rows))
    return access.buffer, access.coordinates(axes), access.when


def _differ(one: Element, other: Element) -> bool:
    """Tell whether accesses surely touch different elements."""
    (buffer, mine, _), (name, own, _) = one, other
    are_known = all(row is None for row, _ in (*mine, *own))
    return buffer != name or (mine != own and are_known)
