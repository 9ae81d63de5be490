"""Prefetch rows of a later iteration, and write non-temporal stores past the caches.

A strip stores its points to an array, which then goes to memory as a whole. Each row is named by
its pointer, and has an array and a buffer.

The pointers of rows that a nest prefetches are `q0`, `q1`, ...; `j<level>` is the iteration, and
`w3` is there what row `v3` is here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from .....runtime.language import flip_staggered
from .....runtime.process import classes
from ....ir.loops import (
    ITEMSIZES,
    LINE,
    Access,
    Buffer,
    Load,
    Nest,
    Row,
    arrays_of,
    is_told,
    marks_of,
    reached,
)
from ...rows import (
    NAMELESS,
    Body,
    InRow,
    Scope,
    addresses_of,
    held,
    is_given,
    line,
    start_of_row,
    stored_type,
)
from ...schedule.usual import unclamped
from ..passes.tiling import USUAL
from .threads import extent, points

LONG_ROW: Final = 256  # bytes, that tables tell
_STORES: Final = {16: "movntdq", 32: "movntdq256", 64: "movntdq512"}
Stored: TypeAlias = Mapping[str, tuple[str, Buffer]]
# The names of the first point of a strip, and of the test for such stores.
StripNames: TypeAlias = tuple[str, str]
NAMES: Final[StripNames] = ("b", "past")


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


def stored_strips(stored: Stored, lanes: int, names: StripNames = NAMES) -> Iterator[str]:
    """Write the arrays that hold a strip, with non-temporal stores where rows are long enough."""
    at, test = names
    sizes = {row: lanes * ITEMSIZES[buffer.dtype] for row, (_, buffer) in stored.items()}
    past, here = (
        " ".join(f"{call}({row} + {at}, {stored[row][0]}, {size});" for row, size in sizes.items())
        for call in ("stream", "__builtin_memcpy")
    )
    if stored:
        yield from (f"if ({test}) {{ {past} }}", f"else {{ {here} }}")


def is_far(scope: Scope, nest: Nest, count: str) -> str:
    """Return the test that a call touches more bytes of fields than the caches hold.

    The test takes each field to be as large as the domain of the nest, of `count` points.
    """
    loops = [{loop.range.dim, flip_staggered(loop.range.dim)} for loop in nest.loops]
    return _beyond(
        scope,
        count,
        lambda each: (
            each.memory == "field" and not any(dims.isdisjoint(each.dims) for dims in loops)
        ),
    )


def leaves_caches(scope: Scope, nest: Nest, count: str) -> str:
    """Return that test for fields and arrays, also those on other locations of a mesh."""
    kinds = Counter(loop.range.dim.kind for loop in nest.loops)
    return _beyond(
        scope,
        count,
        lambda each: (
            each.memory in ("field", "arena") and kinds <= Counter(dim.kind for dim in each.dims)
        ),
    )


def _beyond(scope: Scope, count: str, has_points: Callable[[Buffer], bool]) -> str:
    touched = arrays_of(scope.kernel)
    buffers = (each for each in scope.kernel.buffers if each.name in touched and has_points(each))
    size = sum(ITEMSIZES[each.dtype] for each in buffers)
    known = scope.options.stream_from or None  # no call streams from 0 bytes on
    return f"{count} * {size} >= {scope.ask('far') if known is None else known}"


ASK: Final = """\
template <int level> static inline void ask(const void* place) {
  __builtin_prefetch(place, 0, level);
}"""
_FIRST: Final = 32 << 10  # bytes of the first-level cache


def rows_ahead(body: Body, nest: Nest, both: Collection[Row] | None = None) -> Body:
    """Return the body of a nest with addresses for what it prefetches only.

    A function of elements defines before what it prefetches in calls without `lists`; `both` are
    the loads whose rows it prefetches with them too.
    """
    depth, rows = body.depth, body.rows
    moving = [number for number, row in enumerate(rows) if row.level == depth - 1]
    loads = (row for row in rows if isinstance(row, Load) and row.level < depth)
    read = {number for load in loads for number in load.rows if number is not None}
    around = {loop.range.dim: f"j{depth - 2}" for loop in nest.loops[-2:-1]}
    asked = marks_of(nest).asked
    found = addresses_of(rows, asked, body.scope.by_name, body.inner, letter="q", inside=depth)
    for row in () if both is None else {*asked} - {*both}:
        if isinstance(address := found[row], InRow):
            found[row] = classes.evolve(address, is_given=True)
    return classes.evolve(
        body,
        addresses=found,
        positions={**body.positions, **around},
        instead={},
        names={number: f"w{number}" for number in moving},
        same={
            number: number if number in read else unclamped(rows, number)
            for number in range(len(rows))
        },
    )


def named_ahead(later: Body, nest: Nest, *, of_list: bool) -> Iterator[str]:
    """Name the rows to prefetch, which all parts of the innermost loop share.

    They are those of the next element of a list where the loop around is one `of_list`. Only calls
    that prefetch compute them.
    """
    if later.addresses:
        scope = later.scope
        yield f"const bool asks = {prefetch_test(later, nest)};"
        yield from ["const bool alone = asks && !lists;"] if of_list else ()
        rows = memory_rows(later, given=False)
        if not rows:
            return
        types = (stored_type(scope.by_name[each.buffer]) for each in rows.values())
        yield from (f"{type_}* {row};" for type_, row in zip(types, rows, strict=True))
        yield from ("if (asks) {", "  " + iteration(scope, nest, of_list=of_list))
        yield from (f"  {line(later, row)}" for row in indices(later))
        for row, each in rows.items():
            end = held(row) if is_told(later.rows, each) else ""
            yield f"  {row} = {start_of_row(later, each)};{end}"
        yield "}"


def prefetch_test(later: Body, nest: Nest) -> str:
    """Return the test that a call prefetches: it touches more than the caches hold.

    Where tables tell which rows are read, these must be long, too: to look up where the later ones
    are takes longer than to wait for a short one.
    """
    test = leaves_caches(later.scope, nest, points(later.scope, nest.box))
    told = [each for each in later.rows if isinstance(each, Load) and each.is_told]
    if not told:
        return test
    size = max(ITEMSIZES[each.dtype] for each in told)
    return f"{test} && ({extent(later.scope, nest.loops[-1].range)}) * {size} >= {LONG_ROW}"


def indices(later: Body) -> list[Row]:
    """Return the rows around the innermost loop that compute the places of prefetched rows."""

    def moving(rows: Iterable[Row | None]) -> list[Row]:
        return [later.same[row] for row in rows if row is not None and row in later.names]

    loads = (later.rows[number] for number, each in later.addresses.items() if not is_given(each))
    places = (row for load in loads if isinstance(load, Load) for row in moving(load.rows))
    found = reached(places, lambda row: moving(later.rows[row].operands))
    return sorted(row for row in found if not isinstance(later.rows[row], NAMELESS))


def iteration(scope: Scope, nest: Nest, *, of_list: bool = False) -> str:
    """Define which iteration of the next outer loop to prefetch for, within its range."""
    around, ahead = len(nest.loops) - 2, marks_of(nest).ahead
    loop = nest.loops[around]
    start, stop = scope.ends(loop.range)
    if of_list:
        place = f"later({start}, earlier(element(lists, earlier(q + {ahead}, last)), {stop} - 1))"
    elif loop.backward:
        place = f"later({start}, i{around} - {ahead * loop.step})"
    else:
        place = f"earlier(i{around} + {ahead * loop.step}, {stop} - {loop.step})"
    return f"const s64 j{around} = {place};"


def prefetched(later: Body, nest: Nest, read: Iterable[Access], lanes: int) -> Iterator[str]:
    """Prefetch the lines of a strip in calls that touch more than the caches hold.

    They go to the first-level cache if it keeps a usual row until the loop reads it: half of it
    holds what the loop touches between prefetch and load, the rows `read`.
    """
    size = sum(ITEMSIZES[each.dtype] for each in read)
    usual = USUAL[nest.loops[-1].range.dim.kind]
    near = 3 if usual * size * marks_of(nest).ahead < _FIRST // 2 else 2
    rows, own = memory_rows(later), memory_rows(later, given=False).keys()
    for test, some in (("asks", own), ("alone", rows.keys() - own)):
        yield from [f"if ({test}) {{"] if some else ()
        for row in (row for row in rows if row in some):
            itemsize = ITEMSIZES[rows[row].dtype]
            for at in range(0, lanes * itemsize, LINE):
                place = f"{row} + b + {at // itemsize}" if at else f"{row} + b"
                yield f"  {later.scope.ask('ask')}<{near}>({place});"
        yield from ["}"] if some else ()


def memory_rows(body: Body, *, given: bool = True) -> dict[str, Access]:
    """Return the pointers to rows of memory, each with an access; those that are `given`, too."""
    return {
        address.pointer: row
        for number, address in body.addresses.items()
        if isinstance(address, InRow) and isinstance(row := body.rows[number], Access)
        if given or not address.is_given
    }
