"""The instructions of one nest while it is written; each instruction stands once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....runtime.process import classes
from ...ir.loops import Compute, Constant, Instruction, NestLoop, Row, Store


class Rows:
    """Instructions, operands first; loop-invariant ones stand outside the loop."""

    def __init__(self, loops: Sequence[NestLoop]) -> None:
        self.loops = loops
        self.rows: list[Instruction] = []
        self.same: dict[Instruction, Row] = {}

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
            there = value
            if valid:
                there = self.compute("select", dtype, [valid[slot], value, nothing], part)
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
