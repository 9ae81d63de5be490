"""The argument plan of an interface: strides, bounds and checks as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...runtime.calls.plan import Access, Argument, Box, Code, Plan, Status, Word
from ...runtime.language import Dimension
from ...runtime.process import classes
from ..artifacts import Interface
from ..ir.dataflow import Leaf, Read, Statement, Table
from ..ir.loops import (
    Apply,
    Bound,
    Const,
    DomainSymbol,
    PatchBound,
    PatchOrder,
    Ranges,
    ScalarSymbol,
    Stride,
    TableBound,
)
from ..ir.settled import is_settled


def plan_of(interface: Interface) -> Plan:
    """Return the argument plan of an interface."""
    types = {leaf.name: (leaf.dims, leaf.dtype) for leaf in interface.leaves}
    symbols = Symbols.of(interface.leaves, interface.ints, interface.tables)
    return Plan(
        program=interface.program,
        parameters=interface.parameters,
        arguments=_arguments(interface),
        ints=tuple(code_of(source, symbols, i) for i, source in enumerate(interface.ints)),
        accesses=tuple(
            _access(
                statement,
                [read for read in interface.reads if read.statement == i],
                symbols,
                types,
                i in interface.continues,
            )
            for i, statement in enumerate(interface.statements)
        ),
        workspace=code_of(interface.workspace, symbols),
        backend=interface.backend,
        alike=tuple(_alike(interface)),
        ranges=tuple(_ranges(interface)),
        abi=interface.abi,
        device=interface.device,
        statuses=tuple(
            Status(code, kind, symbols.places[name]) for code, kind, name in interface.statuses
        ),
        launches=interface.launches,
        platform=interface.platform,
        codes=interface.codes,
        clamped=interface.clamped,
        stepped=interface.stepped,
        is_inside=interface.is_inside,
    )


def _alike(interface: Interface) -> Iterator[tuple[int, int, int, int]]:
    """Pair each range of a group of leaves with the first of the same dimension."""
    places = {leaf.name: place for place, leaf in enumerate(interface.leaves)}
    for names in interface.alike:
        first: dict[Dimension, tuple[int, int]] = {}
        for place in (places[name] for name in names):
            for axis, dim in enumerate(interface.leaves[place].dims):
                known = first.setdefault(dim, (place, axis))
                if known != (place, axis):
                    yield (*known, place, axis)


def _ranges(interface: Interface) -> Iterator[tuple[int, int, int, int]]:
    """Return the compiled-in ranges as rows (argument, axis, start, stop)."""
    for place, leaf in enumerate(interface.leaves):
        for axis, known in enumerate(leaf.ranges):
            start, stop = known.start, known.stop
            assert isinstance(start, Const), "a range of a leaf is a number"
            assert isinstance(stop, Const), "a range of a leaf is a number"
            yield place, axis, start.value, stop.value


def _arguments(interface: Interface) -> tuple[Argument, ...]:
    unit = dict(interface.unit)
    read = {read.name for read in interface.reads}
    written = {store.target for each in interface.statements for store in each.stores}
    leaves = tuple(
        Argument(
            name=leaf.name,
            path=leaf.path,
            kind=leaf.kind,
            dtype=leaf.dtype,
            dims=leaf.dims,
            unit=_axis(leaf, unit.get(leaf.name)),
            read=leaf.kind == "scalar" or leaf.name in read,
            written=leaf.name in written,
        )
        for leaf in interface.leaves
    )
    tables = tuple(
        Argument(
            name=table.name,
            path=(),
            kind="table",
            dtype="int32",
            dims=(table.target, table.local),
            read=True,
            width=table.width,
            skip=table.skip,
            codomain=None if table.source is table.local else table.source,
        )
        for table in interface.tables
    )
    return leaves + tables


def _axis(leaf: Leaf, dim: str | None) -> int:
    names = [each.value for each in leaf.dims]
    return -1 if dim is None else names.index(dim)


def _access(
    statement: Statement,
    reads: list[Read],
    symbols: Symbols,
    types: Mapping[str, object],
    continues: bool,
) -> Access:
    """Return the boxes of a statement, and which of its arguments may share memory.

    A field that the program both reads and writes shares its own memory: the generated code allows
    for it.
    """
    targets = list(dict.fromkeys(store.target for store in statement.stores))
    pairs = [
        (symbols.places[target], symbols.places[read.name])
        for target in targets
        for read in reads
        if target == read.name or (read.pointwise and types[target] == types.get(read.name))
    ]
    writes = dict.fromkeys((store.target, store.box) for store in statement.stores)
    return Access(
        writes=tuple(_box(target, box, symbols) for target, box in writes),
        reads=tuple(_box(read.name, read.box, symbols, read.hard) for read in reads),
        pointwise=tuple(dict.fromkeys(pairs)),
        continues=continues,
    )


def _box(name: str, box: Ranges, symbols: Symbols, hard: Ranges | None = None) -> Box:
    ranges = {range_.dim: range_ for range_ in box}
    place = symbols.places[name]
    parts = {range_.dim: range_ for range_ in hard or ()}
    dims = symbols.dims[place]
    return Box(
        argument=place,
        start=tuple(code_of(ranges[dim].start, symbols) for dim in dims),
        stop=tuple(code_of(ranges[dim].stop, symbols) for dim in dims),
        hard=tuple(
            (code_of(parts[dim].start, symbols), code_of(parts[dim].stop, symbols))
            for dim in dims
            if hard is not None
        ),
    )


_NUMBERS: Final = ("address", "patches", "shared", "size")  # in the order of the native core


@classes.frozen
class Symbols:
    """The places of symbols: arguments by name, and integers that are already computed.

    Tables are arguments after the leaves; as memory they are called `table C2E`.
    """

    dims: tuple[tuple[Dimension, ...], ...]
    places: Mapping[str, int]
    ints: Mapping[Bound | Stride, int]

    @classmethod
    def of(
        cls, leaves: Sequence[Leaf], ints: Sequence[Bound | Stride], tables: Sequence[Table] = ()
    ) -> Symbols:
        """Give leaves, tables and integers their numbers, in order."""
        names = [leaf.name for leaf in leaves] + [f"table {table.name}" for table in tables]
        dims = [leaf.dims for leaf in leaves] + [(table.target, table.local) for table in tables]
        places = {name: index for index, name in enumerate(names)}
        return cls(tuple(dims), places, {source: index for index, source in enumerate(ints)})


def code_of(source: Bound | Stride, symbols: Symbols, known: int | None = None) -> Code:
    """Return the program that computes `source`; the first `known` integers may be reused.

    >>> from ..ir.bounds import add
    >>> leaf = Leaf("n", (0,), "scalar", "int32")
    >>> [str(word.op) for word in code_of(add(ScalarSymbol("n"), 1), Symbols.of([leaf], []))]
    ['scalar', 'const', 'add']
    """
    limit = len(symbols.ints) if known is None else known
    words: list[Word] = []
    pending: list[Bound | Stride | Word] = [source]
    while pending:
        part = pending.pop()
        if isinstance(part, Word):
            words.append(part)
        elif limit and not isinstance(part, Const) and symbols.ints.get(part, limit) < limit:
            words.append(Word("int", value=symbols.ints[part]))
        elif not isinstance(part, Stride) and is_settled(part):
            pending.append(part.args[0])
        elif isinstance(part, Apply):
            # a b op c op: each operation follows its second operand
            first, *others = part.args
            for other in reversed(others):
                pending += [Word(part.op), other]
            pending.append(first)
        elif isinstance(part, TableBound):
            table = symbols.places[f"table {part.table}"]
            asked = Word(part.end, argument=table, slots=part.slots)
            pending += [asked, part.stop, part.start]
        else:
            words.append(_word(part, symbols))
    return tuple(words)


def _word(
    symbol: Const | ScalarSymbol | DomainSymbol | PatchBound | Stride, symbols: Symbols
) -> Word:
    match symbol:
        case Const(value=value):  # no field has an index near the ends of 64 bits
            return Word("const", value=min(max(value, -(2**63)), 2**63 - 1))
        case ScalarSymbol(name=name):
            return Word("scalar", argument=symbols.places[name])
        case DomainSymbol(end=end, field=name, dim=dim):
            axis = symbols.dims[symbols.places[name]].index(dim)
            return Word(end, argument=symbols.places[name], axis=axis)
        case PatchBound(number=number, order=order):
            numbers = (_NUMBERS.index(number), *_numbers(order, symbols))
            return Word(
                "patches", argument=symbols.places[f"table {order.tables[0]}"], slots=numbers
            )
        case Stride(name=name, axis=axis):
            return Word("stride", argument=symbols.places[name], axis=axis)


def _numbers(order: PatchOrder, symbols: Symbols) -> Iterator[int]:
    """Yield an order as numbers; tables are arguments. `native/patch_lists.cpp` reads them."""

    def place(table: str) -> int:
        return symbols.places[f"table {table}"]

    yield from (order.size, order.portion, order.most, order.percent, len(order.members))
    for member in order.members:
        owner = place(member.owner) if member.owner else -1
        yield from (int(member.fills), member.row_bytes, owner, int(member.leads_back))
        yield member.begins
        yield len(member.readings)
        for filler, way in member.readings:
            yield from (filler, len(way))
            for table, slot in way:
                yield from (place(table), slot)
