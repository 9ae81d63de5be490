"""Write instructions of a nest that stand at one place as a C++ tasklet, and what it touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ....runtime.language.dimension import Dimension
from ...ir.loops.nest import (
    Advance,
    Argument,
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Nest,
    Number,
    Row,
    State,
    Store,
)
from ..gpu.text.spellings import express as express_on_device
from ..gpu.text.spellings import on_device
from ..rows.expressions import is_nothing, literal
from ..rows.operations import express, vectorised, written_out
from .names import STATUS, THREAD, SdfgNames, type_name
from .rooms import Room

# Instructions whose text stands at each use.
NAMELESS: Final = (Constant, Argument, Index, Number)


@attrs.frozen
class Style:
    """The options of expressions; see the stage's options of the same names."""

    vector_math: bool = False
    own_math: bool = False
    checked: bool = False
    device: bool = False  # whether tasklets run on a GPU


@attrs.frozen
class Block:
    """A tasklet: its code, and its reads and writes by connector.

    `loads` are elements of buffers, `lookups` pointers into buffers that it indexes itself,
    `known` values from around it, `states` those of the scan.
    """

    text: str
    loads: tuple[tuple[str, Load], ...]
    lookups: tuple[tuple[str, Load], ...]
    scalars: tuple[tuple[str, str], ...]
    known: tuple[tuple[str, Row], ...]
    states: tuple[tuple[str, int], ...]
    exports: tuple[tuple[str, Row], ...]
    stores: tuple[tuple[str, Store], ...]
    advances: tuple[tuple[str, int], ...]
    tests: bool
    functions: tuple[tuple[str, str], ...]


def is_lookup(load: Load) -> bool:
    """Tell whether a load is indirect or conditional."""
    return load.when is not None or any(row is not None for row in load.rows)


def ranged_axes(load: Load) -> tuple[int, ...]:
    """Return the axes that a lookup indexes itself: the indirect ones, or the first."""
    told = tuple(axis for axis, row in enumerate(load.rows) if row is not None)
    return told or tuple(range(len(load.dims)))[:1]


@attrs.define
class _Draft:
    """The lines and connectors of a tasklet so far, of which rows `here`."""

    here: frozenset[Row]
    exports: frozenset[Row]
    lines: list[str] = attrs.field(factory=list)
    loads: list[tuple[str, Load]] = attrs.field(factory=list)
    lookups: list[tuple[str, Load]] = attrs.field(factory=list)
    stores: list[tuple[str, Store]] = attrs.field(factory=list)
    states: list[tuple[str, int]] = attrs.field(factory=list)
    advances: list[tuple[str, int]] = attrs.field(factory=list)
    tested: bool = False


