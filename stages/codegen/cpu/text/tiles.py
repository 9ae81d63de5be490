"""Write nests that run tile by tile in one parallel region."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ....ir.loops import EIGHTHS, FIRST_CACHE, Buffer, Member, Range, Ranges, Tiles, arrays_of
from ...rows import Definition, Scope, moved, strides
from .nest import write_nest
from .threads import CALLEE, END, enough, extent, flat_loop, guard, indented, opened
from .units import Line, known, part_of

EVEN = """\
static inline s64 even(s64 count, s64 most) {
  const s64 tiles = (count + most - 1) / most;
  return tiles < 1 ? 1 : ((count + tiles - 1) / tiles + 7) / 8 * 8;
}"""


def write_tiles(scope: Scope, tiles: Tiles, first: int) -> Iterator[Line]:
    """Write tiles, whose nests have numbers from `first` on, and close the block around them."""
    box = max((member.nest.box for member in tiles.members), key=len)
    lengths = [f"c{level}" if cut.even else str(cut.size) for level, cut in enumerate(tiles.cuts)]
    levels = range(len(lengths))
    used = arrays_of(tiles)
    arrays = [b for b in scope.kernel.buffers if b.memory == "tile" and b.name in used]
    sizes = tuple(known(scope, lambda own: _sizes(own, tiles, arrays, lengths)))
    places = tuple(known(scope, lambda own: _in_place(own, tiles, arrays)))
    yield f"  if ({guard(scope, scope.kernel.groups[tiles.members[0].nest.group].box)}) {{"
    yield from indented(_counts(scope, tiles, box, lengths))
    yield opened(scope, box, " * ".join(f"m{level}" for level in levels), tiles.threads)
    yield from (each.line for each in sizes)
    yield from indented(_tile_loop(scope, tiles, lengths))
    yield from (*(each.line for each in places), *_turns(scope, tiles))
    inside = ("place", *(f"{end}{level}" for end in "tu" for level in levels))
    for index, member in enumerate(tiles.members, first):
        yield f"  {{  // nest {index}"
        write = partial(_member, tiles=tiles, member=member)
        own = part_of(scope, f"nest{index}", write, (*sizes, *places), inside)
        # in turn, a call for each row would cost
        yield from [own] if tiles.rolled is None else own.lines
    yield "  " + "}" * (1 + (tiles.rolled is not None)) + END + "}}"


def _member(scope: Scope, tiles: Tiles, member: Member) -> Iterator[str]:
    return write_nest(scope, member.nest, lambda range_: _in_tile(scope, range_, tiles, member))


def _counts(scope: Scope, tiles: Tiles, box: Ranges, sizes: Sequence[str]) -> Iterator[str]:
    """Define the sizes of tiles, and how many there are along each dimension."""
    cuts = list(enumerate(tiles.cuts))
    for level, cut in sorted(cuts, key=lambda pair: pair[1].range.dim is tiles.rolled):
        count = extent(scope, cut.range)
        if cut.even and cut.range.dim is tiles.rolled:
            others = " * ".join(f"m{other}" for other, _ in cuts if other != level)
            parts = f"parts_of({CALLEE}, {enough(scope, box)}, {others or '1'})"
            given = f"{count}, {tiles.fewest}, {cut.size}, {parts}"
            yield f"const s64 c{level} = {scope.ask('rows_of_tile')}({given});"
        elif cut.even:
            yield f"const s64 c{level} = {scope.ask('even')}({count}, {cut.size});"
        yield f"const s64 m{level} = later(0, {count} + {sizes[level]} - 1) / {sizes[level]};"


def _tile_loop(scope: Scope, tiles: Tiles, sizes: Sequence[str]) -> Iterator[str]:
    """Open the loop over tiles and define where each ends."""
    starts, stops = zip(*(scope.ends(cut.range) for cut in tiles.cuts), strict=True)
    yield from flat_loop([f"t{level}" for level in range(len(sizes))], starts, stops, sizes)
    yield from (
        f"  const s64 u{level} = earlier(t{level} + {size}, {stop});"
        for level, (size, stop) in enumerate(zip(sizes, stops, strict=True))
    )


def _turns(scope: Scope, tiles: Tiles) -> Iterator[str]:
    """Open the loop over rows that nests take in turn, early enough for the widest margin."""
    if tiles.rolled is not None:
        level = [cut.range.dim for cut in tiles.cuts].index(tiles.rolled)
        ahead = max(map(sum, tiles.rolled_margins))
        yield f"  for (s64 row = t{level} - {ahead}; row < u{level}; row += {scope.ask('high')}) {{"


def _in_tile(scope: Scope, range_: Range, tiles: Tiles, member: Member) -> tuple[str, str]:
    """Return the ends of a range inside the current tile."""
    dims = [cut.range.dim for cut in tiles.cuts]
    if range_.dim not in dims:
        return scope.ends(range_)
    cut = dims.index(range_.dim)
    before, beyond = member.margins[cut]
    start = f"t{cut} - {before}" if before else f"t{cut}"
    stop = f"u{cut} + {beyond}" if beyond else f"u{cut}"
    if range_.dim is tiles.rolled:
        start, stop = f"later({start}, row + {beyond})", f"row + {beyond} + {scope.ask('high')}"
    whole = range_ == tiles.cuts[cut].range and range_.dim is not tiles.rolled
    if whole and not before and not beyond:
        return start, stop
    first, last = scope.ends(range_)
    return f"later({first}, {start})", f"earlier({last}, {stop})"


# --- arrays -------------------------------------------------------------------------------------


def _in_place(scope: Scope, tiles: Tiles, arrays: list[Buffer]) -> Iterator[Definition]:
    """Define the arrays of a tile, moved to index 0 of their dimensions."""
    starts = {cut.range.dim: f"t{level}" for level, cut in enumerate(tiles.cuts)}
    return (moved(scope, each, scope.ask(f"own{each.slot}"), starts, "    ") for each in arrays)


def _sizes(
    scope: Scope, tiles: Tiles, arrays: list[Buffer], lengths: Sequence[str]
) -> Iterator[Definition]:
    """Name the slots of the tile arrays of one thread, and their strides."""
    kernel = scope.kernel
    places = sorted({buffer.slot for buffer in kernel.buffers if buffer.memory == "tile"})

    def size(place: int) -> str:
        return f"{scope.bound(kernel.slots[place])} / {tiles.threads}"

    for before, place in zip((None, *places), places, strict=False):
        offset = (
            f"{scope.slot(place)} + place * ({' + '.join(map(size, places))})"
            if before is None
            else f"{scope.ask(f'own{before}')} + {size(before)}"
        )
        yield f"own{place}", f"  char* const own{place} = {offset};"
    if tiles.rolled is not None:
        yield from _rows_in_turn(scope, tiles, lengths)
    for array in arrays:
        if array.ring is not None:
            last, more = scope.last_in_ring(array), tiles.rows_in_use(array.name) - 1
            yield last, f"  const s64 {last} = ring({scope.ask('high')} + {more}) - 1;"
        yield from strides(scope, array)


def _rows_in_turn(scope: Scope, tiles: Tiles, lengths: Sequence[str]) -> Iterator[Definition]:
    """Define how many rows nests walk at a time, by the bytes that they hold then.

    Rows of whole columns lie far apart, but parts of several rows in the same lines and pages.
    """
    cut = dict(zip((cut.range.dim for cut in tiles.cuts), lengths, strict=True))
    sides = [
        cut.get(each.dim, f"({extent(scope, each)})")
        for each in tiles.members[-1].nest.box
        if each.dim is not tiles.rolled
    ]
    bytes_ = (f"{' * '.join(sides)} * {n}" for n in tiles.bytes_in_turn(scope.kernel.buffers))
    room = f"{scope.ask('near')} / 8 * {EIGHTHS}" if tiles.has_columns else f"{FIRST_CACHE}"
    yield "high", f"  const s64 high = {scope.ask('rows_in_turn')}({', '.join((room, *bytes_))});"
