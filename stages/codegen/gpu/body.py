"""Write the instructions of one loop nest for a thread of a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.loops import Compute, Constant, Instruction, Row
from ..cpp.body import BodyText
from ..cpp.names import stored_type
from ..cpp.operations import literal, written_out
from .spellings import express, on_device, translated


class ThreadBody(BodyText):
    """The instructions of one nest as text, by the functions of a device."""

    def pointers(self, indent: str) -> Iterator[str]:
        """Define a pointer for each row."""
        for (name, places), row in self.rows.items():
            buffer = self.names.by_name[name]
            yield f"{indent}{stored_type(buffer)}* const {row} = {self._address(buffer, places)};"

    def _value(self, row: Instruction) -> str:
        if not isinstance(row, Compute):
            return super()._value(row)
        args = [self._operand(arg) for arg in row.args]
        dtypes = [self.nest.body[arg].dtype for arg in row.args]
        written = None
        if self.names.options.own_math:
            written = written_out(row.op, row.dtype, args, dtypes)
        made = translated(written) if written else express(row.op, row.dtype, args, dtypes)
        self.names.functions.update(made.functions)
        return made.text

    def _operand(self, number: Row) -> str:
        row = self.nest.body[number]
        if isinstance(row, Constant):
            return on_device(literal(row.text, row.dtype))
        return super()._operand(number)
