"""Write loops that threads share: each becomes a function that runs a part of the iterations.

The native core calls the function on its threads, through the context of the call. Results do not
depend on the thread of a part: the iterations are independent, and blocks of a loop over points
begin at multiples of the vector size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ....ir.loops import MOST_IN_TURN, SECOND_CACHE, NestLoop, Range, Ranges
from ...entry_point import CONTEXT
from ...rows import Scope

CALLEE: Final = "context"  # the name of the entry's last parameter
BLOCK: Final = 512  # points of a block of a single loop
PARALLEL_FROM: Final = 8192  # points
FEWEST: Final = 8  # rows of a block
STREAM_FROM: Final = 12 << 20  # bytes
MACHINE: Final = f"""\
{CONTEXT}
static inline s64 measured(const Context* context, s64 Machine::* number, s64 usual) {{
  const bool is_known = context && context->machine && context->machine->*number;
  return is_known ? context->machine->*number : usual;
}}"""
# Bytes from which non-temporal stores pay and that caches hold, points from which threads pay, by
# their names.
LIMITS: Final = {
    "far": f"  const s64 far = measured({CALLEE}, &Machine::stream_from, {STREAM_FROM});",
    "held": f"  const s64 held = measured({CALLEE}, &Machine::shared_cache, 32 << 20);",
    "near": f"  const s64 near = measured({CALLEE}, &Machine::core_memory, {SECOND_CACHE});",
    "many": f"  const s64 many = measured({CALLEE}, &Machine::parallel_from, {PARALLEL_FROM});",
}
# Compilers keep a copy of the body's variables in registers, because no pointer refers to it.
SHARING: Final = """\
template <class Body>
static __attribute__((noinline)) void part(void* data, s64 begin, s64 end, s64 place) {
  const Body body = *(const Body*)data;
  body(begin, end, place);
}
template <class Body>
static inline void share(const Context* context, s64 count, s64 most, s64 points, s64 from,
                         const Body& body) {
  if (count <= 0) return;
  if (points < from || !context || !context->parallel_for) part<Body>((void*)&body, 0, count, 0);
  else context->parallel_for(context->pool, count, most, points, part<Body>, (void*)&body);
}"""
MARCH: Final = f"""\
static inline s64 rows_of_block(s64 rows, s64 most) {{
  const s64 blocks = (rows + later(most, {FEWEST}) - 1) / later(most, {FEWEST});
  return later(1, (rows + blocks - 1) / later(1, blocks));
}}"""
# Threads get equal numbers of tiles, and few: rows at the edge of a tile are computed twice.
TURNS: Final = """\
static inline s64 parts_of(const Context* context, s64 points, s64 from, s64 others) {
  if (points < from || !context || context->size < sizeof(Context) || !context->threads) return 1;
  return (context->threads(context->pool) + others - 1) / later(1, others);
}
static inline s64 rows_of_tile(s64 count, s64 least, s64 most, s64 parts) {
  const s64 part = later((count + parts - 1) / parts, least);
  const s64 tiles = (part + most - 1) / most;
  return (part + tiles - 1) / tiles;
}"""
# Nests in turn walk a few rows at a time if what they hold then has room in a cache.
ROWS_IN_TURN: Final = f"""\
static inline s64 ring(s64 rows) {{
  s64 found = 1;
  while (found < rows) found *= 2;
  return found;
}}
static inline s64 rows_in_turn(s64 room, s64 first, s64 more) {{
  const s64 most = {MOST_IN_TURN};
  return first + (most - 1) * more <= room ? most : first + more <= room ? 2 : 1;
}}"""
END: Final = "});"


def indented(lines: Iterable[str], indent: str = "  ") -> Iterator[str]:
    """Indent lines, but those of the preprocessor."""
    return (each if each.startswith("#") else indent + each for each in lines)


def opened(
    scope: Scope,
    box: Ranges,
    count: str,
    threads: int | str | None = None,
    sweeps: Ranges = (),
) -> str:
    """Return the line that begins the function for loops over a box; `END` closes it.

    With a largest number of `threads`, it has a `place` among them. Columns act in `sweeps`.
    """
    most, place = (1 << 16, "") if threads is None else (threads, " place")
    body = f"[=](s64 begin, s64 end, s64{place}) INLINE {{"
    work = f"{scope.ask(CALLEE)}, {count}, {most}, {enough(scope, box, sweeps)}"
    return f"  {scope.ask('share')}({work}, {body}"


def enough(scope: Scope, box: Ranges, sweeps: Ranges = ()) -> str:
    """Return the points of a box and the number from which threads share it, as arguments."""
    known = scope.options.parallel_from
    return f"{points(scope, box, sweeps)}, {scope.ask('many') if known is None else known}"


def points(scope: Scope, box: Ranges, sweeps: Ranges = ()) -> str:
    """Return the number of points of a box, those of all `sweeps` over its columns together."""
    sides = (f"({extent(scope, range_)})" for range_ in box)
    levels = " + ".join(extent(scope, range_) for range_ in sweeps)
    return " * ".join((*sides, f"({levels})") if levels else sides)


def extent(scope: Scope, range_: Range) -> str:
    """Return the number of indices of a range."""
    return f"{scope.bound(range_.stop)} - {scope.bound(range_.start)}"


def guard(scope: Scope, box: Ranges) -> str:
    """Return the test that a box is not empty."""
    return " && ".join("{} < {}".format(*scope.ends(range_)) for range_ in box) or "true"


def extents(scope: Scope, loops: Sequence[NestLoop]) -> tuple[list[str], str]:
    """Return definitions of the numbers of iterations, and the name of their product."""
    lines = []
    for level, loop in enumerate(loops):
        count = extent(scope, loop.range)
        count = f"({count} + {loop.step - 1}) / {loop.step}" if loop.step > 1 else count
        lines.append(f"const s64 m{level} = later(0, {count});")
    return lines, " * ".join(f"m{level}" for level in range(len(loops)))


def flat_loop(
    indices: Sequence[str], starts: Sequence[str], stops: Sequence[str], steps: Sequence[str]
) -> Iterator[str]:
    """Open one loop over the part of nested loops that one call of the function runs.

    `m<level>` is the number of iterations of each.
    """
    inner = len(indices) - 1
    left, first = "begin", []
    for level in reversed(range(len(indices))):
        at = f"({left} % m{level})" if level else left
        left = f"({left} / m{level})"
        step = "" if steps[level] == "1" else f" * {steps[level]}"
        first.append(f"{indices[level]} = {starts[level]} + {at}{step}")
    ahead = f"++{indices[inner]}" if steps[inner] == "1" else f"{indices[inner]} += {steps[inner]}"
    yield f"for (s64 turn = begin, {', '.join(reversed(first))}; turn < end; ++turn, {ahead}) {{"
    for level in range(inner, 0, -1):
        wrapped = f"{indices[level]} = {starts[level]}, {indices[level - 1]} += {steps[level - 1]}"
        yield f"  if ({indices[level]} >= {stops[level]}) {wrapped};"


def marching_loop(scope: Scope, loops: Sequence[NestLoop], most: int, row: Range) -> Iterator[str]:
    """Open one loop over planes and rows that walks blocks of rows down all planes.

    `m0` is the number of planes, `m1` that of steps over rows, `most` the points of a block in one
    plane, `row` the innermost range. A part of the iterations may begin and end inside a block.
    """
    planes, rows = (scope.bound(loop.range.start) for loop in loops)
    stop, step = scope.bound(loops[0].range.stop), loops[1].step
    blocks = f"{scope.ask('rows_of_block')}(m1, {most // step} / later(1, {extent(scope, row)}))"
    yield from (
        f"const s64 high = {blocks};",
        "s64 low = begin / (m0 * high) * high, top = earlier(low + high, m1);",
        "const s64 inside = begin - low * m0;",
        f"s64 i0 = {planes} + inside / (top - low), row = low + inside % (top - low);",
        "for (s64 turn = begin; turn < end; ++turn, ++row) {",
        "  if (row >= top) {",
        f"    if (++i0 >= {stop}) i0 = {planes}, low = top, top = earlier(low + high, m1);",
        "    row = low;",
        "  }",
        f"  const s64 i1 = {rows} + row{f' * {step}' if step > 1 else ''};",
    )


def flat_loops(scope: Scope, loops: Sequence[NestLoop]) -> Iterator[str]:
    """Open one loop over the iterations of nested loops."""
    return flat_loop(
        [f"i{level}" for level in range(len(loops))],
        [scope.bound(loop.range.start) for loop in loops],
        [scope.bound(loop.range.stop) for loop in loops],
        [str(loop.step) for loop in loops],
    )
