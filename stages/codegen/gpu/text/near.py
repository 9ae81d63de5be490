"""Write what a thread does for one element of a patch, whose arrays are in shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .....runtime.process import classes
from ....ir.loops import Load, Nest, Row, Store, axis_along
from ...mesh.values import Way, way_of
from ...rows import NAMELESS, Body, Element, InRow, Scope, line, pointer, written
from ..passes.unrolling import unrolled
from .lines import indented, thread_body
from .wide import aligned, packed, packs_of, starts_of


@classes.frozen
class PatchArrays:
    """The arrays of a patch in shared memory, and the columns of near indices that lead there.

    `near` has by list and way the number of the column, `fillers` by array the number of its list.
    """

    names: Mapping[str, str]
    fillers: Mapping[str, int]
    near: Mapping[tuple[int, Way], int]
    own: frozenset[str]  # that the nest fills
    once: frozenset[str]  # fields that only this loop touches, each element once
    levels: int


@classes.frozen
class Near:
    """The rows of a nest in a patch; `pointers` names the pointer to the row of each access.

    Of an array in shared memory it is the place of the row.
    """

    body: Body
    nest: Nest
    arrays: PatchArrays
    pointers: Mapping[Row, str]


def near(scope: Scope, nest: Nest, arrays: PatchArrays) -> Near:
    """Return the rows of a nest whose arrays have a row of levels for each element of a patch."""
    body = thread_body(scope, nest)
    pointers = {
        number: address.pointer
        for number, address in body.addresses.items()
        if isinstance(address, InRow)
    }
    addresses = dict(body.addresses)
    for number, place in pointers.items():
        access = nest.body[number]
        if isinstance(access, Load | Store) and access.buffer in arrays.names:
            buffer = scope.by_name[access.buffer]
            axis = axis_along(body.rows, access, buffer, body.inner)
            assert axis is not None
            _, offset = access.coordinates(len(buffer.dims))[axis]
            addresses[number] = Element(arrays.names[access.buffer], _level(place, offset))
    return Near(classes.evolve(body, addresses=addresses), nest, arrays, pointers)


def _level(place: str, offset: int) -> str:
    return f"{place} + u32(i1 - start){f' + {offset}' if offset else ''}"


def _definitions(near: Near) -> dict[str, str]:
    """Return by name how pointers to rows and places in shared memory are defined, rows first."""
    rows, places = {}, {}
    for number, name in near.pointers.items():
        access, address = near.nest.body[number], near.body.addresses[number]
        assert isinstance(access, Load | Store)
        if name in rows or name in places:
            continue
        if isinstance(address, InRow):
            rows[name] = pointer(near.body, access, address)
            continue
        element, arrays = "q - begin", near.arrays
        if isinstance(access, Load) and access.buffer not in arrays.own:
            way = way_of(near.nest, access)
            assert way is not None, "only tables lead to arrays of a patch"
            column = arrays.near[arrays.fillers[access.buffer], way]
            element = f"near[(q - base) * {len(arrays.near)} + {column}]"
        places[name] = f"const u32 {name} = ({element}) * {arrays.levels};"
    return rows | places


def all_at_once(
    scope: Scope, nest: Nest, arrays: PatchArrays, points: int, indent: str
) -> tuple[str, list[str]]:
    """Return the test that memory is aligned, and the lines for all levels of a thread.

    Each pointer is defined before its first use.
    """
    every = classes.evolve(nest, body=unrolled(nest, (points, 1), scope.by_name, in_turn=True))
    own = near(scope, every, arrays)
    packs = packs_of(thread_body(scope, every), points)
    starts = starts_of(own.body, packs)
    for pack in packs:
        first = pack.members[0]
        address = own.body.addresses[first]
        if isinstance(address, Element):
            starts[first] = f"{address.array}, {_level(own.pointers[first], pack.start)}"
    body = packed(own.body, packs, starts, arrays.once)
    pending = _definitions(own)
    lines = []
    for number, row in enumerate(every.body):
        if isinstance(row, NAMELESS):
            continue
        definition = pending.pop(own.pointers.get(number, ""), "")
        lines += [indent + each for each in (definition, line(body, number)) if each]
    return aligned(own.body, packs, arrays.names), lines


def one_by_one(
    scope: Scope, nest: Nest, arrays: PatchArrays, points: int, indent: str
) -> Iterator[str]:
    """Write a loop over those levels of a thread that lie inside."""
    own = near(scope, nest, arrays)
    start, stop = scope.ends(nest.loops[1].range)
    for level in (0, 1):
        yield from indented(written(own.body, level), f"{indent}{'  ' * level}")
    first = f"f1 < {start} ? {start} : f1"
    inside = f"i1 < f1 + {points} && i1 < {stop}"
    yield from (
        *indented(_definitions(own).values(), indent),
        "#pragma unroll 1",
        f"{indent}for (s64 i1 = {first}; {inside}; ++i1) {{",
        *indented(written(own.body, 2), f"{indent}    "),
        f"{indent}}}",
    )
