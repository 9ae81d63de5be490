"""Write the rows of one nest, each once: operations, indices, and the conditions on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import bounds
from ...ir.loops import Compute, Constant, Index, Instruction, NestLoop, Number, Row, Store
from .discovery import Home
from .guards import Guard, InPart, LoopPart, Test
from .order import level_of
from .places import OWN, Along, Coord, Entry, Level, Point
from .points import Points

INT: Final = "int64"


class IndexRows:
    """The rows of one nest, operands first; loop-invariant ones stand outside the loop.

    Attributes:
        places: the row of each point that is written, by part of the innermost loop.
        parts: the parts of the innermost loop; none if it is not cut.

    """

    def __init__(self, points: Points, loops: Sequence[NestLoop]) -> None:
        self.points = points
        self.loops = loops
        self.rows: list[Instruction] = []
        self.same: dict[Instruction, Row] = {}
        self.places: dict[tuple[int, Point], Row] = {}
        self.parts: tuple[LoopPart, ...] = ()

    def compute(self, op: str, dtype: str, args: Sequence[Row], part: int = 0) -> Row:
        """Write an operation outside the loops that do not change its operands."""
        level = max((self.rows[arg].level for arg in args), default=0)
        return self.add(Compute(dtype=dtype, level=level, op=op, args=tuple(args)), part)

    def folded(self, op: str, dtype: str, args: Sequence[Row], part: int) -> Row:
        """Combine rows from the first to the last."""
        total, *others = args
        for row in others:
            total = self.compute(op, dtype, [total, row], part)
        return total

    def add(self, instruction: Instruction, part: int = 0) -> Row:
        """Write an instruction once; inside the innermost loop it belongs to a part."""
        if part and instruction.level == len(self.loops):
            instruction = classes.evolve(instruction, part=part)
        row = self.same.setdefault(instruction, len(self.rows))
        if row == len(self.rows):
            self.rows.append(instruction)
        return row

    def store(self, target: str, row: Row, part: int = 0, offsets: tuple[int, ...] = ()) -> None:
        """Write a row to a buffer, inside all loops."""
        dtype, level = self.rows[row].dtype, len(self.loops)
        self.rows.append(
            Store(dtype=dtype, level=level, part=part, buffer=target, value=row, offsets=offsets)
        )

    def reduced(self, op: str, dtype: str, args: list[Row], count: int, part: int) -> Row:
        """Combine slots in order; a missing slot changes nothing."""
        values, entries = args[:count], args[count:]
        zero = self.add(Constant(dtype="int32", text="0"))
        valid = [self.compute("ge", "bool", [entry, zero], part) for entry in entries]
        if op == "sum":
            return self._sum(dtype, values, valid, part)
        return self._extreme(op, dtype, values, valid, part)

    def _sum(self, dtype: str, values: list[Row], valid: list[Row], part: int) -> Row:
        nothing = total = self.add(Constant(dtype=dtype, text=neutral("sum", dtype)))
        for slot, value in enumerate(values):
            there = (
                self.compute("select", dtype, [valid[slot], value, nothing], part)
                if valid
                else value
            )
            total = self.compute("add", dtype, [total, there], part)
        return total

    def _extreme(self, op: str, dtype: str, values: list[Row], valid: list[Row], part: int) -> Row:
        """Begin with infinity, which changes nothing; without neighbours the bound remains."""
        combine = "maximum" if op == "max" else "minimum"
        bound = self.add(Constant(dtype=dtype, text=neutral(op, dtype)))
        if not values:
            return bound
        if not valid:
            return self.folded(combine, dtype, values, part)
        is_float = np.dtype(dtype).kind == "f"
        infinity = "-inf" if op == "max" else "inf"
        total = self.add(Constant(dtype=dtype, text=infinity)) if is_float else bound
        found = valid[0]
        for there, value in zip(valid, values, strict=True):
            more = self.compute(combine, dtype, [total, value], part)
            total = self.compute("select", dtype, [there, more, total], part)
            found = self.compute("or", "bool", [found, there], part)
        return self.compute("select", dtype, [found, total, bound], part) if is_float else total

    def condition(self, guard: Guard, part: int) -> Row:
        """Return the row that says whether any case of a guard holds."""
        cases = [
            self.folded("and", "bool", [self._test(*each, part) for each in case], part)
            for case in guard
        ]
        return self.folded("or", "bool", cases, part)

    def clamped(self, dim: Dimension, coord: Coord, home: Home, part: int) -> Row:
        """Return the row of an index, clamped to the buffer."""
        start, stop = home.ends(dim)
        row = self.shifted(dim, coord, part)
        last = self.add(Number(dtype=INT, bound=bounds.add(stop, -1)))
        first = self.add(Number(dtype=INT, bound=start))
        row = self.compute("minimum", INT, [row, last], part)
        return self.compute("maximum", INT, [row, first], part)

    def shifted(self, dim: Dimension, coord: Coord, part: int) -> Row:
        """Return the row of an index as 64 bits: its base plus its offset."""
        base, offset = coord
        row = self._own(dim, part) if base == OWN else self._wide(self.base(base, part), part)
        if offset:
            step = self.add(Constant(dtype=INT, text=str(offset)))
            row = self.compute("add", INT, [row, step], part)
        return row

    def base(self, base: int, part: int) -> Row:
        """Return the row of an index value."""
        index = self.points.indices[base]
        if isinstance(index, Entry) and index.known is not None:
            return self.shifted(*index.known, part)
        if isinstance(index, Entry):
            return self.places[part, index.point]
        if isinstance(index, Along):
            return self._own(index.dim, part)
        if isinstance(index, Level):
            return self.add(Number(dtype=INT, bound=index.at))
        by = self._wide(self.places[part, index.by], part)
        return self.compute("add", INT, [self.shifted(index.dim, index.at, part), by], part)

    def _test(self, test: Test, wanted: bool, part: int) -> Row:
        if isinstance(test, InPart):
            range_ = self.parts[test.part].range
            ends = [self.add(Number(dtype=INT, bound=end)) for end in (range_.start, range_.stop)]
            return self.compute("lt", "bool", ends, part)
        index = self.shifted(test.dim, (test.base, 0), part)
        bound = self.add(Number(dtype=INT, bound=test.bound))
        return self.compute("ge" if wanted else "lt", "bool", [index, bound], part)

    def _own(self, dim: Dimension, part: int) -> Row:
        return self.add(Index(dtype=INT, level=level_of((dim,), self.loops), dim=dim), part)

    def _wide(self, row: Row, part: int) -> Row:
        return row if self.rows[row].dtype == INT else self.compute("cast", INT, [row], part)


def neutral(op: str, dtype: str) -> str:
    """Return the neutral element of a reduction, in its canonical spelling.

    >>> neutral("sum", "float64"), neutral("max", "int8"), neutral("min", "uint8")
    ('0.0', '-128', '255')
    """
    kind = np.dtype(dtype)
    if op == "sum":
        return "0.0" if kind.kind == "f" else "0"
    if kind.kind == "b":
        return str(op == "min")
    limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    return str(limits.min if op == "max" else limits.max)
