"""Write a kernel as plain C++: one function, without headers and without the user's names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from ....ir.bounds import Bound
from ....ir.flat_kernel import Buffer, Kernel
from ....ir.nest_groups import Cut, Tiling
from ....ir.nests import Nest
from ....ir.strides import Stride
from ...entry_point import PARAMETERS, UNUSED, entry_head
from ...integers import buffers_of
from ...rows import checks as cpp_checks
from ...rows.memory import own_slots, pointers, scalars, strides
from ...rows.names import Names, Steps, WriterOptions, stored_type
from ...rows.operations import TYPES
from ...rows.scope import WITHIN
from ...schedule.jamming import unjammed
from ...soft_reads import Clamping
from .nest import write_nest
from .portions import write_portions
from .sharing import CALLEE, END, FAR, MACHINE, MARCH, SHARING, TURNS, enough, flat_loop, opened
from .strips import CALLED, MASKED, stream_function
from .units import CLAMPED_SHARE, Caller, Line, Part, flat, write_units

EVEN = """\
static inline s64 even(s64 count, s64 most) {
  const s64 tiles = (count + most - 1) / most;
  return tiles < 1 ? 1 : ((count + tiles - 1) / tiles + 7) / 8 * 8;
}"""
ENDS = """\
static inline s64 later(s64 a, s64 b) { return a < b ? b : a; }
static inline s64 earlier(s64 a, s64 b) { return a < b ? a : b; }"""


# Few calls run the version that clamps indices, so it is optimised for size and compiles fast.
CLAMPED = """\
#ifdef __clang__
#define CLAMPED __attribute__((cold, noinline, minsize))
#else
#define CLAMPED __attribute__((cold, noinline, optimize("O1", "fp-contract=off")))
#endif"""


def write_cpp(
    kernel: Kernel,
    ints: Sequence[Bound | Stride],
    options: WriterOptions,
    clamping: Clamping | None = None,
    steps: Steps | None = None,
) -> str:
    """Return the source of a kernel to which a call passes the integers `ints`.

    With `clamping`, it has a version that clamps indices; a checked kernel reports the call
    instead. With `steps`, a call may run a single statement.
    """
    names = Names(kernel, ints, options)
    names.steps = steps
    if options.checked:
        names.tests = cpp_checks.tested_stores(kernel)
    nests = tuple(_nests(names))
    clamped = clamped_version(names, clamping) if clamping and not options.checked else None
    functions = [text for _, text in sorted(names.functions.items())]
    types = [f"typedef {meaning} {name};" for name, meaning in TYPES.values()]
    shares = _shares(nests) or (clamped is not None and _shares(clamped.lines))
    streams = any(nest.streams for nest in kernel.nests)
    asks_far = streams and options.stream_from is None
    tools = [ENDS]
    tools += [MACHINE] if shares or asks_far else []
    tools += [MARCH] if any(nest.marching for nest in kernel.nests) else []
    tools += [EVEN] if kernel.tilings else []
    tools += [TURNS] if any(tiling.rolled for tiling in kernel.tilings) else []
    tools += [SHARING] if shares else []
    tools += [MASKED] if _contains(nests, CALLED) else []
    tools += [stream_function(options.vector_bytes)] if streams else []
    tools += cpp_checks.functions(names)
    tools += [WITHIN, CLAMPED] if clamped else []
    first = [f"  if (ints[{clamping.flag}]) {_beyond(names, clamped)}"] if clamping else []
    has_context = shares or asks_far
    entry = Caller(
        (*entry_head(context=CALLEE if has_context else ""), *first),
        (
            *(f"  const s64 n{i} = ints[{i}];" for i in range(len(names.places))),
            *_only(names),
            *scalars(names),
            *pointers(names),
            *cpp_checks.head(names),
            *([FAR] if asks_far else []),
        ),
        (UNUSED, *nests),
        (f"  return {cpp_checks.status(names)};", "}"),
        _parameters(has_context, checked=bool(names.tests)),
    )
    callers = [entry] if clamped is None else [clamped, entry]
    return "\n".join([*write_units([*types, "", *tools, *functions, ""], callers), ""])


def _shares(lines: Sequence[Line]) -> bool:
    return _contains(lines, END)


def _contains(lines: Sequence[Line], text: str) -> bool:
    return any(text in line for line in flat(lines))


