"""Where a thread is in the grid: the index of its first point along each loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from .....runtime.process import classes
from ....ir.loops import Bound, Const, Nest, add, floor_divide, maximum, multiply, subtract
from ....ir.loops.gpu import marks_of
from ...rows import Scope, loop_over

AXES = "xyz"
MOST_BLOCKS = 65535  # that vendors allow along y and z
DIVIDE = """\
DEVICE s64 over(u64 a, u64 b) { return (a | b) >> 32 ? s64(a / b) : s64(u32(a) / u32(b)); }"""


@classes.frozen
class Axis:
    """One `thread` loop: its level, threads of a block along it, and points of a thread."""

    level: int
    threads: int
    points: int


def axes_of(nest: Nest) -> tuple[Axis, ...]:
    """Return the `thread` loops of a nest, inner to outer."""
    levels = [level for level, loop in enumerate(nest.loops) if loop.kind == "thread"]
    ones = (1,) * len(levels)
    marks = marks_of(nest)
    threads = ones if is_flat(nest) else (*marks.block, *ones)  # one thread along other axes
    return tuple(
        Axis(level, own, points)
        for level, own, points in zip(reversed(levels), threads, marks.points or ones, strict=False)
    )


def is_flat(nest: Nest) -> bool:
    """Tell whether the points of all loops are counted in one row: a block has one number."""
    return len(marks_of(nest).block) == 1 < sum(loop.kind == "thread" for loop in nest.loops)


def first_of(nest: Nest, axis: Axis) -> Bound:
    """Return the first point of the first thread: a multiple of its points along the rows."""
    start = nest.loops[axis.level].range.start
    is_plain = axis.points == 1 or axis.level < len(nest.loops) - 1
    return start if is_plain else multiply(floor_divide(start, Const(axis.points)), axis.points)


def blocks_of(nest: Nest) -> list[Bound]:
    """Return how many blocks the grid has along each axis; not positive for an empty loop."""
    axes, counts = axes_of(nest), []  # of threads, negative for empty loops
    for axis in axes:
        extent = subtract(nest.loops[axis.level].range.stop, first_of(nest, axis))
        counts.append(floor_divide(add(extent, axis.points - 1), Const(axis.points)))
    if is_flat(nest):
        total = reduce(multiply, (maximum(count, Const(0)) for count in counts))
        (size,) = marks_of(nest).block
        return [floor_divide(add(total, size - 1), Const(size))]
    return [
        floor_divide(add(count, axis.threads - 1), Const(axis.threads))
        for count, axis in zip(counts, axes, strict=True)
    ]


# --- text ---------------------------------------------------------------------------------------


def first_text(scope: Scope, nest: Nest, axis: Axis) -> str:
    """Return the first point of the first thread as an expression."""
    start = scope.bound(nest.loops[axis.level].range.start)
    is_plain = axis.points == 1 or axis.level < len(nest.loops) - 1
    return start if is_plain else f"({start} & -{axis.points})"


def flat_places(scope: Scope, nest: Nest, index: str) -> Iterator[str]:
    """Define the first point of a thread along each loop, `<index><level>`, from its number."""
    yield f"  const u64 t = u64(blockIdx.x) * {marks_of(nest).block[0]} + threadIdx.x;"
    yield from (f"  {line}" for line in places(scope, nest, index, "t", "q"))


def places(scope: Scope, nest: Nest, index: str, left: str, quotient: str) -> Iterator[str]:
    """Define the indices of a thread with the number `left`; `quotient` is a letter for names."""
    scope.uses.functions["over"] = DIVIDE
    axes = axes_of(nest)
    for axis in axes:
        level, first, number = axis.level, first_text(scope, nest, axis), left
        times = f" * {axis.points}" if axis.points > 1 else ""
        if axis is not axes[-1]:
            stop = scope.bound(nest.loops[level].range.stop)
            more = f" + {axis.points - 1}) / {axis.points}" if times else ")"
            own, size = f"{quotient}{level}", f"m{level}"
            yield from (
                f"const u64 {size} = u64({stop} - {first}{more};",
                f"const u64 {own} = over({left}, {size});",
            )
            number, left = f"{left} - {own} * {size}", own
        yield f"const s64 {index}{level} = {first} + s64({number}){times};"


def opened(scope: Scope, nest: Nest, level: int, letter: str = "i") -> str:
    """Open a loop of a thread, or over what the threads of the grid share along one axis."""
    loop, indent = nest.loops[level], "  " * (level + 1)
    start, stop = scope.ends(loop.range)
    axis = next((axis for axis in axes_of(nest) if axis.level == level), None)
    if axis is None:
        return f"{indent}{loop_over(f'i{level}', (start, stop), backward=loop.backward)}"
    index = f"{letter}{level}"
    if is_flat(nest):
        return f"{indent}if ({index} < {stop}) {{"
    place = axes_of(nest).index(axis)
    name, size = AXES[place], axis.threads
    number = f"s64(blockIdx.{name}) * {size} + threadIdx.{name}"
    number = f"({number}) * {axis.points}" if axis.points > 1 else number
    first = f"{first_text(scope, nest, axis)} + {number}"
    if scope.narrow:  # its grid has all blocks, so one test in the last loop is enough
        stops = [scope.ends(each.range)[1] for each in nest.loops]
        test = " & ".join(f"({letter}{at} < s32({each}))" for at, each in enumerate(stops))
        opening = f"if ({test}) {{" if level + 1 == len(stops) else "{"
        return f"{indent}const s32 {index} = {first}; {opening}"
    if place == 0:
        return f"{indent}const s64 {index} = {first}; if ({index} < {stop}) {{"
    step = f"{index} += s64(gridDim.{name}) * {size * axis.points}"
    return f"{indent}for (s64 {index} = {first}; {index} < {stop}; {step}) {{"
