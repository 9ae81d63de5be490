"""Write innermost loops strip by strip; a strip has as many points as a register has lanes.

The number of points in a strip is constant, so that compilers add no code around its vectors. The
end of a row is a strip with some lanes masked. Non-temporal stores write whole registers, and each
strip prefetches the rows that the next outer loop reads soon.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops import LINE, Buffer, Load, Nest, Row, Store, marks_of
from ...rows import TYPES, Address, Body, Element, InRow, Scope, name, stored_type, written
from .around import Around, around_of, outside
from .elements import without_conditions
from .simd import SIMD, lanes_of
from .sliding import Slides, before_strips, slides_of, sliding_strip
from .streams import memory_rows, prefetched, rows_ahead, stored_strips
from .threads import indented
from .usual import changed_rows, is_tested_before, lifted, row_test, run_of, usual_values
from .whole_lines import begin_at_line

_POINTERS: Final = 16  # registers for pointers
MASKED: Final = """\
template <class Strip, class... Values>
static __attribute__((noinline)) void elsewhere(const Strip& given, Values... values) {
  const Strip strip = given;
  strip(values...);
}
template <class Strip, class... Values>
static inline INLINE void masked(const Strip& strip, Values... values) {
  const Strip copy = strip;
  elsewhere(copy, values...);
}"""


@classes.frozen
class Strips:
    """The innermost loop of one nest.

    Attributes:
        nest: the nest.
        body: its rows.
        whole: its rows in a strip, which stores rows for non-temporal stores to arrays.
        later: the rows that it prefetches.
        stored: by pointer the array of a strip that non-temporal stores write, and its buffer.
        slides: what slides from strip to strip.
        apart: tests that points may be computed twice; None where they never may.
        lanes: the points of a strip.
        around: what lies around the points of usual rows that have usual conditions.

    """

    nest: Nest
    body: Body
    whole: Body
    later: Body
    stored: Mapping[str, tuple[str, Buffer]]
    slides: Slides | None
    apart: Sequence[str] | None
    lanes: int
    around: Around | None = None

    @property
    def is_tested_before(self) -> bool:
        """Whether the test of usual conditions stands before the strips of a row."""
        return is_tested_before(self.body, self.nest)


def strips_of(scope: Scope, nest: Nest, body: Body, both: Collection[Row] | None = None) -> Strips:
    """Return how the innermost loop of a nest is written; see `rows_ahead` for `both`."""
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
    whole = classes.evolve(body, addresses={**body.addresses, **kept})
    slides = slides_of(whole, marks.slides, lanes)
    later, apart = rows_ahead(body, nest, both), _apart(scope, nest)
    made = Strips(nest, body, whole, later, stored, slides, apart, lanes)
    if slides or not is_tested_before(body, nest):
        return made
    return classes.evolve(made, around=around_of(body, nest))


def write_strips(
    strips: Strips, ends: tuple[str, str], part: int, clause: str = ""
) -> Iterator[str]:
    """Write one part of the innermost loop in strips; `clause` tells OpenMP what lanes reduce.

    The last strip of a row ends with it and computes points of the one before again. Rows that
    are shorter than a strip, or whose values the loop changes, end with masked lanes.
    """
    start, stop = ends
    yield from ("{", *indented(_functions(strips, part, clause)))
    yield f"  s64 b = {start}{f', end = {stop}' if strips.around else ''};"
    if strips.is_tested_before:
        yield f"  const bool usually = {row_test(strips.body, strips.nest) or 'true'};"
    if strips.around:
        yield from indented(outside(strips.around, start, stop, part))
        stop = "end"
    # what lanes reduce is a variable of the row
    masked = "" if clause else strips.body.scope.ask("masked")
    if strips.stored:
        rows = (f"{row} + b" for row in strips.stored)
        call = _call(strips, f"earlier({strips.lanes}, line - b)", rows, masked)
        yield from indented(
            begin_at_line(strips.body.scope, strips.nest, strips.stored, stop, strips.lanes, call)
        )
    yield f"  const bool again = {_again(strips, stop)};"
    if strips.is_tested_before:
        yield from indented(_usual_runs(strips, stop, masked))
    else:
        yield from (*indented(_middle(strips, stop)), *indented(_masked(strips, stop, masked)))
    yield "}"


def _again(strips: Strips, stop: str) -> str:
    """Return the test that a row may end with a strip that overlaps the one before.

    Rows of non-temporal stores are written once; strips with slides follow each other.
    """
    if strips.apart is None or strips.slides:
        return "false"
    tests = [f"{stop} - b >= {strips.lanes}", *strips.apart]
    return " && ".join(["!past", *tests] if strips.stored else tests)


def _middle(strips: Strips, stop: str, masked: str = "") -> Iterator[str]:
    """Write the loop over strips without masks.

    Its last strip ends with the row. Where registers are few, `b` stays: from a loop that only
    counts, compilers make a pointer for each row, and an empty instruction that could change `b`
    keeps them from it.
    """
    lanes = strips.lanes
    yield f"const s64 whole = {stop} - (again ? 0 : ({stop} - b) % {lanes});"
    if strips.slides:
        yield from before_strips(strips.slides)
    yield f"for (; b < whole; b += {lanes}) {{"
    if not strips.slides:
        yield f"  b = earlier(b, {stop} - {lanes});"
    elif len(memory_rows(strips.body)) > _POINTERS:
        yield '  asm("" : "+r"(b));'
    yield from indented(_whole(strips, masked))
    yield "}"


def _functions(strips: Strips, part: int, clause: str) -> Iterator[str]:
    """Write a strip as a function that compilers copy for whole strips and for masked lanes.

    It takes its first point, how many points it has, where it stores rows, and what usual
    conditions change. Another function, for code that tests these before a row, has them.
    """
    body, nest, capture = strips.whole, strips.nest, "&" if clause else "="
    arrays = [f"{stored_type(buffer)}* {array}" for array, buffer in strips.stored.values()]
    values = (
        f"{TYPES[body.rows[row].dtype][0]} {name(body, row)}" for row in changed_rows(body, nest)
    )
    taken = ", ".join(("s64 b", "s64 count", *arrays, *values))
    yield f"const auto strip = [{capture}]({taken}) INLINE {{"
    yield from _over_lanes(body, strips.lanes, part, clause, " if (l < count)")
    if strips.is_tested_before:
        yield f"const auto usual = [{capture}]({', '.join(('s64 b', *arrays))}) INLINE {{"
        before, usual = lifted(without_conditions(body, nest), strips.lanes)
        yield from (*indented(before), *_over_lanes(usual, strips.lanes, part, clause))


def _over_lanes(body: Body, lanes: int, part: int, clause: str, test: str = "") -> Iterator[str]:
    """Write the loop over the lanes of a strip, and close its function."""
    yield from (
        SIMD + clause,
        f"  for (s64 l = 0; l < {lanes}; ++l){test} {{",
        f"    const s64 i{body.depth - 1} = b + l;",
        *indented(written(body, body.depth, part), "    "),
        "  }",
        "};",
    )


def _call(strips: Strips, count: str, arrays: Iterable[str], masked: str = "") -> str:
    values = (name(strips.body, row) for row in changed_rows(strips.body, strips.nest))
    given = ", ".join(("b", count, *arrays, *values))
    return f"{masked}(strip, {given});" if masked else f"strip({given});"


def _masked(strips: Strips, end: str, masked: str) -> Iterator[str]:
    """Write a strip that ends before its last lane, as a function of its own.

    For lanes that are not loaded, compilers keep registers that strips without masks need. It is
    handed a copy: a strip whose address is taken lies in memory in every row.
    """
    rows = (f"{row} + b" for row in strips.stored)
    yield f"if (b < {end}) {_call(strips, f'{end} - b', rows, masked)}"


def _whole(strips: Strips, masked: str = "") -> Iterator[str]:
    """Write a strip without masks; in rows that have not the usual conditions it may have them."""
    stored, arrays = strips.stored, [array for array, _ in strips.stored.values()]
    read = memory_rows(strips.body).values()
    yield from prefetched(strips.later, strips.nest, read, strips.lanes)
    for array, buffer in stored.values():
        yield f"alignas({LINE}) {stored_type(buffer)} {array}[{strips.lanes}];"
    call = _call(strips, str(strips.lanes), arrays)
    if strips.is_tested_before:
        usual = f"usual({', '.join(('b', *arrays))});"
        yield f"if (usually) {usual}" if masked else usual
        yield from [f"else {_call(strips, 'lanes', arrays, masked)}"] if masked else ()
    elif marks_of(strips.nest).usual:
        yield f"if ({row_test(strips.body, strips.nest)}) {{"
        yield from (
            *indented(usual_values(strips.body, strips.nest)),
            f"  {call}",
            "} else {",
            call,
            "}",
        )
    else:
        yield from sliding_strip(strips.slides, SIMD) if strips.slides else (call,)
    yield from stored_strips(stored, strips.lanes)


def _usual_runs(strips: Strips, stop: str, masked: str) -> Iterator[str]:
    """Write the loop over strips of a row: runs without tests, between strips with tests.

    A call among the strips of a run would take the registers of its pointers. Of a known number of
    lanes compilers make a copy of the strip with tests, without vectors.
    """
    lanes = strips.lanes
    if strips.around:
        run: tuple[str, str] | None = (f"usually ? b : {stop}", stop)
    else:
        run = run_of(strips.body, strips.nest, stop)
    rows = (f"{row} + b" for row in strips.stored)
    tested = _call(strips, f"earlier(lanes, {stop} - b)", rows, masked)
    yield f's64 lanes = {lanes}; asm("" : "+r"(lanes));'
    if run is None:
        yield from (*_middle(strips, stop, masked), *_masked(strips, stop, masked))
        return
    yield f"const s64 first = {run[0]}, last = {run[1]} - {lanes};"
    yield f"for (; b < {stop}; b += {lanes}) {{"
    yield f"  if (again) b = earlier(b, {stop} - {lanes});"
    yield f"  if (b < first || b > last) {{ {tested} continue; }}"
    yield f"  for (; b <= last; b += {lanes}) {{"
    yield from indented(_whole(strips), "    ")
    yield "  }"
    yield f"  b -= {lanes};"
    yield "}"


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
