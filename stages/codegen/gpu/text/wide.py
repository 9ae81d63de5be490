"""Wide accesses: neighbouring elements of one row that a thread loads or stores as one.

A group of elements lies at a multiple of its size from index 0 of the row, so that it is aligned
wherever index 0 and the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from ....gpu_target import WIDEST
from ....ir.nests import Instruction, Load, Nest, Row, Store
from ...rows.names import Names, stored_type
from ...schedule.costs import ITEMSIZES
from .body import ThreadBody


@attrs.frozen
class Group:
    """Accesses of one row that are one, in the order of memory; `start` is the first's offset."""

    members: tuple[Row, ...]
    start: int


class PatchBody(ThreadBody):
    """The instructions of all points of a thread, with wide accesses or with single ones."""

    def __init__(self, names: Names, nest: Nest, *, wide: bool = True) -> None:
        super().__init__(names, nest)
        self.level = len(nest.loops)
        self.groups: dict[Row, tuple[Group, int]] = {}  # of each access: its group, and its place
        for group in self._groups() if wide else ():
            for place, row in enumerate(group.members):
                self.groups[row] = (group, place)

    # --- groups ---------------------------------------------------------------------------------

    def _groups(self) -> Iterator[Group]:
        for kind in (Load, Store):
            rows: dict[object, dict[int, Row]] = {}
            for number, row in enumerate(self.nest.body):
                if isinstance(row, kind) and row.level == self.level:
                    key = self._key(row)
                    if key is not None and self._is_unit(row.buffer):
                        when = row.when if isinstance(row, Load) else None
                        rows.setdefault((key, when), {})[self._offset(row)] = number
            for (_, when), found in rows.items():  # type: ignore[misc]
                if when is None or self.nest.body[when].level < self.level:
                    yield from self._cut(found)

    def _cut(self, found: Mapping[int, Row]) -> Iterator[Group]:
        """Cut the accesses of one row into the largest aligned groups."""
        buffer = self.nest.body[next(iter(found.values()))].buffer  # type: ignore[attr-defined]
        most = WIDEST // ITEMSIZES[self.names.by_name[buffer].dtype]
        taken: set[int] = set()
        size = min(most, self.nest.each[0])
        while size > 1:
            for start in sorted({offset // size * size for offset in found}):
                places = range(start, start + size)
                if taken.isdisjoint(places) and all(place in found for place in places):
                    taken.update(places)
                    yield Group(tuple(found[place] for place in places), start)
            size //= 2

    def _is_unit(self, name: str) -> bool:
        return self.names.by_name[name].unit is self.dims[-1]

    def _offset(self, access: Load | Store) -> int:
        axis = self.names.by_name[access.buffer].dims.index(self.dims[-1])
        return self._places(access)[axis][1]

    # --- text -----------------------------------------------------------------------------------

    def aligned(self) -> list[str]:
        """Return the addresses and strides in bytes that must be multiples of the widest access."""
        found: dict[str, None] = {}
        for group, _ in self.groups.values():
            access = self.nest.body[group.members[0]]
            assert isinstance(access, Load | Store)
            buffer = self.names.by_name[access.buffer]
            found[f"u64({self.names.buffers[buffer.name]})"] = None
            for axis, dim in enumerate(buffer.dims):
                if dim is not self.dims[-1]:
                    stride = self.names.term(buffer, axis, "1").removeprefix("1 * ")
                    found[f"u64({stride}) * {ITEMSIZES[buffer.dtype]}"] = None
        return list(found)

    def everything(self, indent: str) -> Iterator[str]:
        """Write all instructions in the order of their levels, for one scope."""
        for level in range(self.level):
            yield from self._rows_at(level, indent)
        yield from self.pointers(indent)
        yield from self._rows_at(self.level, indent)

    def _rows_at(self, level: int, indent: str) -> Iterator[str]:
        yield from (indent + line.lstrip() for line in self.at(level) if line.strip())

    def _line(self, number: Row, row: Instruction, kept: Mapping[str, str]) -> str:
        if number not in self.groups:
            return super()._line(number, row, kept)
        group, place = self.groups[number]
        name, type_ = f"w{group.members[0]}", self._wide(group)
        if isinstance(row, Store):
            if place < len(group.members) - 1:
                return ""
            values = ", ".join(self._operand(self.nest.body[each].value) for each in group.members)  # type: ignore[attr-defined]
            store = self._function("store", row)
            return f"ff::{store}({self._start(group)}, {type_}{{{{{values}}}}});"
        text = super()._line(number, row, kept)
        head, _, _ = text.partition(" = ")
        value = f"{name}[{place}]" + (" != 0" if head.startswith("const b8") else "")
        text = f"{head} = {value};"
        if number != min(group.members):
            return text
        load = self._function("load", row)  # type: ignore[arg-type]
        loaded = f"ff::{load}<{len(group.members)}>({self._start(group)})"
        when = self.nest.body[number].when  # type: ignore[attr-defined]
        if when is not None:
            loaded = f"{self._operand(when)} ? {loaded} : {type_}{{}}"
        return f"const {type_} {name} = {loaded}; {text}"

    def _function(self, name: str, _: Load | Store) -> str:
        """Return the function that loads or stores a group."""
        return name

    def _wide(self, group: Group) -> str:
        access = self.nest.body[group.members[0]]
        buffer = self.names.by_name[access.buffer]  # type: ignore[attr-defined]
        return f"ff::pack<{stored_type(buffer)}, {len(group.members)}>"

    def _start(self, group: Group) -> str:
        access = self.nest.body[group.members[0]]
        key = self._key(access)  # type: ignore[arg-type]
        assert key is not None
        index = f"i{self.level - 1}"
        offset = f" {'+' if group.start > 0 else '-'} {abs(group.start)}" if group.start else ""
        return f"{self.rows[key]} + {index}{offset}"


def together(groups: Sequence[str]) -> str:
    """Return the test that addresses are aligned.

    >>> together(["u64(p0)", "u64(n0) * 8"])
    '((u64(p0) | u64(n0) * 8) & 15) == 0'
    """
    return f"(({' | '.join(groups)}) & {WIDEST - 1}) == 0" if groups else "true"
