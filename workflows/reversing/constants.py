"""Fields of a step that never change, along the transposed tables of its adjoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from ...runtime.fields import Field
from ...runtime.language import FieldOffset, is_neighbour_table
from ...runtime.meshes.transposed_fields import transposed_field
from ...runtime.process import classes
from .recorded_calls import Key, RecordedCall, is_field, key_of, provider_of


def offsets_of(call: RecordedCall, constant: Set[str]) -> Iterator[tuple[str, FieldOffset]]:
    """Yield the constants of a call that have a value for each slot of a table, and the table."""
    tables = {
        name: table for name, table in sorted(_provider(call).items()) if is_neighbour_table(table)
    }
    for parameter, value in call.arguments.items():
        if parameter in constant and is_field(value):
            for name, table in tables.items():
                if {*table.domain.dims} <= {*value.dims}:
                    yield parameter, FieldOffset(name, table.codomain, tuple(table.domain.dims))
                    break


def _provider(call: RecordedCall) -> Mapping[str, Any]:
    return provider_of(call.program, call.provider) or {}


@classes.frozen(eq=False)
class Constants:
    """Fields along transposed tables, made once for each field and table."""

    made: dict[tuple[Key, int], tuple[Field, Any]] = classes.field(factory=dict)

    @property
    def bytes(self) -> int:
        """Their memory."""
        return sum(int(field.ndarray.nbytes) for field, _ in self.made.values())

    def along(self, call: RecordedCall, parameter: str, offset: FieldOffset) -> Field:
        """Return a constant of a call along the transpose of a table."""
        field, table = call.arguments[parameter], _provider(call)[offset.value]
        key = key_of(field), id(table)
        if key not in self.made:
            found = transposed_field(field, offset, _provider(call))
            self.made[key] = found, table  # the number is that of this table as long as it lives
        return self.made[key][0]