def _parameters(has_context: bool, *, checked: bool = False) -> tuple[tuple[str, str], ...]:
    """Return types and names of what the nests of a function need."""
    context = (("const Context* ", CALLEE),) if has_context else ()
    return (*PARAMETERS, *context, *((cpp_checks.FOUND,) if checked else ()))


def _beyond(names: Names, clamped: Caller | None) -> str:
    if clamped is None:
        return f"return {cpp_checks.beyond(names.kernel)};"
    context = f", {CALLEE}" if _shares(clamped.lines) else ""
    return f"return clamped(ptrs, ints, scalars, arena{context});"


def _only(names: Names) -> Iterator[str]:
    if names.steps is not None:
        yield f"  const s64 only = ints[{names.steps.place}];"


def _selected(names: Names, nest: Nest) -> str:
    """Return the condition under which a call runs the statement of a nest."""
    if names.steps is None:
        return ""
    return f"if (!only || only == {names.steps.numbers[nest.statement]}) "


def clamped_version(names: Names, clamping: Clamping) -> Caller:
    """Write the version that clamps loads: plain loops, so that it takes little time to compile."""
    kernel = _plain(names.kernel)
    known = (*names.places, *clamping.integers)
    own = Names(kernel, known, names.options)
    own.clamped, own.functions, own.steps = clamping.ends, names.functions, names.steps
    nests = tuple(_nests(own, "clamped_"))
    has_context = _shares(nests)
    context = f", const Context* {CALLEE}" if has_context else ""
    return Caller(
        (
            "CLAMPED static s32 clamped(const void* const* ptrs, const s64* ints,",
            f"                           const void* scalars, void* arena{context}) {{",
        ),
        (
            *(f"  const s64 n{i} = ints[{i}];" for i in range(len(known))),
            *_only(own),
            *scalars(own),
            *pointers(own),
        ),
        (UNUSED, *nests),
        ("  return 0;", "}", ""),
        _parameters(has_context),
        "CLAMPED HIDDEN",
        CLAMPED_SHARE,
    )


def _plain(kernel: Kernel) -> Kernel:
    """Return a kernel without vectors, prefetches, non-temporal stores and shared rows."""
    nests = []
    for nest in kernel.nests if kernel.tilings else unjammed(kernel.nests):
        loops = tuple(
            attrs.evolve(loop, kind="sequential") if loop.kind == "vector" else loop
            for loop in nest.loops
        )
        nests.append(
            attrs.evolve(
                nest, loops=loops, streams=(), ahead=0, asked=(), usual=(), slides=(), marching=0
            )
        )
    return attrs.evolve(kernel, nests=tuple(nests))


# --- nests, alone or tile by tile ---------------------------------------------------------------


def _nests(names: Names, prefix: str = "") -> Iterator[Line]:
    kernel = names.kernel
    heads = {tiling.first: tiling for tiling in kernel.tilings}
    joint = {
        number: names.bound(each.node.fits) for each in kernel.portions for number in each.members
    }
    index = 0
    while index < len(kernel.nests):
        selected = _selected(names, kernel.nests[index])
        for portions in kernel.portions:
            if portions.first == index:
                members = ", ".join(map(str, portions.members))
                yield f"  {selected}if ({joint[index]}) {{  // nests {members} in portions"
                yield Part(f"{prefix}portions{index}", tuple(write_portions(names, portions)))
        selected += f"if (!{joint[index]}) " if index in joint else ""
        if index in heads:
            tiling = heads[index]
            yield f"  {selected}{{  // nests {tiling.first} .. {tiling.stop - 1}"
            yield Part(f"{prefix}nests{tiling.first}", tuple(_tiled(names, tiling, prefix)))
            index = tiling.stop
        else:
            yield f"  {selected}{{  // nest {index}"
            yield Part(f"{prefix}nest{index}", tuple(write_nest(names, kernel.nests[index], None)))
            index += 1


