"""Imperative columns of the loop IR: loops, conditions and registers inside each column.

The rows of a column have numbers in the order of the text. A row is known to the rows after it in
the same acts and in the acts inside these. Registers carry values out of conditions and loops.
"""

from __future__ import annotations

from typing import TypeAlias

from ....runtime.process import classes
from ..bounds import Range, Ranges
from .kernel import Node
from .nest import Instruction, NestLoop, Reading, Row


@classes.frozen(kw_only=True)
class Get(Instruction):
    """The value of a register."""

    register: int


@classes.frozen(kw_only=True)
class Set(Instruction):
    """Give a register a value."""

    register: int
    value: Row

    @property
    def operands(self) -> tuple[Row, ...]:
        """The value."""
        return (self.value,)


@classes.frozen
class Sweep:
    """Act at one level after the other."""

    range: Range
    acts: tuple[Act, ...]
    backward: bool = False


@classes.frozen
class If:
    """Act where a row is true, and otherwise."""

    row: Row
    then: tuple[Act, ...]
    otherwise: tuple[Act, ...] = ()


@classes.frozen
class While:
    """Compute `condition`, and act again as long as its row `row` is true."""

    condition: tuple[Act, ...]
    row: Row
    acts: tuple[Act, ...]


Act: TypeAlias = Instruction | Sweep | If | While


@classes.frozen
class Column(Node):
    """What each column of `loops` does, act by act; `registers` are the dtypes of its registers.

    Loads and stores of one buffer keep their order. It may load what it stores in its own column
    only: for other columns there is `Loop`.
    """

    group: int
    loops: tuple[NestLoop, ...]
    acts: tuple[Act, ...]
    reason: str
    registers: tuple[str, ...] = ()
    reads: tuple[Reading, ...] = ()

    @property
    def box(self) -> Ranges:
        """The ranges of the loops."""
        return tuple(loop.range for loop in self.loops)

    @property
    def swept(self) -> Ranges:
        """The ranges of the sweeps that stand in nothing else."""
        return tuple(act.range for act in self.acts if isinstance(act, Sweep))
