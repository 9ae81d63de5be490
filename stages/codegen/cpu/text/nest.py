"""Write one loop nest as C++."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.bounds import Range
from ....ir.nest_groups import Tiling
from ....ir.nests import Loop, Nest
from ...rows.body import BodyText
from ...rows.checks import Tests
from ...rows.names import Names
from .sharing import BLOCK, END, extents, flat_loops, marching_loop, opened
from .strips import SIMD, Strips


def write_nest(names: Names, nest: Nest, tiling: Tiling | None) -> Iterator[str]:
    """Write the loops of a nest and close the block that it stands in.

    Inside a tiling, a nest runs over its part of a tile and one thread runs all of it.
    """
    guard = (
        [] if tiling else [f"{names.bound(r.start)} < {names.bound(r.stop)}" for r in nest.guard]
    )
    if guard:
        yield f"  if ({' && '.join(guard)}) {{"
    body = BodyText(names, nest)
    shared = sum(loop.kind == "parallel" for loop in nest.loops)
    if nest.loops:
        yield from body.at(0)
    else:
        tests = Tests(names, nest)
        yield from (*tests.begin("    "), *body.at(0), *tests.end("    "))
    flat = 0  # the number of outer loops that are collapsed into one and shared among threads
    if len(nest.loops) > 1 and nest.loops[0].kind != "sequential" and tiling is None:
        flat = max(1, min(shared, len(nest.loops) - 1))
        yield from _shared_loops(names, nest, body, flat)
    for level, loop in enumerate(nest.loops):
        if level == len(nest.loops) - 1:
            yield from innermost(names, nest, body, tiling)
        elif level >= flat:
            ends = _ends(names, loop, loop.range, tiling)
            yield f"{'  ' * (level + 2)}{_loop(level, loop, ends)}"
            yield from body.at(level + 1)
    inner = "}" * max(0, len(nest.loops) - 1 - flat)
    yield "  " + inner + ("}" + END if flat else "") + "}" * (bool(guard) + 1)


def _shared_loops(names: Names, nest: Nest, body: BodyText, flat: int) -> Iterator[str]:
    """Open the function that runs a part of the outer loops."""
    loops = nest.loops[:flat]
    counts, count = extents(names, loops)
    yield from (f"  {line}" for line in counts)
    yield opened(names, nest, count)
    lines = flat_loops(names, loops)
    if nest.marching:
        inner = nest.loops[-1].range
        wide = f"{names.bound(inner.stop)} - {names.bound(inner.start)}"
        lines = marching_loop(names, loops, nest.marching, wide)
    for line in lines:
        yield f"    {line}"
    for level in range(flat):
        yield from body.at(level + 1)


def innermost(names: Names, nest: Nest, body: BodyText, tiling: Tiling | None) -> Iterator[str]:
    """Write the innermost loop, part after part."""
    level = len(nest.loops) - 1
    loop = nest.loops[level]
    indent = "  " * (level + 2)
    yield from body.pointers(indent)
    yield from body.states(indent)
    strips = Strips(names, nest, body, indent)
    tests = Tests(names, nest)
    yield from tests.begin(indent)
    alone = level == 0 and tiling is None  # threads share the loop
    if loop.kind == "vector" and not alone:
        yield from strips.before()
    for part, range_ in enumerate(nest.parts or (loop.range,)):
        ends = _ends(names, loop, range_, tiling)
        if loop.kind == "vector" and not (alone and part == 0):
            yield from strips.walk(ends, part, tests.clause)
        else:
            is_shared = alone and loop.kind != "sequential"
            if is_shared:
                blocks = f"({ends[1]} - {ends[0]} + {BLOCK - 1}) / {BLOCK}"
                yield opened(names, nest, blocks)
                yield from tests.begin(indent)
                start = f"{ends[0]} + begin * {BLOCK}"
                ends = start, f"earlier({ends[1]}, {ends[0]} + end * {BLOCK})"
            if is_shared and loop.kind == "vector":
                yield SIMD + tests.clause
            yield f"{indent}{_loop(level, loop, ends)}"
            yield from body.at(level + 1, part)
            yield f"{indent}}}"
            if is_shared:
                yield from tests.end(indent)
                yield f"  {END}"
    yield from tests.end(indent)


def _ends(names: Names, loop: Loop, range_: Range, tiling: Tiling | None) -> tuple[str, str]:
    if loop.margin is not None and tiling is not None:
        return _in_tile(names, loop, range_, tiling)
    return names.bound(range_.start), names.bound(range_.stop)


def _loop(level: int, loop: Loop, ends: tuple[str, str]) -> str:
    start, stop = ends
    if loop.backward:
        return f"for (s64 i{level} = {stop} - 1; i{level} >= {start}; --i{level}) {{"
    step = f"i{level} += {loop.step}" if loop.step > 1 else f"++i{level}"
    return f"for (s64 i{level} = {start}; i{level} < {stop}; {step}) {{"


def _in_tile(names: Names, loop: Loop, range_: Range, tiling: Tiling) -> tuple[str, str]:
    """Return the ends of a range inside the current tile."""
    cut = tiling.dims.index(range_.dim)
    before, beyond = loop.margin or (0, 0)
    start = f"t{cut} - {before}" if before else f"t{cut}"
    stop = f"u{cut} + {beyond}" if beyond else f"u{cut}"
    if range_.dim is tiling.rolled:
        start, stop = f"later({start}, row + {beyond})", f"row + {beyond + 1}"
    whole = range_ == tiling.cuts[cut].range and range_.dim is not tiling.rolled
    if whole and not before and not beyond:
        return start, stop
    return (
        f"later({names.bound(range_.start)}, {start})",
        f"earlier({names.bound(range_.stop)}, {stop})",
    )
