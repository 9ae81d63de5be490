"""Write the nest of a scan: a sequential loop over levels that carries the state.

If the levels are the innermost loop, the state stays in registers. If columns lie side by side in
memory, they are the innermost loop, and the state is an array over the columns, which stays in
cache. If the results of a leaf of the state become an array anyway, that array also holds the
state: it has one more level, from which the scan begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import dataflow
from ...ir.loops import Advance, Buffer, Constant, Load, NestLoop, Range, Ranges, Row, State, add
from .body import BodyWriter, NestBody
from .discovery import Home, Homes
from .needs import Need
from .order import THREADED, order_dims
from .places import Point
from .points import Points

WHERE = "walks columns side by side"
UNREAD: Row = -1  # of a leaf of the state


def scan_loops(
    scan: dataflow.Scan, box: Ranges, units: Sequence[Dimension], columns_apart: bool = False
) -> tuple[tuple[NestLoop, ...], bool]:
    """Return the loops of a scan, and whether its columns are the innermost loop.

    With `columns_apart` they never are: each column has a thread of its own.
    """
    ranges = {range_.dim: range_ for range_ in box}
    order, _ = order_dims(list(ranges), units)
    columns = [dim for dim in order if dim is not scan.axis]
    beside = order[-1] is not scan.axis and len(columns) > 1 and not columns_apart
    outer = columns[:-1] if beside else columns
    loops = [
        NestLoop("parallel" if i < THREADED else "sequential", ranges[dim])
        for i, dim in enumerate(outer)
    ]
    loops.append(NestLoop("sequential", ranges[scan.axis], backward=not scan.forward))
    if beside:
        loops.append(NestLoop("vector", ranges[columns[-1]]))
    return tuple(loops), beside


@classes.frozen
class Held:
    """Where a leaf of the state is held: an array, and the offset from the current level."""

    array: Buffer
    offsets: tuple[int, ...]

    def load(self, level: int) -> Load:
        """Return the instruction that reads the state of the level before."""
        dtype, name, dims = self.array.dtype, self.array.name, self.array.dims
        return Load(dtype=dtype, level=level, buffer=name, dims=dims, offsets=self.offsets)


def held_states(
    scan: dataflow.Scan,
    name: str,
    number: int,
    box: Ranges,
    loops: Sequence[NestLoop],
    results: Mapping[int, Buffer],
    all_leaves: bool = True,
) -> tuple[Held | None, ...]:
    """Return the array of each leaf: that of its result, or one over the columns.

    Unless `all_leaves` are held, one that the next level does not read has none.
    """
    read = {each.name for each in scan.body.values if isinstance(each, dataflow.Scalar)}
    back = -1 if scan.forward else 1
    columns = tuple(range_ for range_ in box if range_.dim is not scan.axis)
    dims = tuple(range_.dim for range_ in columns)
    order = tuple(loop.range.dim for loop in loops if loop.range.dim is not scan.axis)
    why = f"a state of {name}, which {WHERE}"
    held: list[Held | None] = []
    for k, dtype in enumerate(_dtypes(scan)):
        if not (all_leaves or k in results or f"s{k}" in read):
            held.append(None)
            continue
        array = results.get(k) or Buffer(
            f"@s{number}.{k}", "arena", dtype, dims, order[-1], columns, order, reason=why
        )
        held.append(Held(array, tuple(back * (dim is scan.axis) for dim in array.dims)))
    return tuple(held)


def first_levels(box: Ranges, scan: dataflow.Scan, around: bool = False) -> Ranges:
    """Return the level before the first level of a scan (`around` it all), over all columns."""
    return tuple(
        range_ if range_.dim is not scan.axis else _before(range_, scan.forward, around)
        for range_ in box
    )


def _before(levels: Range, forward: bool, around: bool) -> Range:
    """Return the level before the first, or all levels and that one."""
    if forward:
        return Range(levels.dim, add(levels.start, -1), levels.stop if around else levels.start)
    return Range(levels.dim, levels.start if around else levels.stop, add(levels.stop, 1))


def first_states(
    points: Points,
    scan: int,
    arrays: Mapping[int, Buffer],
    loops: Sequence[NestLoop],
    homes: Homes,
    needs: Mapping[int, Need],
) -> NestBody:
    """Return instructions that initialise the arrays of some leaves of the state."""
    roots = [points.nodes[scan].operands[leaf] for leaf in arrays]
    writer = BodyWriter(points, roots, loops, homes)
    writer.store_all((own.name, root) for own, root in zip(arrays.values(), roots, strict=True))
    return NestBody(tuple(writer.rows), writer.reads(needs))


def scan_body(
    points: Points,
    scan: int,
    stores: Sequence[tuple[str, Point]],
    states: Sequence[Held | None],
    loops: Sequence[NestLoop],
    homes: Homes,
    needs: Mapping[int, Need],
) -> tuple[NestBody, tuple[tuple[str, Row], ...]]:
    """Return the instructions of one level, and the first states unless `states` has arrays.

    `stores` are buffers and their values: leaves of the state, or values computed from them.
    """
    value, operands = points.nodes[scan].value, points.nodes[scan].operands
    assert isinstance(value, dataflow.Scan)  # columns have no states
    count, level, dtypes = len(value.init), len(loops), _dtypes(value)
    results = leaves_of(points, scan)
    known = {**homes, **{node: Home(f"%{node}") for node in results}}  # rows, not in memory
    roots = [*(operands[count:] if states else operands), *(root for _, root in stores)]
    writer = BodyWriter(points, roots, loops, known)
    args = [writer.row(operand) for operand in operands[count:]]
    first = [] if states else [writer.row(operand) for operand in operands[:count]]
    old = [UNREAD if each is None else writer.add(each.load(level)) for each in states]
    for k, dtype in enumerate(() if states else dtypes):
        old.append(writer.add(State(dtype=dtype, level=level, index=k)))
    new = _one_level(writer, value.body, old, args)
    for node, leaf in results.items():
        writer.places[0, points.here(node)] = new[leaf]
    writer.store_all(stores)
    for k, row in enumerate(new):
        if not states:
            writer.rows.append(Advance(dtype=dtypes[k], level=level, index=k, value=row))
        elif (held := states[k]) is not None and not any(held.offsets):
            writer.store(held.array.name, row)
    made = NestBody(tuple(writer.rows), writer.reads(needs))
    return made, tuple(zip(dtypes, first, strict=not states))


def _one_level(
    writer: BodyWriter, body: dataflow.Body, states: Sequence[Row], args: Sequence[Row]
) -> list[Row]:
    """Write the body of a scan, return its results; rows without state or level stand outside."""
    rows: list[Row] = []
    for value in body.values:
        match value:
            case dataflow.Scalar(name=name):
                rows.append((states if name[0] == "s" else args)[int(name[1:])])
            case dataflow.Literal(text=text):
                rows.append(writer.add(Constant(dtype=value.dtype, text=text)))
            case dataflow.Map(op=op, args=inner):
                rows.append(writer.compute(op, value.dtype, [rows[ref] for ref in inner]))
            case _:
                raise TypeError(f"A scan cannot hold '{type(value).__name__}'.")
    return [rows[ref] for ref in body.results]


def leaves_of(points: Points, scan: int) -> dict[int, int]:
    """Return the nodes that are results of a scan, and the leaf of the state that each is."""
    return {
        index: node.value.index
        for index, node in enumerate(points.nodes)
        if isinstance(node.value, dataflow.Result) and node.operands[0][0] == scan
    }


def _dtypes(scan: dataflow.Scan) -> list[str]:
    return [scan.body.values[ref].dtype for ref in scan.body.results]
