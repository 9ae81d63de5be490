"""Write innermost loops strip by strip; a strip has as many points as a register has lanes.

The number of points in a strip is constant, so that compilers add no code around its vectors. The
end of a row is a strip with some lanes masked. Non-temporal stores write whole registers, and each
strip prefetches the rows that the next outer loop reads soon.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from ....ir.loops.buffers import Buffer
from ....ir.loops.cpu import marks_of
from ....ir.loops.nest import Compute, Load, Nest, Row, Store
from ....ir.loops.traverse import arrays_of
from ...rows.addresses import Address, Element, InRow
from ...rows.body import Body, line, name, pointers, written
from ...rows.scope import Scope, stored_type
from ...schedule.costs import ITEMSIZES, TRANSCENDENTAL, operations
from ..passes.streaming import SMALLEST
from ..passes.tiling import USUAL
from .ahead import element_of_list, indices, iteration, rows_ahead
from .sliding import (
    Slides,
    before_first,
    before_strips,
    functions_of,
    slides_of,
    sliding_strip,
)
from .threads import points

SIMD: Final = "#pragma omp simd"
LINE: Final = 64
_STORES: Final = {16: "movntdq", 32: "movntdq256", 64: "movntdq512"}
_SHORT: Final = 16  # bytes of a register
_POINTERS: Final = 16  # registers for pointers
_FIRST: Final = 32 << 10  # bytes of the first-level cache

MASKED: Final = """\
template <class Body>
static __attribute__((noinline)) void masked(const Body& given) {
  const Body body = given;
  body();
}"""


def stream_function(vector_bytes: int) -> str:
    """Return the function that writes registers with non-temporal stores.

    A locked instruction drains the store buffers, so that other threads see the data at the next
    barrier.
    """
    return f"""\