class BlockWriter:
    """Writes rows of a nest that stand at one place as C++."""

    def __init__(
        self,
        names: SdfgNames,
        nest: Nest,
        style: Style,
        indices: Mapping[Dimension, str],
        tests: dict[tuple[int, str], int],
    ) -> None:
        self.names = names
        self.nest = nest
        self.style = style
        self.indices = indices  # by dimension
        self.tests = tests
        self.functions: dict[str, str] = {}
        self.scalars: dict[str, str] = {}
        self.known: dict[Row, None] = {}

    def write(self, numbers: Sequence[Row], exports: Sequence[Row]) -> Block:
        """Return the tasklet of the rows `numbers`; loops inside read the values of `exports`."""
        self.functions, self.scalars, self.known = {}, {}, {}
        draft = _Draft(frozenset(numbers), frozenset(exports))
        for number in numbers:
            self._add(number, draft)
        return self._translated(
            Block(
                text="\n".join(draft.lines),
                loads=tuple(draft.loads),
                lookups=tuple(draft.lookups),
                scalars=tuple((connector, name) for name, connector in self.scalars.items()),
                known=tuple((f"v{row}", row) for row in self.known),
                states=tuple(draft.states),
                exports=tuple((f"v{row}", row) for row in exports),
                stores=tuple(draft.stores),
                advances=tuple(draft.advances),
                tests=draft.tested,
                functions=tuple(self.functions.items()),
            )
        )

    def _add(self, number: Row, draft: _Draft) -> None:
        """Add one instruction, and the connector that it needs."""
        row = self.nest.body[number]
        match row:
            case Load():
                self._add_load(number, row, draft)
            case State(index=index):
                draft.states.append((f"v{number}", index))
            case Store():
                self._add_store(number, row, draft)
            case Advance(index=index, value=value):
                draft.advances.append((f"o{number}", index))
                draft.lines.append(f"o{number} = {self._operand(value, draft.here)};")
            case Compute():
                text = self._computed(row, draft.here)
                draft.lines.append(self._set(number, row, text, draft.exports))
            case _:
                raise TypeError(f"A tasklet cannot hold '{type(row).__name__}'.")

    def _add_load(self, number: Row, row: Load, draft: _Draft) -> None:
        """Add a load: a connector that is the value, or one from which a line computes it."""
        is_found = is_lookup(row)
        plain = not is_found and row.dtype != "bool" and number not in draft.exports
        connector = f"v{number}" if plain else f"l{number}"
        (draft.lookups if is_found else draft.loads).append((connector, row))
        if not plain:
            text = self._loaded(number, row, draft.here)
            draft.lines.append(self._set(number, row, text, draft.exports))

    def _add_store(self, number: Row, row: Store, draft: _Draft) -> None:
        """Add a store, and in a checked program the test of its value."""
        draft.stores.append((f"o{number}", row))
        text = self._operand(row.value, draft.here)
        draft.lines.append(f"o{number} = {text};")
        store = self.tests.get((self.nest.group, row.buffer))
        if store is not None:
            draft.tested = True
            test = f"if (!finite_{type_name(row.dtype)}({text}))"
            draft.lines.append(f"{test} note({STATUS}_at, {store});")

    def _translated(self, block: Block) -> Block:
        """Return a block with the names that functions and constants have on a GPU."""
        if not self.style.device:
            return block
        functions = tuple((name, on_device(text)) for name, text in block.functions)
        return attrs.evolve(block, text=on_device(block.text), functions=functions)

    def first_state(self, row: Row) -> Block:
        """Return the tasklet that sets a state before the first level."""
        self.functions, self.scalars, self.known = {}, {}, {}
        text = f"o0 = {self._operand(row, frozenset())};"
        known = tuple((f"v{each}", each) for each in self.known)
        scalars = tuple((connector, name) for name, connector in self.scalars.items())
        return self._translated(
            Block(text, (), (), scalars, known, (), (), (), (("o0", 0),), False, ())
        )

    def _set(self, number: Row, row: Instruction, text: str, exports: frozenset[Row]) -> str:
        begin = "" if number in exports else f"const {type_name(row.dtype)} "
        return f"{begin}v{number} = {text};"

    def _loaded(self, number: Row, row: Load, here: frozenset[Row]) -> str:
        test = " != 0" if row.dtype == "bool" else ""
        if not is_lookup(row):
            return f"l{number}{test}"
        place = f"l{number}[{self._index(row, here)}]{test}"
        if row.when is None:
            return place
        return f"{self._operand(row.when, here)} ? {place} : {type_name(row.dtype)}(0)"

    def _index(self, load: Load, here: frozenset[Row]) -> str:
        """Return the index along the axes that the memlet leaves open."""
        buffer = self.names.by_name[load.buffer]
        strides = self.names.strides(buffer)
        terms = []
        for axis in ranged_axes(load):
            row, offset = (load.rows or (None,) * len(load.dims))[axis], load.offsets[axis]
            dim = buffer.dims[axis]
            base = self._operand(row, here) if row is not None else self.indices.get(dim, "")
            index = f"{base} + ({offset})" if base and offset else base or str(offset)
            stride = strides[axis]
            terms.append(f"s64({index})" if stride == "1" else f"s64({index}) * {stride}")
        return " + ".join(terms) or "0"

    def _computed(self, row: Compute, here: frozenset[Row]) -> str:
        args = [self._operand(arg, here) for arg in row.args]
        dtypes = [self.nest.body[arg].dtype for arg in row.args]
        spell = express_on_device if self.style.device else express
        written = spell(row.op, row.dtype, args, dtypes)
        if self.style.vector_math:
            written = vectorised(row.op, row.dtype, args, dtypes) or written
        if self.style.own_math:
            written = written_out(row.op, row.dtype, args, dtypes) or written
        self.functions.update(written.functions)
        return written.text

    def _operand(self, number: Row, here: frozenset[Row]) -> str:
        row = self.nest.body[number]
        match row:
            case Constant(text=text, dtype=dtype):
                if self.style.checked and is_nothing(text, dtype):
                    return f"nothing_{type_name(dtype)}"
                return literal(text, dtype)
            case Argument(name=name):
                return self.scalars.setdefault(name, f"x{len(self.scalars)}")
            case Index(dim=dim):
                return f"s64({self.indices[dim]})"
            case Number(bound=bound):
                return f"s64({self.names.text(bound)})"
        if number not in here:
            self.known[number] = None
        return f"v{number}"


@attrs.frozen
class Subsets:
    """The subsets of one nest; `indices` are the names of its loops.

    Along dimension `rows`, the index in arrays is that of the thread.
    """

    names: SdfgNames
    indices: Mapping[Dimension, str]
    rows: Dimension | None = None

    def element_type(self, room: Room, load: Load) -> Any:
        """Return the type of the loaded element."""
        return room.describe.type("uint8" if load.dtype == "bool" else load.dtype)

    def _places(self, room: Room, access: Load | Store) -> list[Any]:
        """Return the index of each axis, without indirect parts."""
        dims = self.names.by_name[access.buffer].dims
        offsets = access.offsets or (0,) * len(dims)
        named = room.dace.symbolic.pystr_to_symbolic
        indices = dict(self.indices)
        if self.rows is not None and self.names.by_name[access.buffer].memory == "arena":
            indices[self.rows] = THREAD
        return [
            (named(indices[dim]) if dim in indices else 0) + offset
            for dim, offset in zip(dims, offsets, strict=True)
        ]

    def element(self, room: Room, access: Load | Store) -> Any:
        """Return the one element that an access touches in each iteration."""
        places = self._places(room, access)
        return room.dace.subsets.Range([(place, place, 1) for place in places] or [(0, 0, 1)])

    def opened(self, room: Room, load: Load) -> Any:
        """Return the elements that a lookup may read."""
        assert is_lookup(load)
        data = self.names.data[load.buffer]
        room.describe.ensure(room.sdfg, data, nested=room.nested)
        whole = room.describe.whole(room.sdfg, data).ranges
        opened = ranged_axes(load)
        return room.dace.subsets.Range(
            [
                whole[axis] if axis in opened else (place, place, 1)
                for axis, place in enumerate(self._places(room, load))
            ]
            or [(0, 0, 1)]
        )
