"""Walk a tree of loops for a CPU with real addresses through caches of several sizes.

It shares nothing with the predictions: it runs each loop with the indices of the generated code, on
one thread, in strips of `LANES` points, and keeps the lines that were touched last.
"""

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

import attrs

from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.codegen.plan.sizes import Sizes
from fieldforge.stages.ir.loops import ITEMSIZES, Tiles, marks_of
from fieldforge.stages.ir.loops.buffers import Buffer
from fieldforge.stages.ir.loops.kernel import Choice, Kernel, Node
from fieldforge.stages.ir.loops.nest import (
    Access,
    Compute,
    Constant,
    Index,
    Load,
    Nest,
    Number,
    Row,
)
from fieldforge.stages.ir.loops.traverse import children

LINE: Final = 64
LANES: Final = 8
FAR: Final = 1 << 24  # lines from buffer to buffer
At = dict[Dimension, int]
COMPUTE: Final[Mapping[str, Callable[..., int]]] = {
    "cast": int, "minimum": min, "maximum": max, "add": operator.add, "sub": operator.sub,
    "ge": operator.ge, "lt": operator.lt, "ne": operator.ne, "eq": operator.eq,
    "where": lambda condition, one, other: one if condition else other,
}  # fmt: skip


@attrs.define
class Cache:
    """Lines that were touched last; `fetched` counts those that came from beyond."""

    capacity: int
    lines: OrderedDict[int, None] = attrs.field(factory=OrderedDict)
    fetched: int = 0

    def touch(self, line: int) -> None:
        """Touch a line."""
        if line in self.lines:
            self.lines.move_to_end(line)
            return
        self.fetched += 1
        self.lines[line] = None
        if len(self.lines) * LINE > self.capacity:
            self.lines.popitem(last=False)