typedef long long line __attribute__((vector_size({vector_bytes})));
static inline void stream(void* to, const void* from, s64 bytes) {{
  line* const d = (line*)to;
  const line* const s = (const line*)from;
  for (s64 i = 0; i < bytes / {vector_bytes}; ++i) {{
#ifdef __clang__
    __builtin_nontemporal_store(s[i], d + i);
#else
    __builtin_ia32_{_STORES[vector_bytes]}(d + i, s[i]);
#endif
  }}
}}"""


@attrs.frozen
class Strips:
    """The innermost loop of one nest.

    Attributes:
        nest: the nest.
        body: its rows.
        whole: its rows in a strip without masks, which stores rows for non-temporal stores.
        later: the rows that it prefetches.
        stored: by pointer the array of a strip that non-temporal stores write, and its buffer.
        slides: what slides from strip to strip.
        apart: tests that points may be computed twice; None where they never may.
        lanes: the points of a strip.
        indent: that of the loop.

    """

    nest: Nest
    body: Body
    whole: Body
    later: Body
    stored: Mapping[str, tuple[str, Buffer]]
    slides: Slides | None
    apart: Sequence[str] | None
    lanes: int
    indent: str

    @property
    def scope(self) -> Scope:
        """The names of the kernel."""
        return self.body.scope


def strips_of(scope: Scope, nest: Nest, body: Body, indent: str) -> Strips:
    """Return how the innermost loop of a nest is written."""
    marks, lanes = marks_of(nest), lanes_of(scope, nest)
    stored: dict[str, tuple[str, Buffer]] = {}
    kept: dict[Row, Address] = {}
    for number, address in body.addresses.items():
        row = body.rows[number]
        if isinstance(row, Store) and row.buffer in marks.streams and isinstance(address, InRow):
            array = stored.setdefault(
                address.pointer, (f"k{len(stored)}", scope.by_name[row.buffer])
            )
            kept[number] = Element(array[0], "l")
    if marks.streams:
        scope.ask("stream")
    whole = attrs.evolve(body, addresses={**body.addresses, **kept})
    slides = _slides(whole, marks.slides, lanes)
    later = rows_ahead(body, nest)
    return Strips(nest, body, whole, later, stored, slides, _apart(scope, nest), lanes, indent)


def _slides(body: Body, slides: Sequence[tuple[Row, Row, int]], lanes: int) -> Slides | None:
    """Return the values that slide, if a strip of them is one register."""
    options, wide = body.scope.options, body.scope.options.vector_bytes
    fits = all(lanes * ITEMSIZES[body.rows[row].dtype] == wide for row, _, _ in slides)
    if not slides or options.checked or not fits:
        return None
    made = slides_of(body, slides, lanes)
    body.scope.uses.functions.update(functions_of(made, wide))
    return made


def before(strips: Strips, *, of_list: bool) -> Iterator[str]:
    """Name the rows to prefetch, which all parts share."""
    if strips.later.addresses:
        yield f"{strips.indent}const bool asks = {leaves_core(strips.scope, strips.nest)};"
        around = element_of_list if of_list else iteration
        yield f"{strips.indent}{around(strips.scope, strips.nest)}"
        yield from (f"{strips.indent}{line(strips.later, row)}" for row in indices(strips.later))
        yield from (f"{strips.indent}{each}" for each in pointers(strips.later))


def walk(strips: Strips, ends: tuple[str, str], part: int, clause: str = "") -> Iterator[str]:
    """Write one part of the loop; `clause` is what its lanes reduce.

    The last strip of a row ends with it and computes points of the one before again. Rows that
    are shorter than a strip, or whose values the loop changes, end with masked lanes.
    """
    start, stop = ends
    indent, lanes = strips.indent, strips.lanes
    yield f"{indent}{{"
    yield f"{indent}  s64 b = {start};"
    if strips.stored:
        yield from _aligned(strips)
    yield f"{indent}  const bool again = {_again(strips, stop)};"
    if strips.stored:
        yield f"{indent}  for (s64 e = past ? earlier({stop}, f) : b;; e = {stop}) {{"
        yield from _masked(strips, "e", part, clause)
        yield f"{indent}  b = later(b, e);"
    yield f"{indent}  const s64 whole = {stop} - (again ? 0 : ({stop} - b) % {lanes});"
    if strips.slides:
        yield from before_strips(strips.slides, f"{indent}  ")
    yield f"{indent}  for (; b < whole; b += {lanes}) {{"
    yield from _held(strips, stop)
    yield from _whole(strips, part, clause)
    yield f"{indent}  }}"
    if strips.stored:
        yield f"{indent}  if (b >= {stop}) break;"
        yield f"{indent}  }}"
    else:
        yield from _masked(strips, stop, part, clause)
    yield f"{indent}}}"


def _again(strips: Strips, stop: str) -> str:
    """Return the test that a row may end with a strip that overlaps the one before.

    Rows of non-temporal stores are written once; strips with slides follow each other.
    """
    if strips.apart is None or strips.slides:
        return "false"
    tests = [f"{stop} - b >= {strips.lanes}", *strips.apart]
    return " && ".join(["!past", *tests] if strips.stored else tests)


def _held(strips: Strips, stop: str) -> Iterator[str]:
    """Let the last strip end with the row; keep `b` where registers are few.

    From a loop that only counts, compilers make a pointer for each row. An empty instruction
    that could change `b` keeps them from it.
    """
    if not strips.slides:
        yield f"{strips.indent}    b = earlier(b, {stop} - {strips.lanes});"
    elif len(_rows_of(strips.body)) > _POINTERS:
        yield f'{strips.indent}    asm("" : "+r"(b));'


def _masked(strips: Strips, end: str, part: int, clause: str) -> Iterator[str]:
    """Write a strip that ends before its last lane, as a function of its own.

    Compilers keep something in the lanes that are not loaded: whole registers, which would
    occupy the registers of the strips without masks.
    """
    called, indent = not clause, strips.indent  # what lanes reduce is a variable of the row
    yield f"{indent}  if (b < {end}) {{"
    if called:
        yield f"{indent}    const auto few = [=]() __attribute__((always_inline)) {{"
    yield from _strip(strips, strips.body, part, f"if (l < {end} - b) {{", clause)
    if called:
        yield f"{indent}    }};"
        yield f"{indent}    {strips.scope.ask('masked')}(few);"
    yield f"{indent}  }}"


def _whole(strips: Strips, part: int, clause: str) -> Iterator[str]:
    """Write a strip without masks."""
    indent, usual = f"{strips.indent}      ", marks_of(strips.nest).usual
    yield from (indent + each for each in (*_asked(strips), *_kept(strips)))
    if usual:
        yield f"{indent}if ({_is_usual(strips.body, usual)}) {{"
        yield from (f"{indent}  {each}" for each in _usual(strips.body, usual))
        yield from _strip(strips, strips.whole, part, "{", clause)
        yield f"{indent}}} else {{"
    if strips.slides:
        yield from before_first(strips.slides, indent)
        yield from sliding_strip(strips.slides, SIMD, indent)
    else:
        yield from _strip(strips, strips.whole, part, "{", clause)
    if usual:
        yield f"{indent}}}"
    yield from (indent + each for each in _written(strips))


def _strip(strips: Strips, body: Body, part: int, lane: str, clause: str) -> Iterator[str]:
    indent = f"{strips.indent}      "
    yield SIMD + clause
    yield f"{indent}for (s64 l = 0; l < {strips.lanes}; ++l) {lane}"
    yield f"{indent}  const s64 i{body.depth - 1} = b + l;"
    yield from (f"{indent}  {each}" for each in written(body, body.depth, part))
    yield f"{indent}}}"


# --- usual conditions ---------------------------------------------------------------------------


def _is_usual(body: Body, usual: Sequence[tuple[Row, bool]]) -> str:
    """Return the test that all conditions have their usual values."""
    return " && ".join(f"{'' if value else '!'}{name(body, row)}" for row, value in usual)


def _usual(body: Body, usual: Sequence[tuple[Row, bool]]) -> Iterator[str]:
    """Write the rows around the innermost loop again for the usual conditions."""
    values = dict(usual)
    changed = set(values)
    for number, row in enumerate(body.rows):
        if number in values:
            yield f"const b8 {name(body, number)} = {str(values[number]).lower()};"
        elif row.level < body.depth and not changed.isdisjoint(row.operands):
            changed.add(number)
            yield line(body, number)


# --- non-temporal stores ------------------------------------------------------------------------


def _aligned(strips: Strips) -> Iterator[str]:
    """Find the first point at which strips are aligned for non-temporal stores."""
    rows, edge = list(strips.stored), strips.scope.options.vector_bytes
    size = ITEMSIZES[strips.stored[rows[0]][1].dtype]
    ahead = f"(-(s64)({rows[0]} + b) & {edge - 1}) / {size}"
    alike = [f"((s64)({row} + f) & {edge - 1}) == 0" for row in rows]
    far = is_far(strips.scope, strips.nest, points(strips.scope, strips.nest.box))
    yield f"{strips.indent}  const s64 f = b + {ahead};"
    yield f"{strips.indent}  const bool past = {' && '.join([far, *alike])};"


def _kept(strips: Strips) -> Iterator[str]:
    """Define the arrays that hold a strip before non-temporal stores write it."""
    for array, buffer in strips.stored.values():
        yield f"alignas({LINE}) {stored_type(buffer)} {array}[{strips.lanes}];"


def _written(strips: Strips) -> Iterator[str]:
    """Write these arrays, with non-temporal stores where rows are long enough."""
    sizes = {row: strips.lanes * ITEMSIZES[b.dtype] for row, (_, b) in strips.stored.items()}
    past = [f"stream({r} + b, {strips.stored[r][0]}, {n});" for r, n in sizes.items()]
    here = [f"__builtin_memcpy({r} + b, {strips.stored[r][0]}, {n});" for r, n in sizes.items()]
    if strips.stored:
        yield f"if (past) {{ {' '.join(past)} }}"
        yield f"else {{ {' '.join(here)} }}"


def is_far(scope: Scope, nest: Nest, count: str) -> str:
    """Return the test that a call touches more bytes of fields than the caches hold.

    The test takes each field to be as large as the domain of the nest, of `count` points.
    """
    touched = arrays_of(scope.kernel)
    whole = [
        buffer
        for buffer in scope.kernel.buffers
        if buffer.name in touched
        and buffer.memory == "field"
        and all(loop.range.dim in buffer.dims for loop in nest.loops)
    ]
    size = sum(ITEMSIZES[buffer.dtype] for buffer in whole)
    known = scope.options.stream_from
    return f"{count} * {size} >= {scope.ask('far') if known is None else known}"


# --- prefetches ---------------------------------------------------------------------------------


def _asked(strips: Strips) -> Iterator[str]:
    """Prefetch the lines of a strip, unless the second-level cache holds all of the call."""
    near = 3 if _is_near(strips) else 2  # the cache to prefetch into
    rows = _rows_of(strips.later)
    if rows:
        yield "if (asks) {"
    for row, buffer in rows.items():
        size = ITEMSIZES[buffer.dtype]
        for at in range(0, strips.lanes * size, LINE):
            place = f"{row} + b + {at // size}" if at else f"{row} + b"
            yield f"  __builtin_prefetch({place}, 0, {near});"
    if rows:
        yield "}"


def _rows_of(body: Body) -> dict[str, Buffer]:
    """Return the pointers to rows of memory, each with its buffer."""
    return {
        address.pointer: body.scope.by_name[row.buffer]
        for number, address in body.addresses.items()
        if isinstance(address, InRow) and isinstance(row := body.rows[number], Load | Store)
    }


def _is_near(strips: Strips) -> bool:
    """Tell whether the first-level cache keeps a usual row until the loop reads it.

    Half of this cache holds what the loop touches between prefetch and load.
    """
    size = sum(ITEMSIZES[buffer.dtype] for buffer in _rows_of(strips.body).values())
    usual = USUAL[strips.nest.loops[-1].range.dim.kind]
    return usual * size * marks_of(strips.nest).ahead < _FIRST // 2


def leaves_core(scope: Scope, nest: Nest) -> str:
    """Return the test that a nest touches more bytes than the second cache of a core holds.

    The test takes each buffer to be as large as the domain of the nest.
    """
    inner = nest.loops[-1].range.dim
    buffers = [scope.by_name[each] for each in arrays_of(nest)]
    size = sum(ITEMSIZES[buffer.dtype] for buffer in buffers if inner in buffer.dims)
    return f"{points(scope, nest.box)} * {size} > {scope.options.core_memory}"


# --- lanes --------------------------------------------------------------------------------------


def _apart(scope: Scope, nest: Nest) -> list[str] | None:
    """Return the tests that a loop may compute points twice; None where it never may.

    It must not change what it loads. Calls may write to the memory of an input that the loop reads
    at the same points: both are then the same view, at one address.
    """
    stores = dict.fromkeys(row.buffer for row in nest.body if isinstance(row, Store))
    loads = dict.fromkeys(row.buffer for row in nest.body if isinstance(row, Load))
    if not stores.keys().isdisjoint(loads):
        return None
    fields = [each for each in scope.kernel.buffers if each.memory == "field"]
    return [
        f"{scope.buffer(output.name)} != {scope.buffer(each.name)}"
        for output in fields
        if output.name in stores
        for each in fields
        if each.name in loads and (each.dtype, each.dims) == (output.dtype, output.dims)
    ]


def lanes_of(scope: Scope, nest: Nest) -> int:
    """Return the points of a strip: as many as a register holds of the smallest elements.

    Functions are long chains of operations; with a second register, the two chains overlap. Where
    registers are short, a strip is a cache line.
    """
    touched = [scope.by_name[row.buffer] for row in nest.body if isinstance(row, Load | Store)]
    inner = nest.loops[-1].range.dim
    sizes = [max(SMALLEST, ITEMSIZES[each.dtype]) for each in touched if inner in each.dims]
    chains = any(
        isinstance(row, Compute) and operations(row.op) >= TRANSCENDENTAL for row in nest.body
    )
    width = scope.options.vector_bytes if scope.options.vector_bytes > _SHORT else LINE
    return max(1, (1 + chains) * width // min(sizes, default=8))
