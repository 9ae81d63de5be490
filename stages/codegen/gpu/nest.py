"""Write one loop nest as a kernel: what one thread does."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.loops import Loop, Nest, Store
from ..cpp.memory import strides
from ..cpp.names import Names, stored_type
from ..integers import buffers_of
from .body import ThreadBody

AXES = "xyz"


def write_kernel(names: Names, nest: Nest) -> Iterator[str]:
    """Write the statements of one thread.

    The grid has enough blocks along x. Along y and z vendors allow few; there a thread takes
    several indices if it must.
    """
    yield from _arrays(names, nest)
    body = ThreadBody(names, nest)
    tests = _tests(names, nest)
    yield from (f"  u{bits} e{number} = 0;" for number, bits in tests)
    yield from body.at(0)
    depth = len(nest.loops)
    for level, loop in enumerate(nest.loops):
        indent = "  " * (level + 1)
        if level == depth - 1:
            yield from body.pointers(indent)
            yield from body.states(indent)
        yield indent + _head(names, nest, level, loop)
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
    yield from (f"  if (e{number} >> {bits - 1}) note(first, {number});" for number, bits in tests)


def _head(names: Names, nest: Nest, level: int, loop: Loop) -> str:
    start, stop = names.bound(loop.range.start), names.bound(loop.range.stop)
    index = f"i{level}"
    if loop.kind != "thread":
        if loop.backward:
            return f"for (s64 {index} = {stop} - 1; {index} >= {start}; --{index}) {{"
        return f"for (s64 {index} = {start}; {index} < {stop}; ++{index}) {{"
    place = axis_of(nest, level)
    axis, size = AXES[place], nest.block[place]
    first = f"{start} + s64(blockIdx.{axis}) * {size} + threadIdx.{axis}"
    if place == 0:
        return f"const s64 {index} = {first}; if ({index} < {stop}) {{"
    step = f"{index} += s64(gridDim.{axis}) * {size}"
    return f"for (s64 {index} = {first}; {index} < {stop}; {step}) {{"


def axis_of(nest: Nest, level: int) -> int:
    """Return which axis of the grid a `thread` loop is; the innermost is x."""
    last = max(i for i, loop in enumerate(nest.loops) if loop.kind == "thread")
    return last - level


def _arrays(names: Names, nest: Nest) -> Iterator[str]:
    """Define the arrays of the arena that a nest touches, moved to index 0."""
    for name in buffers_of(nest):
        buffer = names.by_name[name]
        if buffer.memory != "arena":
            continue
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
