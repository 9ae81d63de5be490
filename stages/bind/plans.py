"""The argument plan of an interface: strides, bounds and checks as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...runtime.calls.plan import Access, Argument, Box, Plan, Status
from ...runtime.language.dimension import Dimension
from ..artifacts import Interface
from ..ir.bounds import Const, Ranges
from ..ir.dataflow import Leaf, Read, Statement
from .codes import Symbols, code_of


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
