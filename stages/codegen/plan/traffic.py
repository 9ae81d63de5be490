"""Bytes through each level of memory, from sweeps alone.

What one iteration of a loop touches is its *layer*. Where a layer fits a cache, the next iteration
finds there what it reads again, so the whole loop fetches each byte once: the layer condition.
Where it does not fit, each iteration fetches what the loops inside of it fetch. From part to part a
cache keeps what was touched last. A cache that is a little too small keeps a part.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Final, TypeAlias

from ....runtime.language import Dimension
from .sizes import Sizes
from .sweeps import Body, Place, Sweep, Touch, bodies

Extents: TypeAlias = Mapping[Dimension, float]
Key: TypeAlias = tuple[str, bool]  # a buffer, and whether it is stored
Bytes: TypeAlias = dict[Key, float]  # nobody changes one that somebody else has
Footprints: TypeAlias = dict[tuple[Sweep | Body, float], Bytes]  # by sweep and window

# Layers over capacity: up to the first one all of a layer stays, beyond the second one nothing.
ALL_STAYS: Final = 0.7
NOTHING_STAYS: Final = 1.1


class Traffic:
    """How many bytes come to a cache for sweeps; `line` bytes come together.

    Sweeps that were seen before are not counted again; caches with equal lines share footprints.
    """

    def __init__(
        self, sizes: Sizes, capacity: float, line: int, footprints: Footprints | None = None
    ) -> None:
        self.sizes = sizes
        self.capacity = capacity
        self.line = line
        self._footprints: Footprints = {} if footprints is None else footprints
        # what a part touches, and what it fetches if nothing runs before it
        self.alone = cache(lambda part: (self.footprint(part), self.through(part)))

    def in_turn(
        self, parts: Sequence[Sweep | Body], kept: Container[str] | None = None
    ) -> list[Bytes]:
        """Return what each part fetches that runs after the others, again and again.

        A part finds there what was touched last; of the round before only the buffers `kept`, or
        all.
        """
        alone = [self.alone(part) for part in parts]
        recent: dict[str, float] = {}
        for own, _ in alone:
            _touch(recent, own)
        old, found = dict.fromkeys(recent), []
        for own, each in alone:
            fetched, names = dict(each), list(recent)
            for key, bytes_ in own.items():
                name = key[0]
                if kept is None or name in kept or name not in old:
                    since = sum(recent[each] for each in names[names.index(name) :])
                    fetched[key] = max(0.0, fetched[key] - self._stays(since) * bytes_)
            _touch(recent, own)
            for key in own:
                old.pop(key[0], None)
            found.append(fetched)
        return found

    def through(self, sweep: Sweep | Body) -> Bytes:
        """Return what a sweep fetches that finds nothing there."""
        if isinstance(sweep, tuple):
            return self.footprint(sweep)
        layer = sum(self._layer(sweep).values())
        stays = self._stays(layer)
        once = self.footprint(sweep, max(1.0, self.capacity / max(layer, 1)))
        if stays == 1:
            return once
        again = self._again(sweep, once)
        return {key: stays * once[key] + (1 - stays) * again[key] for key in once}

    def footprint(self, sweep: Sweep | Body, window: float = float("inf")) -> Bytes:
        """Return the bytes of the lines that a sweep touches.

        Rows that tables tell are counted anew after each `window` iterations of its loop.
        """
        if window < float("inf") and not any(
            touch.is_told for body, _ in bodies(sweep) for touch in body
        ):
            window = float("inf")
        found = self._footprints.get((sweep, window))
        if found is None:
            found = self._footprints[sweep, window] = self._footprint(sweep, window)
        return found

    def _footprint(self, sweep: Sweep | Body, window: float) -> Bytes:
        dim = None if isinstance(sweep, tuple) else sweep.dim
        found: Bytes = {}
        for body, extents in bodies(sweep):
            for touch in body:
                key = touch.buffer, touch.stores
                bytes_ = self._touched(touch, extents, (dim, window))
                found[key] = max(found.get(key, 0.0), bytes_)
        return found

    def _again(self, sweep: Sweep, once: Bytes) -> Bytes:
        """Return what a loop fetches whose iterations leave nothing for the next, or little.

        What does not grow with the loop may stay from one iteration to the next.
        """
        one = self._layer(sweep)
        kept = {key[0] for key, bytes_ in one.items() if once[key] <= 1.01 * bytes_}
        total = dict.fromkeys(once, 0.0)
        for times, stays in ((1, ()), (sweep.count - 1, kept)):
            for fetched in self.in_turn(sweep.parts, stays) if times > 0 else ():
                for key, bytes_ in fetched.items():
                    total[key] += times * bytes_
        return total

    def _layer(self, sweep: Sweep) -> Bytes:
        """Return the bytes of the lines that an iteration of a loop touches."""
        alone, *others = sweep.parts
        return self.footprint(Sweep(None, 1, sweep.parts) if others else alone)

    def _stays(self, bytes_: float) -> float:
        """Return how much of what was touched so many bytes ago the cache still has."""
        ratio = bytes_ / max(self.capacity, 1)
        return min(1.0, max(0.0, (NOTHING_STAYS - ratio) / (NOTHING_STAYS - ALL_STAYS)))

    # --- a buffer -------------------------------------------------------------------------------

    def _touched(
        self, touch: Touch, extents: Extents, windowed: tuple[Dimension | None, float]
    ) -> float:
        """Return the bytes of the lines of a buffer that loops over some extents touch.

        Places that differ along axes without a loop are rows apart.
        """
        free = [
            axis
            for axis, dim in enumerate(touch.dims)
            if extents.get(dim, 1) > 1 or dim is touch.unit
        ]
        groups: dict[Place, list[Place]] = {}
        for place in touch.places:
            apart = tuple(
                None if isinstance(at, int) and axis in free else _kind(at, extents)
                for axis, at in enumerate(place)
            )
            groups.setdefault(apart, []).append(place)
        total = sum(self._box(touch, places, extents, windowed) for places in groups.values())
        return min(total, max(touch.bytes, self.line))

    def _box(
        self,
        touch: Touch,
        places: list[Place],
        extents: Extents,
        windowed: tuple[Dimension | None, float],
    ) -> float:
        sides = []
        row, is_told = float(touch.item), False
        for axis, dim in enumerate(touch.dims):
            at = {place[axis] for place in places}
            offsets = [each for each in at if isinstance(each, int)]
            if len(offsets) < len(at):
                side, is_told = self._rows(at, extents, windowed), True
            else:
                side = extents.get(dim, 1) + max(offsets) - min(offsets)
            if dim is touch.unit:
                row = side * touch.item
            else:
                sides.append(side)
        # part of a row begins anywhere in a line; whole ones follow one another, or begin lines
        if row < touch.row or (is_told and touch.row % self.line):
            row += self.line - touch.item
        return row * prod(sides)

    def _rows(
        self, at: Iterable[object], extents: Extents, windowed: tuple[Dimension | None, float]
    ) -> float:
        """Return how many rows tables lead to from the rows that the loops cover."""
        ways = [each for each in at if isinstance(each, tuple)]
        if not ways:
            return prod(extents.values())  # a value tells: each iteration another row
        dim, tables, _ = ways[0]
        extent = extents.get(dim, 1)
        table = self.sizes.tables.get(tables[-1])
        if table is None or extent <= 1:
            return extent * len(set(ways))
        inside = extent / max(1.0, windowed[1]) if windowed[0] is dim else 1.0
        seen = extent / max(1.0, inside)
        return table.seen(seen, len(set(ways)), len(tables)) * max(1.0, inside)


def _kind(at: object, extents: Extents) -> int | tuple | None:  # type: ignore[type-arg]  # a place
    """Return what parts places: ways by the same tables from a loop's rows are together."""
    if isinstance(at, tuple) and extents.get(at[0], 1) > 1:
        return (at[0], at[1], ())
    return at  # type: ignore[return-value]  # an offset, a way or nothing


def _touch(recent: dict[str, float], own: Bytes) -> None:
    """Move buffers to the end of those that were touched, with the bytes touched last."""
    for name in dict.fromkeys(name for name, _ in own):
        bytes_ = max(own.get((name, stores), 0.0) for stores in (True, False))
        recent[name] = max(bytes_, recent.pop(name, 0.0))