@attrs.define
class Walk:
    """A kernel on its way through caches; `tables` have the rows of neighbour tables."""

    kernel: Kernel
    sizes: Sizes
    tables: Mapping[str, Any]
    caches: Sequence[Cache]
    _last: int = -1
    _places: dict[str, tuple[int, Mapping[Dimension, tuple[int, int]]]] = attrs.field(factory=dict)

    def fetched(self) -> list[int]:
        """Return the bytes that each cache fetches in a call that follows another one."""
        for _ in range(2):
            for cache in self.caches:
                cache.fetched = 0
            for step in self.kernel.steps:
                self.run(step.body)
        return [LINE * cache.fetched for cache in self.caches]

    def run(self, node: Node) -> None:
        """Run a node."""
        match node:
            case Choice():
                self.run(node.then if self.sizes.value(node.when) else node.otherwise)
            case Nest():
                self.nest(node)
            case Tiles():
                self.tiles(node)
            case _:
                for child in children(node):
                    self.run(child)

    def nest(self, nest: Nest) -> None:
        """Run a nest, which may march through blocks of rows."""
        bounds = [self.indices(loop) for loop in nest.loops]
        march = marks_of(nest).march
        if not march or len(bounds) < 3:
            self.loops(nest, bounds, {})
            return
        planes, rows, row = bounds
        high = max(8, march // nest.loops[1].step // max(1, len(row)))
        for first in range(0, len(rows), high):
            self.loops(nest, [planes, rows[first : first + high], row], {})

    def indices(self, loop: Any) -> range:
        """Return the indices of a loop."""
        start, stop = (self.sizes.value(end) for end in (loop.range.start, loop.range.stop))
        return range(start, max(start, stop), loop.step)

    def loops(self, nest: Nest, bounds: Sequence[range], first: At) -> None:
        """Run loops over some indices; `first` are those of tiles."""
        accesses = [
            (number, row) for number, row in enumerate(nest.body) if isinstance(row, Access)
        ]
        *outer, inner = bounds or [range(1)]
        dims = [loop.range.dim for loop in nest.loops]
        for indices in product(*outer):
            at = dict(zip(dims, indices, strict=False))
            for begin in range(inner.start, inner.stop, LANES):
                lanes = range(begin, min(begin + LANES, inner.stop))
                for _, access in accesses:
                    for lane in lanes if dims else (0,):
                        if dims:
                            at[dims[-1]] = lane
                        self.access(nest, access, at, first)

    def access(self, nest: Nest, access: Access, at: At, first: At) -> None:
        """Touch the line of an access."""
        base, strides = self.place_of(access.buffer, first)
        buffer = self.buffer(access.buffer)
        where = base
        for dim, (row, offset) in zip(
            buffer.dims, access.coordinates(len(buffer.dims)), strict=True
        ):
            index = self.value(nest, row, at) + offset if row is not None else None
            index = at.get(dim, 0) + offset if index is None else index
            stride, start = strides[dim]
            index -= start
            if buffer.ring is dim:
                index %= self.sizes.extent(next(r for r in buffer.box if r.dim is dim))
            where += index * stride
        line = where // LINE
        if line != self._last:
            self._last = line
            for cache in self.caches:
                cache.touch(line)

    def value(self, nest: Nest, row: Row, at: At) -> int:
        """Return the index that a row has."""
        each = nest.body[row]
        match each:
            case Index():
                return at[each.dim]
            case Constant():
                return int(each.text)
            case Number():
                return self.sizes.value(each.bound)
            case Compute():
                return COMPUTE[each.op](*(self.value(nest, arg, at) for arg in each.args))
        assert isinstance(each, Load)
        (dim, told, offset), (_, _, slot) = each.places
        index = at[dim] + offset if told is None else self.value(nest, told, at) + offset
        return int(self.tables[each.buffer.removeprefix("table ")][index, slot])

    def buffer(self, name: str) -> Buffer:
        """Return a buffer by its name."""
        return next(buffer for buffer in self.kernel.buffers if buffer.name == name)

    def place_of(self, name: str, first: At) -> tuple[int, Mapping[Dimension, tuple[int, int]]]:
        """Return the first byte of a buffer, and by dimension its stride and first index."""
        if name not in self._places:
            buffer = self.buffer(name)
            number = [each.name for each in self.kernel.buffers].index(name)
            self._places[name] = (FAR * LINE * (number + 1), dict(self._strides(buffer)))
        base, strides = self._places[name]
        if self.buffer(name).memory == "tile":
            ring = self.buffer(name).ring
            strides = {
                dim: (stride, start + first.get(dim, 0) * (dim is not ring))
                for dim, (stride, start) in strides.items()
            }
        return base, strides

    def _strides(self, buffer: Buffer) -> Iterator[tuple[Dimension, tuple[int, int]]]:
        inner = buffer.dims[-1] if buffer.memory == "table" else buffer.unit
        order = [dim for dim in buffer.order or buffer.dims if dim is not inner]
        stride = ITEMSIZES[buffer.dtype]
        for dim in ([inner] if inner else []) + list(reversed(order)):
            start, stop = self.range_of(buffer, dim)
            yield dim, (stride, start)
            stride *= max(1, stop - start)

    def range_of(self, buffer: Buffer, dim: Dimension) -> tuple[int, int]:
        """Return the indices of a buffer along a dimension."""
        for range_ in buffer.box:
            if range_.dim is dim:
                return self.sizes.value(range_.start), self.sizes.value(range_.stop)
        if buffer.memory == "table":
            rows, wide = self.tables[buffer.name.removeprefix("table ")].shape
            return (0, wide) if dim is buffer.dims[-1] else (0, rows)
        return self.sizes.ranges[(buffer.name, dim.value)]

    def tiles(self, tiles: Tiles) -> None:
        """Run tile after tile, with nests in turn row by row where the tile is rolled."""
        ends = [
            (self.sizes.value(c.range.start), self.sizes.value(c.range.stop)) for c in tiles.cuts
        ]
        starts = [
            range(start, stop, cut.size)
            for cut, (start, stop) in zip(tiles.cuts, ends, strict=True)
        ]
        for corner in product(*starts):
            first = dict(zip((cut.range.dim for cut in tiles.cuts), corner, strict=True))
            pieces = {
                cut.range.dim: (begin, min(begin + cut.size, stop))
                for cut, begin, (_, stop) in zip(tiles.cuts, corner, ends, strict=True)
            }
            self._tile(tiles, pieces, first)

    def _tile(self, tiles: Tiles, pieces: Mapping[Dimension, tuple[int, int]], first: At) -> None:
        runs: list[tuple[int, Callable[[], None]]] = []
        for place, member in enumerate(tiles.members):
            margins = dict(zip(pieces, member.margins, strict=True))
            bounds = []
            for loop in member.nest.loops:
                dim, own = loop.range.dim, self.indices(loop)
                if dim in pieces:
                    (begin, end), (before, beyond) = pieces[dim], margins[dim]
                    own = range(begin - before, end + beyond, loop.step)
                bounds.append(own)
            dims = [loop.range.dim for loop in member.nest.loops]
            if tiles.rolled is None:
                self.loops(member.nest, bounds, first)
                continue
            axis, beyond = dims.index(tiles.rolled), margins[tiles.rolled][1]
            for row in bounds[axis]:
                one = [*bounds[:axis], range(row, row + 1), *bounds[axis + 1 :]]
                order = (row - beyond) * len(tiles.members) + place
                runs.append((order, lambda n=member.nest, b=one: self.loops(n, b, first)))  # type: ignore[misc]
        for _, run in sorted(runs, key=lambda pair: pair[0]):
            run()
