"""Write one loop nest as a kernel: what one thread does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from ....ir.nests import Nest, Store
from ...integers import buffers_of
from ...rows.names import Names
from ..passes.unrolling import unrolled
from .body import ThreadBody
from .grid import AXES, Axis, axes_of, first_text, flat_places, is_flat
from .memory import array_text
from .sweep import SweepBody
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


def _patches(names: Names, nest: Nest, body: ThreadBody) -> Iterator[str]:
    """Write the loops of a thread that has several points: all at once, or one by one at the ends.

    Unrolled code needs all points of a thread inside, and aligned memory or a version of its own
    for other memory.
    """
    dims_of = {name: buffer.dims for name, buffer in names.by_name.items()}
    whole = attrs.evolve(nest, body=unrolled(nest, nest.each, dims_of))
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
        yield from array_text(names, name)


def _tests(names: Names, nest: Nest) -> list[tuple[int, int]]:
    """Return the numbers of the tested stores of a nest, and the bits of what they store."""
    stored = {row.buffer: row.dtype for row in nest.body if isinstance(row, Store)}
    return [
        (names.tests[nest.statement, buffer], 32 if dtype == "float32" else 64)
        for buffer, dtype in stored.items()
        if (nest.statement, buffer) in names.tests
    ]
