"""Write nests of a mesh in portions of patches, with the lists of elements and of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .....runtime.process import classes
from ....ir.bounds import PatchBound
from ....ir.loops.cpu import Portions, marked
from ....ir.loops.nest import Load, Nest, Row, Store
from ...mesh.ways import Way, way_of, ways
from ...rows.addresses import Address, InRow
from ...rows.body import Body, body_of
from ...rows.scope import Scope, stored_type
from .nest import at, innermost
from .threads import END, guard, opened

# Words of each nest at the begin of the lists: where its near indices and its elements begin, and
# how many rows it needs; see `patches.h`.
HEADER = 3


def write_portions(scope: Scope, portions: Portions, numbers: Sequence[int]) -> Iterator[str]:
    """Write the nests and close the block that they stand in; threads share the patches."""
    nests = [marked(each.nest, asked=each.asked) for each in portions.loops]
    count, address = len(nests), scope.bound(PatchBound("address", portions.order))
    patches, threads = scope.bound(portions.patches), scope.bound(portions.threads)
    stored = (row.buffer for nest in nests for row in nest.body if isinstance(row, Store))
    filled = (name for name in stored if name in portions.arrays)
    arrays = {name: f"h{place}" for place, name in enumerate(filled)}
    yield from (
        f"  const u32* const lists = (const u32*){address};",
        opened(scope, nests[-1].box, patches, threads),
        f"    const u32* const firsts = lists + {HEADER * count + 2};",
        *_rows(scope, portions, nests, arrays),
        f"    const s64 per = lists[{HEADER * count}], parts = lists[{HEADER * count + 1}];",
        "    for (s64 part = begin * per; part < earlier(end * per, parts); ++part) {",
    )
    for place, nest in enumerate(nests):
        yield f"    {{  // nest {numbers[place]}"
        yield from _member(scope, portions, nest, place, arrays)
    yield f"    }}{END}}}"


def _rows(
    scope: Scope, portions: Portions, nests: Sequence[Nest], arrays: Mapping[str, str]
) -> Iterator[str]:
    """Define the rows of a thread, array after array."""
    room, pitch = scope.bound(portions.room), scope.bound(portions.pitch)
    start = f"{scope.slot(portions.slot)} + place * {room}"
    for place, nest in enumerate(nests):
        for row in nest.body:
            if isinstance(row, Store) and row.buffer in portions.arrays:
                name, type_ = arrays[row.buffer], stored_type(scope.by_name[row.buffer])
                yield f"    {type_}* const {name} = ({type_}*)({start});"
                start = f"{name} + lists[{HEADER * place + 2}] * {pitch}"


def _member(
    scope: Scope, portions: Portions, nest: Nest, place: int, arrays: Mapping[str, str]
) -> Iterator[str]:
    """Write the loop of one nest over its elements in a portion; close its block."""
    near = {each: number for number, each in enumerate(ways(nest, arrays))}
    fills = any(isinstance(row, Store) and row.buffer in arrays for row in nest.body)
    body = _in_portion(body_of(scope, nest), nest, near, arrays, scope.bound(portions.pitch))
    count = len(portions.loops)
    start, stop = scope.ends(nest.loops[0].range)
    width = len(near) + fills
    yield from (
        f"    if ({guard(scope, scope.kernel.groups[nest.group].box)}) {{",
        *at(body, 0),
        f"    const u16* const nears = (const u16*)(lists + lists[{HEADER * place}]);",
        f"    const s64 base = lists[{HEADER * place + 1}];",
        f"    const s64 last = s64(firsts[parts * {count} + {place}]) - 1;",
        f"    const s64 stop = firsts[(part + 1) * {count} + {place}];",
        f"    for (s64 q = firsts[part * {count} + {place}]; q < stop; ++q) {{",
        "      const s64 i0 = lists[q];",
        f"      if (i0 < {start} || i0 >= {stop}) continue;",
        *([f"      const u16* const near = nears + (q - base) * {width};"] if width else ()),
        *at(body, 1),
        *innermost(scope, nest, body, scope.ends, of_list=True),
        "    }}}",
    )


def _in_portion(
    body: Body,
    nest: Nest,
    near: Mapping[tuple[str, Way | None], int],
    arrays: Mapping[str, str],
    pitch: str,
) -> Body:
    """Return a body whose arrays lie in rows of the thread, which near indices tell.

    The column after those of readings tells the row that the nest fills.
    """
    own = {row.buffer for row in nest.body if isinstance(row, Store)}
    first = body.scope.bound(nest.loops[1].range.start)
    found: dict[Row, Address] = {}
    for number, address in body.addresses.items():
        row = body.rows[number]
        if isinstance(row, Load | Store) and row.buffer in arrays and isinstance(address, InRow):
            column = len(near)
            if isinstance(row, Load) and row.buffer not in own:
                column = near[row.buffer, way_of(nest, row)]
            start = f"{arrays[row.buffer]} + near[{column}] * {pitch} - {first}"
            found[number] = InRow(address.pointer, start)
    return classes.evolve(body, addresses={**body.addresses, **found})