def _tiled(names: Names, tiling: Tiling, prefix: str) -> Iterator[Line]:
    """Write nests that run tile by tile in one parallel region."""
    kernel = names.kernel
    members = kernel.nests[tiling.first : tiling.stop]
    guard = [f"{names.bound(r.start)} < {names.bound(r.stop)}" for r in members[0].guard]
    yield f"  if ({' && '.join(guard or ['true'])}) {{"
    largest = max(members, key=lambda nest: len(nest.loops))
    for level, cut in sorted(
        enumerate(tiling.cuts), key=lambda pair: pair[1].range.dim is tiling.rolled
    ):
        count = f"{names.bound(cut.range.stop)} - {names.bound(cut.range.start)}"
        if cut.even and cut.range.dim is tiling.rolled:
            others = [f"m{other}" for other in range(len(tiling.cuts)) if other != level]
            parts = f"parts_of({CALLEE}, {enough(names, largest)}, {' * '.join(others) or '1'})"
            yield f"  const s64 c{level} = rows_of_tile({count}, {cut.size}, {parts});"
        elif cut.even:
            yield f"  const s64 c{level} = even({count}, {cut.size});"
        size = _size(level, cut)
        yield f"  const s64 m{level} = later(0, {count} + {size} - 1) / {size};"
    tiles = " * ".join(f"m{level}" for level in range(len(tiling.cuts)))
    yield opened(names, largest, tiles, kernel.threads)
    arrays = _tile_arrays(names, tiling)
    sizes = [*own_slots(names), *(line for array in arrays for line in strides(names, array))]
    yield from sizes
    for line in _tile_loop(names, tiling.cuts):
        yield f"  {line}"
    for level, cut in enumerate(tiling.cuts):
        end = f"t{level} + {_size(level, cut)}"
        yield f"    const s64 u{level} = earlier({end}, {names.bound(cut.range.stop)});"
    places = [_tile_array(names, array, tiling) for array in arrays]
    yield from places
    yield from _rows_in_turn(members, tiling)
    levels = range(len(tiling.cuts))
    inside = ("place", *(f"t{level}" for level in levels), *(f"u{level}" for level in levels))
    for index in range(tiling.first, tiling.stop):
        yield f"  {{  // nest {index}"
        lines = tuple(write_nest(names, kernel.nests[index], tiling))
        if tiling.rolled is None:
            yield Part(f"{prefix}nest{index}", lines, (*sizes, *places), inside)
        else:  # a call for each row would cost
            yield from lines
    yield "  " + "}" * (1 + (tiling.rolled is not None)) + END + "}}"


def _rows_in_turn(members: Sequence[Nest], tiling: Tiling) -> Iterator[str]:
    """Open the loop over rows that nests take in turn, early enough for the widest margin."""
    if tiling.rolled is not None:
        margins = [
            loop.margin or (0, 0)
            for nest in members
            for loop in nest.loops
            if loop.range.dim is tiling.rolled
        ]
        ahead = max(before + beyond for before, beyond in margins)
        level = tiling.dims.index(tiling.rolled)
        yield f"  for (s64 row = t{level} - {ahead}; row < u{level}; ++row) {{"


def _size(level: int, cut: Cut) -> str:
    return f"c{level}" if cut.even else str(cut.size)


def _tile_loop(names: Names, cuts: Sequence[Cut]) -> Iterator[str]:
    return flat_loop(
        [f"t{level}" for level in range(len(cuts))],
        [names.bound(cut.range.start) for cut in cuts],
        [names.bound(cut.range.stop) for cut in cuts],
        [_size(level, cut) for level, cut in enumerate(cuts)],
    )


def _tile_arrays(names: Names, tiling: Tiling) -> list[Buffer]:
    """Return the arrays that each tile fills anew."""
    members = names.kernel.nests[tiling.first : tiling.stop]
    touched = {name for nest in members for name in buffers_of(nest)}
    return [
        buffer
        for buffer in names.kernel.buffers
        if buffer.memory == "tile" and buffer.name in touched
    ]


def _tile_array(names: Names, array: Buffer, tiling: Tiling) -> str:
    """Define an array of a tile, moved to index 0 of its dimensions."""
    starts = {dim: f"t{level}" for level, dim in enumerate(tiling.dims)}
    origin = ""
    for axis, range_ in enumerate(array.box):
        if range_.dim is array.ring:
            continue
        start = names.bound(range_.start)
        if range_.dim in starts:
            start = f"({starts[range_.dim]} + {start})" if start != "0" else starts[range_.dim]
        origin += f" - {names.term(array, axis, start)}"
    type_, name = stored_type(array), names.buffers[array.name]
    return f"    {type_}* const {name} = ({type_}*)own{array.slot}{origin};"
