"""Encode a loop nest: give its rows places, and write the steps of each level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import attrs

from ...runtime.language.dimension import Dimension
from ..codegen.errors import CodegenError
from ..codegen.integers import split
from ..codegen.schedule.costs import ITEMSIZES
from ..ir.bounds import Bound, Range
from ..ir.loops.buffers import Buffer
from ..ir.loops.kernel import Kernel
from ..ir.loops.nest import (
    Advance,
    Argument,
    Compute,
    Constant,
    Index,
    Load,
    Nest,
    Number,
    Row,
    State,
    Store,
)
from ..ir.loops.traverse import arrays_of, reached
from ..ir.strides import Stride
from . import program as encoded
from .instructions import compute
from .lanes import FIRST, Lanes
from .program import Code, Count, Place, Span, Step

CALL = (Constant, Argument, Number)  # rows whose values the call knows


@attrs.frozen
class Naming:
    """What the nests of a kernel share: buffers, and the places of integers and scalars."""

    kernel: Kernel
    ints: Mapping[Bound | Stride, int]
    own_functions: bool

    def count(self, bound: Bound) -> Count:
        """Return a bound as an integer of the call and a constant."""
        symbol, constant = split(bound)
        return (-1 if symbol is None else self.ints[symbol], constant)

    def span(self, range_: Range) -> Span:
        """Return the ends of a range."""
        return self.count(range_.start), self.count(range_.stop)

    def buffer(self, name: str) -> tuple[int, Buffer]:
        """Return the number of a buffer, and the buffer."""
        for number, each in enumerate(self.kernel.buffers):
            if each.name == name:
                return number, each
        raise KeyError(name)

    def rings_of(self, nest: Nest) -> frozenset[Dimension]:
        """Return the dimensions of which arrays that a nest touches keep the last indices."""
        rings = (self.buffer(name)[1].ring for name in arrays_of(nest))
        return frozenset(ring for ring in rings if ring is not None)


def encode_nest(naming: Naming, nest: Nest) -> encoded.Nest:
    """Return a nest as steps."""
    return _NestEncoder(naming, nest).encoded()


class _NestEncoder:
    """Writes the steps of one nest; places of rows are found as they are needed."""

    def __init__(self, naming: Naming, nest: Nest) -> None:
        self.naming = naming
        self.nest = nest
        self.rows = nest.body
        self.lanes = Lanes(nest, naming.rings_of(nest))
        self.loops = {loop.range.dim: number for number, loop in enumerate(nest.loops)}
        self.values = len(nest.loops)
        self.levels = list(range(1, len(nest.loops) + 1))  # by value the loops around it
        self.blocks = 0
        self.free: dict[int, list[Place]] = {}  # blocks by the size of their numbers
        self.sizes: dict[Place, int] = {}
        self.known: list[encoded.Known] = []
        self.accesses: list[encoded.Access] = []
        self.points: dict[tuple[int, ...] | encoded.Access, Place] = {}
        self.around: list[list[Step]] = [[] for _ in range(self.lanes.outer + 1)]
        self.single: dict[Row, Place] = {}  # rows that are values
        self.filled: dict[Place, Place] = {}  # values that fill a block for good
        self.wide: dict[Row, Place] = {}
        self.kept: dict[Row, Place] = {}  # rows of a strip that its inner loop reads
        self.states: list[Place] = []

    # --- the nest ---------------------------------------------------------------------------------

    def encoded(self) -> encoded.Nest:
        lanes, nest = self.lanes, self.nest
        if any(loop.step != 1 for loop in nest.loops):
            raise CodegenError("Rows of a nest that are computed together cannot be encoded.")
        for row, each in enumerate(self.rows):  # in order: operands come first
            if self._is_single(row) and not isinstance(each, (*CALL, Index)):
                self._single_row(row)
        first: Code = ()
        parts: list[encoded.Part] = []
        if lanes.depth:
            if lanes.has_inner:
                first = tuple(self._first())
            for number, range_ in enumerate(nest.parts or (nest.loops[-1].range,)):
                code = tuple(self._section(number))
                parts.append(encoded.Part(self.naming.span(range_), code))
        return encoded.Nest(
            guard=tuple(map(self.naming.span, self.naming.kernel.groups[nest.group].box)),
            loops=tuple(
                encoded.Loop(
                    loop.range.dim.value, self.naming.span(loop.range), loop.backward,
                    loop.kind == "parallel",
                )
                for loop in nest.loops
            ),
            lanes=lanes.loop,
            accesses=tuple(self.accesses),
            blocks=self.blocks,
            values=self.values,
            known=tuple(self.known),
            around=tuple(map(tuple, self.around)),
            first=first,
            parts=tuple(parts),
        )  # fmt: skip

    def _is_single(self, row: Row) -> bool:
        """Tell whether a row is a value around the lanes."""
        each = self.rows[row]
        if isinstance(each, CALL):
            return True
        if isinstance(each, Index):
            return self.loops[each.dim] != self.lanes.loop
        return self.lanes.is_around(each.level)

    # --- values around the lanes ------------------------------------------------------------------

    def _value(self, level: int) -> Place:
        self.levels.append(level)
        self.values += 1
        return f"v{self.values - 1}"

    def _single(self, row: Row) -> Place:
        """Return the value of a row; those that the call knows are made here."""
        if row in self.single:
            return self.single[row]
        each = self.rows[row]
        match each:
            case Index(dim=dim):
                return f"v{self.loops[dim]}"
            case Constant(text=text):
                made = encoded.Known(self.values, "constant", each.dtype, text)
            case Argument(name=name):
                place = [scalar for scalar, _ in self.naming.kernel.scalars].index(name)
                made = encoded.Known(self.values, "scalar", each.dtype, place=place)
            case Number(bound=bound):
                count = self.naming.count(bound)
                made = encoded.Known(self.values, "number", each.dtype, count=count)
            case _:
                raise TypeError(f"Row {row} has no value.")
        self.known.append(made)
        self.single[row] = self._value(0)
        return self.single[row]

    def _single_row(self, row: Row) -> None:
        """Write a row around the lanes."""
        each = self.rows[row]
        code = self.around[each.level]

        def emit(name: str, args: Sequence[Place], _: str) -> Place:
            out = self._value(each.level)
            code.append(Step(name, out, tuple(args)))
            return out

        match each:
            case Load():
                access = self._access(each, self._axes(each, each.dims))
                code.append(Step("point", access))
                when = () if each.when is None else (self._single(each.when),)
                self.single[row] = emit(f"load.{each.dtype}", [access, *when], each.dtype)
            case Store():
                self._checked_store(each)
                access = self._access(each, self._axes(each, self._dims(each.buffer)))
                when = () if each.when is None else (self._single(each.when),)
                code.append(Step("point", access))
                args = (self._single(each.value), *when)
                code.append(Step(f"store.{each.dtype}", access, args))
            case Compute():
                places = [self._single(arg) for arg in each.args]
                self.single[row] = self._computed(emit, each, places)
            case _:
                raise TypeError(f"'{type(each).__name__}' cannot stand around lanes.")

    def _computed(self, emit: object, each: Compute, places: Sequence[Place]) -> Place:
        dtypes = [self.rows[arg].dtype for arg in each.args]
        second = self.rows[each.args[1]] if len(each.args) > 1 else None
        exponent = second.text if isinstance(second, Constant) else ""
        own = self.naming.own_functions
        return compute(emit, each.op, each.dtype, places, dtypes, own, exponent)  # type: ignore[arg-type]

    # --- accesses ---------------------------------------------------------------------------------

    def _dims(self, name: str) -> tuple[Dimension, ...]:
        return self.naming.buffer(name)[1].dims

    def _checked_store(self, store: Store) -> None:
        if store.add:
            raise CodegenError("A store that adds to what is there cannot be encoded.")

    def _axes(
        self, access: Load | Store, dims: Sequence[Dimension], told: Mapping[Row, Place] | None = None
    ) -> tuple[encoded.Axis, ...]:
        """Return how an access finds its indices; `told` are the blocks of rows in lanes."""
        rows = access.rows or (None,) * len(dims)
        offsets = access.offsets or (0,) * len(dims)
        return tuple(
            self._axis(dim, row, offset, told or {})
            for dim, row, offset in zip(dims, rows, offsets, strict=True)
        )

    def _axis(
        self, dim: Dimension, row: Row | None, offset: int, told: Mapping[Row, Place]
    ) -> encoded.Axis:
        if row is None:
            number = self.loops.get(dim)
            if number is None:
                return ("fixed", 0, offset)
            is_lane = number == self.lanes.loop
            return ("lane", 0, offset) if is_lane else ("value", number, offset)
        if row in told:
            return ("block", int(told[row][1:]), offset)
        each = self.rows[row]
        place = self._single(row)
        if each.dtype != "int64":
            if row not in self.wide:
                name = f"cast.int64.{each.dtype}"
                level = 0 if isinstance(each, CALL) else each.level
                self.wide[row] = self._value(level)
                self.around[level].append(Step(name, self.wide[row], (place,)))
            place = self.wide[row]
        return ("value", int(place[1:]), offset)

    def _access(self, access: Load | Store, axes: tuple[encoded.Axis, ...]) -> Place:
        number, buffer = self.naming.buffer(access.buffer)
        if len(axes) > encoded.MOST_AXES:
            raise CodegenError(f"'{buffer.name}' has more dimensions than can be encoded.")
        kinds = [kind for kind, _, _ in axes]
        is_row = (
            "lane" in kinds
            and "block" not in kinds
            and buffer.dims[kinds.index("lane")] is buffer.unit
        )
        self.accesses.append(encoded.Access(number, axes, is_row))
        return f"a{len(self.accesses) - 1}"

    def _found(self, access: Load | Store, axes: tuple[encoded.Axis, ...], code: list[Step]) -> Place:
        """Return an access whose row is found as far outside as its indices allow."""
        number, _ = self.naming.buffer(access.buffer)
        key = encoded.Access(number, axes)
        has_block = any(kind == "block" for kind, _, _ in axes)
        if key in self.points and not has_block:
            return self.points[key]
        place = self._access(access, axes)
        level = max((self.levels[n] for kind, n, _ in axes if kind == "value"), default=0)
        if level <= self.lanes.outer:
            self.around[level].append(Step("point", place))
            if not has_block:
                self.points[key] = place
        else:
            code.append(Step("point", place))
        return place

    # --- lanes ------------------------------------------------------------------------------------

    def _block(self, dtype: str) -> Place:
        """Return a block; one that was in use has numbers of the same size, see `chains.h`."""
        size = ITEMSIZES[dtype]
        if self.free.get(size):
            return self.free[size].pop()
        self.sizes[f"t{self.blocks}"] = size
        return self._lasting()

    def _give_back(self, block: Place) -> None:
        self.free.setdefault(self.sizes[block], []).append(block)

    def _lasting(self) -> Place:
        """Return a block that no other row takes."""
        self.blocks += 1
        return f"t{self.blocks - 1}"

    def _first(self) -> Iterator[Step]:
        """Write what a strip does before its inner loop: rows that stay, and first states."""
        wanted = {
            row
            for number, each in enumerate(self.rows)
            if each.level == self.lanes.depth
            for row in each.operands
            if not self._is_single(row) and self.lanes.section(row) == FIRST
        }
        states = [row for _, row in self.nest.states]
        wanted |= {row for row in states if not self._is_single(row)}
        section = _Section(self, FIRST, [], sorted(wanted))
        for row in sorted(wanted):
            self.kept[row] = section.lasting(row)
        for dtype, row in self.nest.states:
            place = self._lasting()
            if self._is_single(row):
                section.code.append(Step(f"fill.{dtype}", place, (self._single(row),)))
            else:
                copy = f"copy.{ITEMSIZES[dtype]}"
                section.code.append(Step(copy, place, (self.kept[row],)))
            self.states.append(place)
        yield from section.code

    def _section(self, part: int) -> Iterator[Step]:
        """Write a part of the innermost loop."""
        depth = self.lanes.depth
        roots = [
            row
            for row, each in enumerate(self.rows)
            if each.level == depth and each.part == part and isinstance(each, Store | Advance)
        ]
        section = _Section(self, part, roots, [])
        section.write()
        yield from section.code


class _Section:
    """The steps of the lanes in one part, operands right before their use."""

    def __init__(
        self, nest: _NestEncoder, part: int, roots: Sequence[Row], wanted: Sequence[Row]
    ) -> None:
        self.own = nest
        self.rows = nest.rows
        self.part = part
        self.roots = roots
        self.code: list[Step] = []
        self.places: dict[Row, Place] = {}
        self.shared: set[Place] = set()  # blocks that stay
        needed = reached([*roots, *wanted], self._inside)
        self.left = Counter(
            operand for row in needed for operand in self.rows[row].operands if self._is_here(operand)
        )
        self.left.update(wanted)
        self.index: Place | None = None
        self.fills: dict[Place, Place] = {}

    def _is_here(self, row: Row) -> bool:
        """Tell whether a row is computed in this section."""
        return (
            not self.own._is_single(row)
            and not isinstance(self.rows[row], State)
            and row not in self.own.kept
            and not isinstance(self.rows[row], Index)
        )

    def _inside(self, row: Row) -> list[Row]:
        return [operand for operand in self.rows[row].operands if self._is_here(operand)]

    def _missing(self, row: Row) -> list[Row]:
        """Return the operands of a row that no block has yet."""
        if self.places.get(row, "a")[0] == "t":
            return []
        return [each for each in self._inside(row) if self.places.get(each, "a")[0] != "t"]

    # --- roots ------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write all stores in order; one waits where later loads may read the memory it writes."""
        waiting: list[tuple[Row, Place]] = []
        for number, root in enumerate(self.roots):
            each = self.rows[root]
            if not isinstance(each, Store):
                continue
            self.own._checked_store(each)
            if self._is_read_later(each, self.roots[number + 1 :]):
                waiting.append((root, self._held(each.value)))
            else:
                self._store(each)
        for root, place in waiting:
            store = self.rows[root]
            assert isinstance(store, Store)
            self._store(store, place)
        self._advance()

    def _is_read_later(self, store: Store, roots: Sequence[Row]) -> bool:
        pending = reached(roots, self._missing)
        loads = (self.rows[row] for row in pending)
        _, written = self.own.naming.buffer(store.buffer)
        for load in loads:
            if isinstance(load, Load):
                _, read = self.own.naming.buffer(load.buffer)
                is_same = read.name == written.name
                if is_same or (
                    (read.memory, read.dtype, read.dims)
                    == ("field", written.dtype, written.dims)
                    == (written.memory, read.dtype, read.dims)
                ):
                    return True
        return False

    def _held(self, row: Row) -> Place:
        """Return a block with a value that must not change until the end."""
        place = self.operand(row)
        if place[0] == "t" and place not in self.own.states:
            self.left[row] += 1 << 20  # nobody takes it
            return place
        return self._copied(place, self.rows[row].dtype)

    def _store(self, store: Store, held: Place | None = None) -> None:
        told = {row: self.index_block(row) for row in store.rows if self._needs_block(row)}
        axes = self.own._axes(store, self.own._dims(store.buffer), told)  # type: ignore[arg-type]
        target = self.own._found(store, axes, self.code)
        access = self.own.accesses[int(target[1:])]
        value = store.value
        is_direct = access.is_row and store.when is None
        each = self.rows[value]
        if (
            is_direct
            and held is None
            and isinstance(each, Compute)
            and self._is_here(value)
            and value not in self.places
            and self.left[value] == 1
            and self._compute(value, each, target)
        ):
            return
        when = () if store.when is None else (self.operand(store.when),)
        place = held or self.operand(value)
        if is_direct:
            self.code.append(Step(f"copy.{ITEMSIZES[store.dtype]}", target, (place,)))
        else:
            block = place if place[0] == "t" else self._copied(place, store.dtype)
            self.code.append(Step(f"store.{store.dtype}", target, (block, *when)))
        for row in store.operands:
            self._used(row)

    def _copied(self, place: Place, dtype: str) -> Place:
        made = self.own._block(dtype)
        self.code.append(Step(f"copy.{ITEMSIZES[dtype]}", made, (place,)))
        return made

    def _advance(self) -> None:
        """Give states their next values, all at once."""
        found = []
        for root in self.roots:
            each = self.rows[root]
            if isinstance(each, Advance):
                place = self.operand(each.value)
                if place in self.own.states:
                    place = self._copied(place, each.dtype)
                found.append((each, place))
        for each, place in found:
            name = f"copy.{ITEMSIZES[each.dtype]}"
            self.code.append(Step(name, self.own.states[each.index], (place,)))

    # --- rows -------------------------------------------------------------------------------------

    def lasting(self, row: Row) -> Place:
        """Return a block with the value of a row for the rest of the strip."""
        if isinstance(self.rows[row], Index):
            return self._index()
        place = self.operand(row)
        made = self.own._lasting()
        self.code.append(Step(f"copy.{ITEMSIZES[self.rows[row].dtype]}", made, (place,)))
        return made

    def operand(self, row: Row) -> Place:
        """Return the place of a row, which is computed now if it is not yet."""
        own, each = self.own, self.rows[row]
        if row in own.kept:
            return own.kept[row]
        if own._is_single(row):
            return self._filled(row)
        match each:
            case State(index=index):
                return own.states[index]
            case Index():
                return self._index()
        if row not in self.places:
            self._write_row(row)
        return self.places[row]

    def _write_row(self, row: Row) -> None:
        """Write a row after those that it needs, each as late as possible."""
        waiting = [row]
        while waiting:
            each = waiting[-1]
            missing = [r for r in self._inside(each) if r not in self.places]
            if missing:
                waiting += reversed(missing)
                continue
            waiting.pop()
            if each in self.places:
                continue
            match self.rows[each]:
                case Load() as load:
                    self._load(each, load)
                case Compute() as computed:
                    self._compute(each, computed, None)
                case other:
                    raise TypeError(f"'{type(other).__name__}' cannot be encoded.")

    def _used(self, row: Row) -> None:
        """Note one use of a row; its block is free after the last one."""
        if not self._is_here(row):
            return
        self.left[row] -= 1
        place = self.places.get(row)
        if self.left[row] == 0 and place is not None and place[0] == "t" and self.part != FIRST:
            others = (each for r, each in self.places.items() if r != row and self.left[r] > 0)
            if place not in others and place not in self.shared:
                self.own._give_back(place)

    def _compute(self, row: Row, each: Compute, target: Place | None) -> bool:
        """Write an operation; the last instruction stores to `target` if that is given."""
        places = [self.operand(arg) for arg in each.args]
        emitted: list[Place] = []

        def emit(name: str, args: Sequence[Place], dtype: str) -> Place:
            out = self.own._block(dtype)
            emitted.append(out)
            self.code.append(Step(name, out, tuple(args)))
            return out

        made = self.own._computed(emit, each, places)
        if made not in emitted:  # an operand itself: it stays for good
            self.shared.add(made)
        for arg in each.args:
            self._used(arg)
        for extra in emitted:
            if extra != made:
                self.own._give_back(extra)
        self.places[row] = made
        if target is None:
            return False
        if made in emitted and self.code[-1].out == made:
            self.code[-1] = attrs.evolve(self.code[-1], out=target)
        else:
            self.code.append(Step(f"copy.{ITEMSIZES[each.dtype]}", target, (made,)))
        self._used(row)
        return True

    def _load(self, row: Row, load: Load) -> None:
        told = {each: self.index_block(each) for each in load.rows if self._needs_block(each)}
        axes = self.own._axes(load, load.dims, told)  # type: ignore[arg-type]
        access = self.own._found(load, axes, self.code)
        is_row = self.own.accesses[int(access[1:])].is_row
        if is_row and load.when is None and load.dtype != "bool":
            self.places[row] = access
            return
        when = () if load.when is None else (self.operand(load.when),)
        made = self.own._block(load.dtype)
        self.code.append(Step(f"load.{load.dtype}", made, (access, *when)))
        self.places[row] = made
        for operand in load.operands:
            self._used(operand)

    def _needs_block(self, row: Row | None) -> bool:
        return row is not None and not self.own._is_single(row)

    def index_block(self, row: Row | None) -> Place:
        """Return a block with the indices that a row gives, as 64 bits."""
        assert row is not None
        place, dtype = self.operand(row), self.rows[row].dtype
        if dtype == "int64" and place[0] == "t":
            return place
        made = self.own._block("int64")
        name = "copy.8" if dtype == "int64" else f"cast.int64.{dtype}"
        self.code.append(Step(name, made, (place,)))
        return made

    def _index(self) -> Place:
        if self.index is None:
            self.index = self.own._lasting()
            self.code.append(Step("index", self.index))
        return self.index

    def _filled(self, row: Row) -> Place:
        """Return a block of copies of a value; outside of the lanes if that does not change."""
        own = self.own
        value, each = own._single(row), self.rows[row]
        level = own.levels[int(value[1:])]
        if value in own.filled:
            return own.filled[value]
        if value in self.fills:
            return self.fills[value]
        made = own._lasting()
        step = Step(f"fill.{each.dtype}", made, (value,))
        if level <= own.lanes.outer:
            own.around[level].append(step)
            own.filled[value] = made
        else:
            self.code.append(step)
            self.fills[value] = made
        return made
