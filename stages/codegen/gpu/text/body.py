"""Write the instructions of one loop nest for a thread of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....ir.nests import Compute, Constant, Instruction, Nest, Row
from ...rows.body import BodyText
from ...rows.names import Names, stored_type
from ...rows.operations import TYPES, literal, written_out
from .quotients import FUNCTION, shared_divisions
from .spellings import express, on_device, translated


class ThreadBody(BodyText):
    """The instructions of one nest as text, by the functions of a device."""

    def __init__(self, names: Names, nest: Nest) -> None:
        super().__init__(names, nest)
        self.trees = {}  # a GPU takes one instruction for an extremum and its test for NaN
        self.divisions = shared_divisions(nest) if nest.shares_reciprocals else {}
        self.divided = {row for rows in self.divisions.values() for row in rows}

    def pointers(self, indent: str) -> Iterator[str]:
        """Define a pointer for each row."""
        for (name, places), row in self.rows.items():
            buffer = self.names.by_name[name]
            yield f"{indent}{stored_type(buffer)}* const {row} = {self._address(buffer, places)};"

    def _line(self, number: Row, row: Instruction, kept: Mapping[str, str]) -> str:
        if number not in self.divided:
            return super()._line(number, row, kept)
        if number not in self.divisions:
            return ""  # with the last quotient by the same number
        assert isinstance(row, Compute)
        self.names.functions["divide"] = FUNCTION
        rows = self.divisions[number]
        over = ", ".join(self._operand(self.nest.body[each].operands[0]) for each in rows)
        type_, name = TYPES[row.dtype][0], f"d{number}"
        found = [
            f"{type_} {name}[] = {{{over}}};",
            f"divide({name}, {self._operand(row.args[1])});",
        ]
        found += [
            f"const {type_} {self._name(each)} = {name}[{place}];"
            for place, each in enumerate(rows)
        ]
        return " ".join(found)

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
