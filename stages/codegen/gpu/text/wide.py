"""Wide accesses: neighbouring elements of one row that a thread loads or stores as one.

A pack of elements lies at a multiple of its size from index 0 of the row, so that it is aligned
wherever index 0 and the rows are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from .....runtime.process import classes
from ....gpu_target import WIDEST
from ....ir.loops import ITEMSIZES, Load, Row, Store, axis_along
from ....vendors.dialect import ONCE, WIDE
from ...rows import TYPES, Body, InRow, Scope, name, operand, plus, stored_type


@classes.frozen
class Pack:
    """Accesses of one row that are one, in the order of memory; `start` is the first's offset."""

    members: tuple[Row, ...]
    start: int


def packs_of(body: Body, most: int) -> list[Pack]:
    """Return the packs of a body of all points of a thread, of `most` elements at most."""
    found: list[Pack] = []
    for kind in (Load, Store):
        rows: dict[tuple[str, Row | None, int], dict[int, Row]] = {}
        for number, address in body.addresses.items():
            access = body.rows[number]
            if not (isinstance(access, kind) and isinstance(address, InRow)):
                continue
            buffer, when = body.scope.by_name[access.buffer], access.when
            axis = axis_along(body.rows, access, buffer, body.inner)
            assert axis is not None
            if access.level == body.depth and buffer.unit is buffer.dims[axis]:
                _, offset = access.coordinates(len(buffer.dims))[axis]
                size = min(WIDEST // ITEMSIZES[buffer.dtype], most)
                rows.setdefault((address.pointer, when, size), {})[offset] = number
        for (_, when, size), own in rows.items():
            if when is None or body.rows[when].level < body.depth:
                found += _cut(own, size)
    return found


def _cut(found: Mapping[int, Row], size: int) -> Iterator[Pack]:
    """Cut the accesses of one row into aligned packs, first those of `size` elements."""
    taken: set[int] = set()
    while size > 1:
        for start in sorted({offset // size * size for offset in found}):
            places = range(start, start + size)
            if taken.isdisjoint(places) and all(place in found for place in places):
                taken.update(places)
                yield Pack(tuple(found[place] for place in places), start)
        size //= 2


def aligned(body: Body, packs: Sequence[Pack], besides: Collection[str] = ()) -> str:
    """Return the test that what packs access in memory is aligned."""
    rows = (body.rows[pack.members[0]] for pack in packs)
    names = (row.buffer for row in rows if isinstance(row, Load | Store))
    return are_aligned(body.scope, (each for each in names if each not in besides))


def are_aligned(scope: Scope, names: Iterable[str]) -> str:
    """Return the test that buffers begin, and their rows, at multiples of the widest access."""
    found: dict[str, None] = {}
    for buffer in (scope.by_name[each] for each in names):
        found[f"u64({scope.buffer(buffer.name)})"] = None
        for axis, dim in enumerate(buffer.dims):
            if dim is not buffer.unit:
                found[f"u64({scope.stride(buffer, axis)}) * {ITEMSIZES[buffer.dtype]}"] = None
    return f"(({' | '.join(found)}) & {WIDEST - 1}) == 0" if found else "true"


def packed(
    body: Body, packs: Sequence[Pack], starts: Mapping[Row, str], once: Collection[str] = ()
) -> Body:
    """Return a body with wide accesses; `starts` says by first member where each of them begins.

    Those of the fields `once` need not stay in caches.
    """
    instead = dict(body.instead)
    for pack in packs:
        access = body.rows[pack.members[0]]
        assert isinstance(access, Load | Store)
        after = "_once" if access.buffer in once else ""
        body.scope.ask(ONCE if after else WIDE)
        type_ = f"ff::pack<{stored_type(body.scope.by_name[access.buffer])}, {len(pack.members)}>"
        start = starts[pack.members[0]]
        if isinstance(access, Store):
            values = ", ".join(operand(body, body.rows[row].operands[0]) for row in pack.members)
            instead |= dict.fromkeys(pack.members, "")
            instead[pack.members[-1]] = f"ff::store{after}({start}, {type_}{{{{{values}}}}});"
            continue
        wide, is_bool = f"w{pack.members[0]}", access.dtype == "bool"
        for place, row in enumerate(pack.members):
            value = f"{wide}[{place}]{' != 0' if is_bool else ''}"
            instead[row] = f"const {TYPES[access.dtype][0]} {name(body, row)} = {value};"
        loaded = f"ff::load{after}<{len(pack.members)}>({start})"
        if access.when is not None:
            loaded = f"{operand(body, access.when)} ? {loaded} : {type_}{{}}"
        first = min(pack.members)
        instead[first] = f"const {type_} {wide} = {loaded}; {instead[first]}"
    return classes.evolve(body, instead=instead)


def starts_of(body: Body, packs: Sequence[Pack]) -> dict[Row, str]:
    """Return the address of each pack in a row of memory, by its first member."""
    found = {}
    for pack in packs:
        address = body.addresses[pack.members[0]]
        if isinstance(address, InRow):
            found[pack.members[0]] = plus(f"{address.pointer} + i{body.depth - 1}", pack.start)
    return found
