"""What a tree of loops touches, and in which order: loops with numbers in place of bounds.

Sweeps are what `traffic` needs of a tree, whatever platform it is for: a loop has a dimension and a
count, a body has touches. `cpu_sweeps` and `gpu_sweeps` make them of nests and groups.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from math import prod
from typing import Final, TypeAlias

from ....runtime.language import Dimension, flip_staggered
from ....runtime.process import classes
from ...ir.loops import (
    ITEMSIZES,
    Access,
    Buffer,
    Choice,
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Loop,
    Nest,
    Node,
    Number,
    Range,
    Row,
    Store,
    children,
)
from ..schedule.discovery import TABLE
from .sizes import Sizes

# Rows that tables lead to: the dimension of the loop that tells the row of the first table, the
# names of the tables, and which row of each.
Way: TypeAlias = tuple[Dimension, tuple[str, ...], tuple[int, ...]]
Place: TypeAlias = tuple[int | Way | None, ...]  # by axis; None where only a value tells
CONSTANT: Final = (Constant, Number)


@classes.frozen
class Touch:
    """Where a body touches a buffer: offsets by axis, the same for each place.

    Attributes:
        buffer: its name.
        item: bytes of an element.
        dims: its dimensions.
        unit: the dimension whose elements lie side by side.
        places: each once.
        stores: whether the body writes it.
        bytes: of all its memory.
        row: bytes of all its elements along the unit dimension.
        near: its dimensions, those first whose neighbours lie next to each other; of fields a
            guess.

    """

    buffer: str
    item: int
    dims: tuple[Dimension, ...]
    unit: Dimension | None
    places: tuple[Place, ...]
    stores: bool
    bytes: float
    row: float = 0.0
    near: tuple[Dimension, ...] = ()

    def run(self, extents: Mapping[Dimension, float]) -> float:
        """Return the bytes of rows that loops, inner to outer, touch one after the other."""
        total = float(self.item)
        for dim, walked in zip(self.near, extents, strict=False):
            if dim is not walked:
                break
            total *= max(extents[dim], 1.0)
        return total

    @property
    def is_told(self) -> bool:
        """Whether tables tell where the places are."""
        return any(not isinstance(at, int) for place in self.places for at in place)


Body: TypeAlias = tuple[Touch, ...]


@classes.frozen
class Sweep:
    """Do the parts in order, `count` times along a dimension, `step` indices further each time.

    Without a dimension each part goes on along that of its own outer loop.
    """

    dim: Dimension | None
    count: float
    parts: tuple[Sweep | Body, ...]
    step: float = 1


def bodies(sweep: Sweep | Body) -> Iterator[tuple[Body, dict[Dimension, float]]]:
    """Yield each body with the indices that all loops around it cover, inner loops first."""
    if isinstance(sweep, tuple):
        yield sweep, {}
        return
    for part in sweep.parts:
        own = part.dim if isinstance(part, Sweep) and sweep.count > 1 else None
        dim = own if sweep.dim is None else sweep.dim
        for body, extents in bodies(part):
            if dim is not None:
                most = sweep.count * sweep.step
                extents[dim] = max(extents.get(dim, 1) * sweep.count, most)
            yield body, extents


def in_loops(body: Body, loops: Iterable[tuple[Dimension, float, float]]) -> Sweep:
    """Put loops around a body, outer to inner, each with its count and step."""
    made: Sweep | Body = body
    for dim, count, step in reversed(tuple(loops)):
        made = Sweep(dim, count, (made,), step)
    return made if isinstance(made, Sweep) else Sweep(None, 1, (made,))


def touches_of(nest: Nest, buffers: Mapping[str, Buffer], sizes: Sizes) -> Body:
    """Return what an iteration of a nest touches."""
    found: dict[str, dict[Place, None]] = {}
    kinds: dict[str, set[type]] = {}
    for row in nest.body:
        if isinstance(row, Access):
            kinds.setdefault(row.buffer, set()).add(type(row))
            place = _place(nest, row, len(buffers[row.buffer].dims))
            found.setdefault(row.buffer, {})[place] = None
    loops = {loop.range.dim for loop in nest.loops}
    return tuple(
        _along(_touch(buffers[name], tuple(places), kinds[name], sizes), loops)
        for name, places in found.items()
    )


def _along(touch: Touch, loops: Container[Dimension]) -> Touch:
    """Return what a nest touches over the dimensions of its loops, not their staggered ones."""
    along = {dim: other for dim in touch.dims if (other := flip_staggered(dim)) in loops}
    if not along:
        return touch
    return classes.evolve(
        touch,
        dims=tuple(along.get(dim, dim) for dim in touch.dims),
        unit=touch.unit and along.get(touch.unit, touch.unit),
        near=tuple(along.get(dim, dim) for dim in touch.near),
    )


def _touch(
    buffer: Buffer, places: tuple[Place, ...], kinds: Container[type], sizes: Sizes
) -> Touch:
    item = ITEMSIZES[buffer.dtype]
    # rows of tables have their entries side by side
    unit = buffer.dims[-1] if buffer.memory == "table" else buffer.unit
    return Touch(
        buffer.name, item, buffer.dims, unit, places, Store in kinds,
        bytes=item * prod(_extent(buffer, dim, sizes) for dim in buffer.dims),
        row=item * (1 if unit is None else _extent(buffer, unit, sizes)),
        near=tuple(reversed(buffer.order)) or _near(buffer.dims, unit),
    )  # fmt: skip


def _near(dims: tuple[Dimension, ...], unit: Dimension | None) -> tuple[Dimension, ...]:
    """Return dimensions, the one of unit stride first, then those beside it."""
    if unit is None or unit is not dims[-1]:
        return dims
    return tuple(reversed(dims))


def _extent(buffer: Buffer, dim: Dimension, sizes: Sizes) -> float:
    for range_ in buffer.box:
        if range_.dim is dim:
            return sizes.extent(range_)
    table = sizes.tables.get(buffer.name.removeprefix(TABLE))
    if buffer.memory == "table" and table is not None:
        return table.wide if dim is buffer.dims[-1] else table.rows
    start, stop = sizes.ranges.get((buffer.name, dim.value), (0, float("inf")))
    return stop - start


def _place(nest: Nest, access: Access, axes: int) -> Place:
    return tuple(
        offset if row is None else _way(nest, row, offset)
        for row, offset in access.coordinates(axes)
    )


def _way(nest: Nest, row: Row, offset: int) -> int | Way | None:
    """Return how a row tells an index: by tables, or as a loop does with an offset."""
    tables: list[str] = []
    slots: list[int] = []
    each = _without_limits(nest, row)
    while isinstance(each, Load) and each.buffer.startswith(TABLE):
        target, slot = each.places
        tables.append(each.buffer.removeprefix(TABLE))
        slots.append(slot[2])
        if target[1] is None:
            return target[0], tuple(tables), tuple(slots)
        each = _without_limits(nest, target[1])
    if not isinstance(each, Index):
        return None
    return (each.dim, tuple(tables), tuple(slots)) if tables else offset


def _without_limits(nest: Nest, row: Row) -> Instruction:
    """Return the row that tells an index, before it is kept inside a field."""
    each = nest.body[row]
    while isinstance(each, Compute):
        inner = [nest.body[arg] for arg in each.args if not isinstance(nest.body[arg], CONSTANT)]
        if not inner:
            break
        each = inner[-1]
    return each


def ran(
    node: Node, sizes: Sizes, kinds: tuple[type[Node], ...]
) -> Iterator[tuple[Node, tuple[Range, ...]]]:
    """Yield the nodes of some kinds that a call runs, each with the loops around, outer first."""
    match node:
        case Choice(when=when, then=then, otherwise=otherwise):
            yield from ran(then if sizes.value(when) else otherwise, sizes, kinds)
        case Loop(range=range_, body=body):
            for leaf, around in ran(body, sizes, kinds):
                yield leaf, (range_, *around)
        case _ if isinstance(node, kinds):
            yield node, ()
        case _:
            for child in children(node):
                yield from ran(child, sizes, kinds)
