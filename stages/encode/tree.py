"""Encode a kernel: its buffers, and the nodes of its tree in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...runtime.language import Dimension
from ...runtime.process import CodegenError, classes
from ..codegen.soft_reads import Clamping, Ends
from ..ir.loops import (
    Bound,
    Buffer,
    Column,
    Compute,
    Constant,
    Index,
    Instruction,
    Kernel,
    Load,
    Nest,
    Node,
    Number,
    Row,
    Seq,
    Stride,
    Tiles,
    add,
    arrays_of,
    nests_of,
    nodes_of,
    with_nests,
    with_operands,
)
from . import program as encoded
from .naming import Naming
from .nests import encode_nest


def encode(
    kernel: Kernel,
    ints: Sequence[Bound | Stride],
    own_functions: bool,
    clamping: Clamping | None = None,
    stepped: int | None = None,
    steps: Sequence[int] = (),
) -> encoded.Program:
    """Return a kernel as steps; see `write_cpp` for the arguments."""
    places: Mapping[Bound | Stride, int] = {source: place for place, source in enumerate(ints)}
    naming = Naming(kernel, places, own_functions)
    numbers = steps if stepped is not None else [0] * len(kernel.groups)
    clamped: tuple[encoded.Node, ...] = ()
    if clamping is not None:
        places = {
            s: place
            for place, s in enumerate((*ints, *clamping.integers))
            if place != clamping.flag
        }
        inside = classes.evolve(naming, ints=places)
        safe = with_nests(kernel, lambda nest: _clamped_nest(nest, clamping.ends))
        clamped = tuple(_nodes(classes.evolve(inside, kernel=safe), safe, numbers))
    return encoded.Program(
        kernel.name,
        tuple(_buffers(naming)),
        tuple(map(naming.count, kernel.slots)),
        tuple(_nodes(naming, kernel, numbers)),
        clamped,
        -1 if clamping is None else clamping.flag,
        -1 if stepped is None else stepped,
    )


def _nodes(naming: Naming, kernel: Kernel, numbers: Sequence[int]) -> Iterator[encoded.Node]:
    for step in kernel.steps:
        for node in _in_order(step.body):
            if isinstance(node, Column):
                raise CodegenError("Imperative columns wait for compiled code.")
            number = numbers[nests_of(node)[0].group]
            match node:
                case Nest():
                    yield encoded.Node(number, encode_nest(naming, node))
                case Tiles():
                    yield encoded.Node(number, _tiles(naming, node))
                case _:
                    raise CodegenError(f"'{type(node).__name__}' cannot be encoded.")


def _in_order(node: Node) -> Iterator[Node]:
    for step in node.steps if isinstance(node, Seq) else (node,):
        yield from _in_order(step) if isinstance(step, Seq) else (step,)


def _tiles(naming: Naming, tiles: Tiles) -> encoded.Tiles:
    cuts = {cut.range.dim: number for number, cut in enumerate(tiles.cuts)}
    box = max((member.nest.box for member in tiles.members), key=len)
    guard = naming.kernel.groups[tiles.members[0].nest.group].box
    return encoded.Tiles(
        tuple(map(naming.span, guard)),
        tuple(map(naming.span, box)),
        tuple(encoded.Cut(naming.span(cut.range), cut.size, cut.even) for cut in tiles.cuts),
        tuple(
            encoded.Member(
                encode_nest(naming, member.nest),
                tuple(cuts.get(loop.range.dim, -1) for loop in member.nest.loops),
                member.margins,
            )
            for member in tiles.members
        ),
        -1 if tiles.rolled is None else cuts[tiles.rolled],
        tiles.threads,
    )


def _buffers(naming: Naming) -> Iterator[encoded.Buffer]:
    """Yield the memory; a call has its fields first, then its tables."""
    kernel = naming.kernel
    given = [each for kind in ("field", "table") for each in kernel.buffers if each.memory == kind]
    touched = arrays_of(kernel)
    cuts: dict[str, dict[Dimension, int]] = {
        name: {cut.range.dim: number for number, cut in enumerate(tiles.cuts)}
        for tiles in nodes_of(kernel, Tiles)
        for name in tiles.arrays
    }
    for each in kernel.buffers:
        if each.memory in ("field", "table"):
            strides = tuple(
                (-1, 1)
                if dim is each.unit or each.name not in touched
                else (naming.ints[Stride(each.name, axis)], 0)
                for axis, dim in enumerate(each.dims)
            )
            yield encoded.Buffer(each.name, each.memory, each.dtype, given.index(each), strides)
        else:
            yield _array(naming, each, cuts.get(each.name, {}))


def _array(naming: Naming, array: Buffer, cuts: Mapping[Dimension, int]) -> encoded.Buffer:
    ranges = {range_.dim: range_ for range_ in array.box}
    assert array.memory in ("arena", "tile"), "a CPU has no shared memory"
    return encoded.Buffer(
        array.name,
        array.memory,
        array.dtype,
        array.slot,
        box=tuple(naming.span(ranges[dim]) for dim in array.dims),
        order=tuple(array.dims.index(dim) for dim in array.order),
        cuts=tuple(cuts.get(dim, -1) for dim in array.dims),
        ring=-1 if array.ring is None else array.dims.index(array.ring),
    )


def _clamped_nest(nest: Nest, ends: Ends) -> Nest:
    """Return a nest whose loads from the fields in `ends` stay inside of them."""
    if not any(isinstance(row, Load) and row.buffer in ends for row in nest.body):
        return nest
    rows: list[Instruction] = []
    moved: list[Row] = []
    for row in nest.body:
        each = with_operands(row, moved.__getitem__)
        if isinstance(each, Load) and each.buffer in ends:
            each = _clamped(each, rows, nest, ends)
        moved.append(len(rows))
        rows.append(each)
    states = tuple((dtype, moved[row]) for dtype, row in nest.states)
    return classes.evolve(nest, body=tuple(rows), states=states, marks=None)


def _clamped(load: Load, rows: list[Instruction], nest: Nest, ends: Ends) -> Load:
    """Return a load whose index along each axis is a row of its own."""
    depth = {loop.range.dim: level for level, loop in enumerate(nest.loops, 1)}
    shared = sum(loop.kind == "parallel" for loop in nest.loops)

    def write(row: Instruction) -> Row:
        rows.append(row)
        return len(rows) - 1

    def compute(op: str, one: Row, other: Row) -> Row:
        level = max(rows[one].level, rows[other].level)
        part = load.part if level == len(nest.loops) else 0
        made = Compute(dtype="int64", level=level, part=part, op=op, args=(one, other))
        return write(made)

    indices: list[Row] = []
    for (dim, row, offset), (start, stop) in zip(load.places, ends[load.buffer], strict=True):
        if row is None and dim in depth:
            level = max(depth[dim], shared)
            part = load.part if level == len(nest.loops) else 0
            found = write(Index(dtype="int64", level=level, part=part, dim=dim))
        elif row is None:
            found = write(Constant(dtype="int64", text=str(offset)))
        elif rows[row].dtype != "int64":
            at = rows[row]
            found = write(
                Compute(dtype="int64", level=at.level, part=at.part, op="cast", args=(row,))
            )
        else:
            found = row
        if offset and (row is not None or dim in depth):
            found = compute("add", found, write(Constant(dtype="int64", text=str(offset))))
        last = write(Number(dtype="int64", bound=add(stop, -1)))
        first = write(Number(dtype="int64", bound=start))
        indices.append(compute("maximum", compute("minimum", found, last), first))
    return classes.evolve(load, rows=tuple(indices), offsets=(0,) * len(load.dims))
