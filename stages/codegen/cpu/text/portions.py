"""Write nests of a mesh in portions of patches, with the lists of elements and of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops import Access, Each, Load, Nest, PatchBound, Portions, Row, Store, reached
from ...mesh.values import way_of, ways
from ...rows import (
    NAMELESS,
    Address,
    Body,
    InRow,
    Scope,
    body_of,
    is_given,
    line,
    start_of_row,
    stored_type,
    written,
)
from .nest import innermost
from .streams import indices, iteration, prefetch_test, rows_ahead
from .threads import END, extents, guard, indented, opened
from .units import Known

# Words of each nest at the begin of the lists: where its near indices and its elements begin, and
# how many rows it needs; see `patches.h`.
HEADER = 3


ELEMENTS: Final = f"""\
struct Elements {{
  s64 begin, stop;
  const u32* lists;
  char* rows;
}};
static inline s64 element(const u32* lists, s64 q) {{ return lists ? lists[q] : q; }}
static inline s64 last_of(const u32* lists, s64 nest, s64 nests) {{
  const u32* const after = lists + {HEADER} * nests;
  return s64(after[2 + after[1] * nests + nest]) - 1;
}}
template <class Body>
static __attribute__((noinline)) void run(const Body& given, const Elements& elements) {{
  const Body body = given;
  body(elements);
}}"""


def functions_of(scope: Scope, portions: Portions, first: int) -> dict[Nest, Known]:
    """Return the function of each nest, which runs it for elements of lists, or for all.

    Both branches of a choice call it, so that compilers see the loops once. Numbers are those from
    `first` on.
    """
    found = {}
    for place, each in enumerate(portions.loops):
        own, name = scope.apart(), f"elements{first + place}"
        text = "\n".join(indented(_function(own, portions, place, name)))
        scope.uses.add(own.uses)
        found[each.nest] = Known(name, text, frozenset(own.uses.names), is_function=True)
    return found


def write_portions(
    scope: Scope, portions: Portions, functions: Sequence[str], numbers: Sequence[int]
) -> Iterator[str]:
    """Write the calls of the functions of nests and close the block; threads share the patches."""
    count, address = len(portions.loops), scope.bound(PatchBound("address", portions.order))
    patches, threads = scope.bound(portions.patches), scope.bound(portions.threads)
    rows = f"{scope.slot(portions.slot)} + place * {scope.bound(portions.room)}"
    yield from (
        f"  const u32* const lists = (const u32*){address};",
        opened(scope, portions.loops[-1].nest.box, patches, threads),
        f"    const u32* const firsts = lists + {HEADER * count + 2};",
        f"    const s64 per = lists[{HEADER * count}], parts = lists[{HEADER * count + 1}];",
        "    for (s64 part = begin * per; part < earlier(end * per, parts); ++part) {",
    )
    for place, (each, name) in enumerate(zip(portions.loops, functions, strict=True)):
        box = scope.kernel.groups[each.nest.group].box
        begin, stop = (f"firsts[{part} * {count} + {place}]" for part in ("part", "(part + 1)"))
        run = f"{scope.ask('run')}({scope.ask(name)}, Elements{{{begin}, {stop}, lists, {rows}}});"
        yield f"      if ({guard(scope, box)}) {run}  // nest {numbers[place]}"
    yield f"    }}{END}}}"


def write_all(scope: Scope, nest: Nest, function: str) -> Iterator[str]:
    """Write the call of the function of a nest for all elements, and close the block."""
    counts, count = extents(scope, nest.loops[:1])
    start = scope.bound(nest.loops[0].range.start)
    run = f"{scope.ask('run')}({scope.ask(function)}"
    yield f"  if ({guard(scope, scope.kernel.groups[nest.group].box)}) {{"
    yield from (*indented(counts), opened(scope, nest.box, count))
    yield f"    {run}, Elements{{{start} + begin, {start} + end, nullptr, nullptr}});"
    yield f"  {END}}}}}"


def _function(scope: Scope, portions: Portions, place: int, name: str) -> Iterator[str]:
    each, count = portions.loops[place], len(portions.loops)
    nest = each.nest
    body = _given(body_of(scope, nest), portions)
    start, stop = scope.ends(nest.loops[0].range)
    yield from (
        f"const auto {name} = [=](const Elements& of) INLINE {{",
        *indented(written(body, 0)),
        "  const u32* const lists = of.lists;",
        *_rows(scope, portions),
        f"  const u32* const head = lists ? lists + {HEADER * place} : nullptr;",
        "  const u16* const nears = lists ? (const u16*)(lists + head[0]) : nullptr;",
        "  const s64 base = lists ? head[1] : 0;",
        f"  const s64 last = lists ? last_of(lists, {place}, {count}) : {stop} - 1;",
        "  for (s64 q = of.begin; q < of.stop; ++q) {",
        "    const s64 i0 = element(lists, q);",
        f"    if (i0 < {start} || i0 >= {stop}) continue;",
        *indented(_pointers(scope, portions, each, body), "    "),
        *indented(written(body, 1), "    "),
        *innermost(scope, nest, body, scope.ends, both=each.asked),
        "  }",
        "};",
    )


def _given(body: Body, portions: Portions) -> Body:
    """Return a body in which the rows of arrays are given, without the rows that tell these."""
    addresses = {
        number: classes.evolve(address, is_given=True)
        if isinstance(address, InRow) and row.buffer in portions.arrays
        else address
        for number, address, row in _accesses(body)
    }

    def needed(number: Row) -> Iterator[Row]:
        row = body.rows[number]
        if isinstance(row, Load | Store) and is_given(addresses.get(number)):
            row = classes.evolve(row, rows=())
        return iter(row.operands)

    inner = (number for number, row in enumerate(body.rows) if row.level == body.depth)
    others = set(range(len(body.rows))) - reached(inner, needed)
    return classes.evolve(body, addresses=addresses, instead=dict.fromkeys(others, ""))


def _accesses(body: Body) -> Iterator[tuple[Row, Address, Access]]:
    """Yield the accesses that have addresses."""
    for number, address in body.addresses.items():
        row = body.rows[number]
        assert isinstance(row, Load | Store)
        yield number, address, row


def _pointers(scope: Scope, portions: Portions, each: Each, body: Body) -> Iterator[str]:
    """Point to rows of arrays: near rows of the thread, or those of an element without lists.

    Without lists no other nest has just loaded what this one reads: it prefetches more.
    """
    nest, plain = each.nest, classes.evolve(body, instead={})
    later = rows_ahead(plain, nest, each.asked)
    given, ahead = (
        {a.pointer: row for _, a, row in _accesses(own) if isinstance(a, InRow) and a.is_given}
        for own in (body, later)
    )
    for pointer, access in (given | ahead).items():
        yield f"{stored_type(scope.by_name[access.buffer])}* {pointer} = nullptr;"
    yield "if (lists) {"
    yield from indented(_near(scope, portions, nest, given))
    yield "} else {"
    yield from (f"  {line(plain, row)}" for row in _indices(plain, given.values()))
    yield from (f"  {name} = {start_of_row(plain, row)};" for name, row in given.items())
    if ahead:
        only = {
            number: classes.evolve(address, is_given=False)
            for number, address, _ in _accesses(later)
            if isinstance(address, InRow) and address.is_given
        }
        rows = indices(classes.evolve(later, addresses=only))
        yield f"  if ({prefetch_test(later, nest)}) {{"
        yield f"    {iteration(scope, nest)}"
        yield from (f"    {line(later, row)}" for row in rows)
        yield from (f"    {name} = {start_of_row(later, row)};" for name, row in ahead.items())
        yield "  }"
    yield "}"


def _indices(body: Body, accesses: Iterable[Access]) -> list[Row]:
    """Return the named rows that tell the places of accesses, in order."""
    roots = (row for access in accesses for row in access.rows if row is not None)
    found = reached(roots, lambda row: body.rows[row].operands)
    return sorted(row for row in found if not isinstance(body.rows[row], NAMELESS))


def _near(
    scope: Scope, portions: Portions, nest: Nest, given: Mapping[str, Access]
) -> Iterator[str]:
    """Point to rows of the thread, which near indices tell.

    The column after those of readings tells the row that the nest fills.
    """
    arrays = {array: f"h{number}" for number, (_, array) in enumerate(_filled(portions))}
    near = {each: number for number, each in enumerate(ways(nest, arrays))}
    own = {row.buffer for row in nest.body if isinstance(row, Store)}
    first, pitch = scope.bound(nest.loops[1].range.start), scope.bound(portions.pitch)
    width = len(near) + (not own.isdisjoint(arrays))
    yield f"const u16* const near = nears + (q - base) * {width};"
    for pointer, access in given.items():
        column = len(near)
        if isinstance(access, Load) and access.buffer not in own:
            column = near[access.buffer, way_of(nest, access)]
        yield f"{pointer} = {arrays[access.buffer]} + near[{column}] * {pitch} - {first};"


def _filled(portions: Portions) -> Iterator[tuple[int, str]]:
    """Yield the arrays in the order in which nests fill them, each with the place of its nest."""
    for place, each in enumerate(portions.loops):
        for row in each.nest.body:
            if isinstance(row, Store) and row.buffer in portions.arrays:
                yield place, row.buffer


def _rows(scope: Scope, portions: Portions) -> Iterator[str]:
    """Define the rows of a thread, array after array."""
    pitch, start = scope.bound(portions.pitch), "of.rows"
    for number, (place, array) in enumerate(_filled(portions)):
        type_ = stored_type(scope.by_name[array])
        yield f"  {type_}* const h{number} = ({type_}*)({start});"
        start = f"lists ? h{number} + lists[{HEADER * place + 2}] * {pitch} : nullptr"
