"""Write one loop nest as a kernel: what one thread does."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import attrs

from ...ir.loops import Load, Nest, Store, Together
from ..cpp.memory import strides
from ..cpp.names import Names, stored_type
from ..integers import buffers_of
from ..loop_passes.unrolling import unrolled
from ..schedule.costs import ITEMSIZES
from .blocked import rooms, write_blocked
from .body import ThreadBody
from .columns import write_columns
from .grid import AXES, Axis, axes_of, columns_in_a_row, first_text, flat_places, is_flat
from .sweep import Shared, SweepBody
from .wide import PatchBody, together


def write_kernel(names: Names, nest: Nest) -> Iterator[str]:
    """Write the statements of one thread.

    The grid has enough blocks along x. Along y and z vendors allow few; there a thread takes
    several indices if it must.
    """
    yield from _arrays(names, nest)
    body = SweepBody(names, nest, {}) if nest.states else ThreadBody(names, nest)
    tests = _tests(names, nest)
    yield from (f"  u{bits} e{number} = 0;" for number, bits in tests)
    yield from body.at(0)
    if nest.each:
        yield from _patches(names, nest, body)
    else:
        yield from _points(names, nest, body)
    yield from (f"  if (e{number} >> {bits - 1}) note(first, {number});" for number, bits in tests)


def _points(names: Names, nest: Nest, body: ThreadBody) -> Iterator[str]:
    """Write the loops of a thread that has one point along each of its loops, or one column."""
    axes = {axis.level: axis for axis in axes_of(nest)}
    depth = len(nest.loops)
    flat = is_flat(nest)
    if flat:
        yield from flat_places(names, nest, "i")
    for level in range(depth):
        indent = "  " * (level + 1)
        if level == depth - 1:
            yield from body.pointers(indent)
            yield from body.states(indent)
        if level == depth - 1 and isinstance(body, SweepBody):
            yield from body.sweep(indent)
            depth -= 1
            continue
        if level in axes:
            yield indent + (
                _inside(names, nest, axes[level]) if flat else _grid_loop(names, nest, axes[level])
            )
        else:
            yield indent + _loop(names, nest, level)
        if level < depth - 1 or len(nest.parts) <= 1:
            yield from body.at(level + 1)
            continue
        for part, range_ in enumerate(nest.parts):
            start, stop = names.bound(range_.start), names.bound(range_.stop)
            yield f"{indent}  if (i{level} >= {start} && i{level} < {stop}) {{"
            yield from body.at(level + 1, part, deeper=1)
            yield f"{indent}  }}"
    if depth:
        yield "  " + "}" * depth


def write_together(names: Names, scans: Together, *, blocked: bool = False) -> Iterator[str]:
    """Write several scans over the same columns as one kernel: a thread has a column.

    With `blocked`, columns may have any length.
    """
    threads = scans.blocked.threads if blocked and scans.blocked else scans.columns or scans.threads
    nests = [
        columns_in_a_row(nest, threads) for nest in names.kernel.nests[scans.first : scans.stop]
    ]
    if scans.tiles:
        for name in dict.fromkeys(name for nest in nests for name in buffers_of(nest)):
            if name not in scans.arrays:
                yield from _array(names, name)
        yield from write_columns(names, scans)
        return
    if blocked:
        yield from _whole_columns(names, nests, scans)
        return
    axis, kept = nests[0].loops[-1].range.dim, set(scans.arrays)
    for name in dict.fromkeys(name for nest in nests for name in buffers_of(nest)):
        if name not in kept:
            yield from _array(names, name)
    shared: dict[str, Shared] = {}
    room = "0"
    for place, name in enumerate(scans.arrays):
        buffer = names.by_name[name]
        levels = next(range_ for range_ in buffer.box if range_.dim is axis)
        levels = nests[0].loops[-1].range if scans.blocked else levels
        first, stop = names.bound(levels.start), names.bound(levels.stop)
        count = f"({stop} - {first}) * {scans.threads}"
        type_ = stored_type(buffer)
        yield f"  const ff::shared_array<{type_}> h{place}(u32({room}), {count});"
        shared[name] = Shared(f"h{place}", first, scans.threads)
        room += f" + {count} * {ITEMSIZES[buffer.dtype]}"
    yield from flat_places(names, nests[0], "i")
    yield _in_columns(names, nests[0])
    for place, nest in enumerate(nests):
        once = _once(nests, place, kept) if scans.keeps else ()
        yield from SweepBody(names, nest, shared, once).scope()
    yield "  }"


def _whole_columns(names: Names, nests: Sequence[Nest], scans: Together) -> Iterator[str]:
    for name in dict.fromkeys(name for nest in nests for name in buffers_of(nest)):
        yield from _array(names, name)
    yield from rooms(names, scans)
    yield from flat_places(names, nests[0], "i")
    yield _in_columns(names, nests[0])
    yield from write_blocked(names, nests, scans)
    yield "  }"


def _in_columns(names: Names, nest: Nest) -> str:
    """Open the block of threads that have a column."""
    stops = ((axis.level, names.bound(nest.loops[axis.level].range.stop)) for axis in axes_of(nest))
    return f"  if ({' && '.join(f'i{level} < {stop}' for level, stop in stops)}) {{"


def _once(nests: Sequence[Nest], place: int, kept: Container[str]) -> set[str]:
    """Return what one of several scans touches last; nothing if none reads what another does."""
    loaded = [{row.buffer for row in nest.body if isinstance(row, Load)} for nest in nests]
    later = {name for names in loaded[place + 1 :] for name in names}
    return {name for name in buffers_of(nests[place]) if name not in kept and name not in later}


def _patches(names: Names, nest: Nest, body: ThreadBody) -> Iterator[str]:
    """Write the loops of a thread that has several points: all at once, or one by one at the ends.

    Unrolled code needs all points of a thread inside, and aligned memory or a version of its own
    for other memory.
    """
    dims_of = {name: buffer.dims for name, buffer in names.by_name.items()}
    whole = attrs.evolve(nest, body=unrolled(nest, dims_of))
    patch = PatchBody(names, whole)
    bodies = [("aligned", patch)]
    if patch.groups and nest.unaligned and not names.clamped:
        bodies.append(("", PatchBody(names, whole, wide=False)))
    own = [axis for axis in axes_of(nest) if axis.points > 1 or axis.level == len(nest.loops) - 1]
    yield f"  const bool aligned = {together(patch.aligned())};"
    yield from _patch_loops(names, nest, body, own)
    indent = "  " * (len(nest.loops) + 1)
    inside = list(_all_inside(names, nest, own))
    for number, (test, each) in enumerate(bodies):
        tests = " && ".join([test, *inside] if test else inside) or "true"
        yield f"{indent}{'} else ' if number else ''}if ({tests}) {{"
        yield from (f"{indent}  const s64 i{axis.level} = f{axis.level};" for axis in reversed(own))
        yield from each.everything(f"{indent}  ")
    yield f"{indent}}} else {{"
    yield from _one_by_one(names, nest, body, list(reversed(own)), indent)
    yield f"{indent}}}"
    yield "  " + "}" * len(nest.loops)


def _patch_loops(names: Names, nest: Nest, body: ThreadBody, own: Sequence[Axis]) -> Iterator[str]:
    """Open the loops of a thread up to its first point, `f<level>`; `own` are those it unrolls."""
    axes = {axis.level: axis for axis in axes_of(nest)}
    unrolls = {axis.level for axis in own}
    flat = is_flat(nest)
    if flat:
        yield from flat_places(names, nest, "f")
    for level in range(len(nest.loops)):
        indent = "  " * (level + 1)
        if level not in axes:
            yield indent + _loop(names, nest, level)
        elif flat:
            yield indent + _inside(names, nest, axes[level], "f")
        else:
            yield indent + _grid_loop(names, nest, axes[level], "f")
        if level in axes and level not in unrolls:
            yield f"{indent}  const s64 i{level} = f{level};"
        if level < min(unrolls):
            yield from body.at(level + 1)


def _all_inside(names: Names, nest: Nest, own: Sequence[Axis]) -> Iterator[str]:
    """Yield the tests that all points of a thread lie inside."""
    for axis in own:
        range_ = nest.loops[axis.level].range
        if axis.level == len(nest.loops) - 1 and axis.points > 1:
            yield f"f{axis.level} >= {names.bound(range_.start)}"
        if axis.points > 1:
            yield f"f{axis.level} + {axis.points} <= {names.bound(range_.stop)}"


def _one_by_one(
    names: Names, nest: Nest, body: ThreadBody, axes: list[Axis], indent: str
) -> Iterator[str]:
    """Write loops over the points of a thread that lie inside."""
    last = len(nest.loops) - 1
    opened = 0
    for level in range(axes[0].level, len(nest.loops)):
        axis = next((each for each in axes if each.level == level), None)
        if level == last:
            yield from (f"  {line}" for line in body.pointers(indent))
        if axis is not None:
            range_ = nest.loops[level].range
            start, stop = names.bound(range_.start), names.bound(range_.stop)
            first = f"f{level}"
            if level == last and axis.points > 1:
                first = f"f{level} < {start} ? {start} : f{level}"
            yield "#pragma unroll 1"
            yield (
                f"{indent}  for (s64 i{level} = {first}; "
                f"i{level} < f{level} + {axis.points} && i{level} < {stop}; ++i{level}) {{"
            )
            opened += 1
        yield from (f"  {line}" for line in body.at(level + 1))
    yield f"{indent}  " + "}" * opened


def _loop(names: Names, nest: Nest, level: int) -> str:
    """Open a loop inside of each thread."""
    loop, index = nest.loops[level], f"i{level}"
    start, stop = names.bound(loop.range.start), names.bound(loop.range.stop)
    if loop.backward:
        return f"for (s64 {index} = {stop} - 1; {index} >= {start}; --{index}) {{"
    return f"for (s64 {index} = {start}; {index} < {stop}; ++{index}) {{"


def _grid_loop(names: Names, nest: Nest, axis: Axis, letter: str = "i") -> str:
    """Open the loop over what the threads of the grid share along one axis."""
    place = axes_of(nest).index(axis)
    stop = names.bound(nest.loops[axis.level].range.stop)
    index, name, size = f"{letter}{axis.level}", AXES[place], axis.threads
    scale = f" * {axis.points}" if axis.points > 1 else ""
    number = f"s64(blockIdx.{name}) * {size} + threadIdx.{name}"
    number = f"({number}){scale}" if scale else number
    first = f"{first_text(names, nest, axis)} + {number}"
    if place == 0:
        return f"const s64 {index} = {first}; if ({index} < {stop}) {{"
    step = f"{index} += s64(gridDim.{name}) * {size * axis.points}"
    return f"for (s64 {index} = {first}; {index} < {stop}; {step}) {{"


def _inside(names: Names, nest: Nest, axis: Axis, letter: str = "i") -> str:
    """Open the block of threads that have a point along a loop."""
    index, stop = f"{letter}{axis.level}", names.bound(nest.loops[axis.level].range.stop)
    return f"if ({index} < {stop}) {{"


def _arrays(names: Names, nest: Nest) -> Iterator[str]:
    """Define the arrays of the arena that a nest touches, moved to index 0."""
    for name in buffers_of(nest):
        yield from _array(names, name)


def _array(names: Names, name: str) -> Iterator[str]:
    buffer = names.by_name[name]
    if buffer.memory != "arena":
        return
    yield from strides(names, buffer)
    starts = {range_.dim: names.bound(range_.start) for range_ in buffer.box}
    origin = "".join(
        f" - {names.term(buffer, axis, starts[dim])}" for axis, dim in enumerate(buffer.dims)
    )
    type_, own = stored_type(buffer), names.buffers[name]
    yield f"  {type_}* const {own} = ({type_}*)slot{buffer.slot}{origin};"


def _tests(names: Names, nest: Nest) -> list[tuple[int, int]]:
    """Return the numbers of the tested stores of a nest, and the bits of what they store."""
    stored = {row.buffer: row.dtype for row in nest.body if isinstance(row, Store)}
    return [
        (names.tests[nest.statement, buffer], 32 if dtype == "float32" else 64)
        for buffer, dtype in stored.items()
        if (nest.statement, buffer) in names.tests
    ]
