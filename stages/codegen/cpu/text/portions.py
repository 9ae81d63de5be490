"""Write nests of a mesh in portions of patches, with the lists of elements and of rows."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping

import attrs

from ....ir.bounds import PatchBound
from ....ir.flat_kernel import Buffer
from ....ir.nest_groups import Portions
from ....ir.nests import Load, Nest, Store
from ...mesh.ways import Way, way_of, ways
from ...rows.body import BodyText
from ...rows.names import Names, stored_type
from ...rows.old_body import Places
from .nest import innermost
from .sharing import END, opened

# Words of each nest at the begin of the lists: where its near indices and its elements begin, and
# how many rows it needs; see `patches.h`.
HEADER = 3


@attrs.frozen
class Room:
    """The arrays that nests hand on: their names, and the column of near indices for a reading.

    `own` are those that the nest fills, `pitch` the elements of a row.
    """

    arrays: Mapping[str, str]
    near: Mapping[tuple[str, Way | None], int]
    own: frozenset[str]
    pitch: str

    @property
    def width(self) -> int:
        """The number of near indices of an element."""
        return len(self.near) + bool(self.own)


class _InPortion(BodyText):
    """Instructions whose arrays lie in rows of the thread."""

    def __init__(self, names: Names, nest: Nest, room: Room, *, later: bool = False) -> None:
        super().__init__(names, nest, later=later)
        self.room = room

    def for_later(self) -> BodyText:
        return _InPortion(self.names, self.nest, self.room, later=True)

    def ahead(self) -> str:
        range_ = self.nest.loops[0].range
        start, stop = self.names.bound(range_.start), self.names.bound(range_.stop)
        found = f"lists[earlier(q + {self.nest.ahead}, last)]"
        return f"const s64 j0 = later({start}, earlier({found}, {stop} - 1));"

    def _address(self, buffer: Buffer, places: Places) -> str:
        if buffer.name not in self.room.arrays:
            return super()._address(buffer, places)
        number = len(self.room.near)
        if buffer.name not in self.room.own:
            reading = next(
                row
                for row in self.nest.body
                if isinstance(row, Load) and self._key(row) == (buffer.name, places)
            )
            number = self.room.near[buffer.name, way_of(self.nest, reading)]
        first = self.names.bound(self.nest.loops[1].range.start)
        return f"{self.room.arrays[buffer.name]} + near[{number}] * {self.room.pitch} - {first}"


def write_portions(names: Names, portions: Portions) -> Iterator[str]:
    """Write the nests and close the block that they stand in; threads share the patches."""
    nests = [
        attrs.evolve(names.kernel.nests[number], asked=asked)
        for number, asked in zip(portions.members, portions.asked, strict=True)
    ]
    count, node = len(nests), portions.node
    address = names.bound(PatchBound("address", portions.order))
    yield f"  const u32* const lists = (const u32*){address};"
    yield opened(names, nests[-1], names.bound(node.patches), names.bound(node.threads))
    yield f"    const u32* const firsts = lists + {HEADER * count + 2};"
    arrays = yield from _rows(names, portions)
    yield f"    const s64 per = lists[{HEADER * count}], parts = lists[{HEADER * count + 1}];"
    yield "    for (s64 part = begin * per; part < earlier(end * per, parts); ++part) {"
    for place, nest in enumerate(nests):
        yield f"    {{  // nest {portions.members[place]}"
        yield from _member(names, portions, nest, place, arrays)
    yield f"    }}{END}}}"


def _rows(names: Names, portions: Portions) -> Generator[str, None, dict[str, str]]:
    """Define the rows of a thread, array after array; return the names of the arrays."""
    room, pitch = names.bound(portions.node.room), names.bound(portions.node.pitch)
    start = f"slot{portions.slot} + place * {room}"
    found: dict[str, str] = {}
    for place, number in enumerate(portions.members):
        for row in names.kernel.nests[number].body:
            if isinstance(row, Store) and row.buffer in portions.arrays:
                name, type_ = f"h{len(found)}", stored_type(names.by_name[row.buffer])
                yield f"    {type_}* const {name} = ({type_}*)({start});"
                start = f"{name} + lists[{HEADER * place + 2}] * {pitch}"
                found[row.buffer] = name
    return found


def _member(
    names: Names, portions: Portions, nest: Nest, place: int, arrays: Mapping[str, str]
) -> Iterator[str]:
    """Write the loop of one nest over its elements in a portion; close its block."""
    own = {row.buffer for row in nest.body if isinstance(row, Store)}
    near = {each: number for number, each in enumerate(ways(nest, arrays))}
    room = Room(arrays, near, frozenset(own & set(arrays)), names.bound(portions.node.pitch))
    body = _InPortion(names, nest, room)
    count = len(portions.members)
    range_ = nest.loops[0].range
    guard = [f"{names.bound(r.start)} < {names.bound(r.stop)}" for r in nest.guard]
    yield f"    if ({' && '.join(guard or ['true'])}) {{"
    yield from body.at(0)
    yield f"    const u16* const nears = (const u16*)(lists + lists[{HEADER * place}]);"
    yield f"    const s64 base = lists[{HEADER * place + 1}];"
    yield f"    const s64 last = s64(firsts[parts * {count} + {place}]) - 1;"
    yield f"    const s64 stop = firsts[(part + 1) * {count} + {place}];"
    yield f"    for (s64 q = firsts[part * {count} + {place}]; q < stop; ++q) {{"
    yield "      const s64 i0 = lists[q];"
    outside = f"i0 < {names.bound(range_.start)} || i0 >= {names.bound(range_.stop)}"
    yield f"      if ({outside}) continue;"
    if room.width:
        yield f"      const u16* const near = nears + (q - base) * {room.width};"
    yield from body.at(1)
    yield from innermost(names, nest, body, None)
    yield "    }}}"
