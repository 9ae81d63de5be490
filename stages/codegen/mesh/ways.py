"""How nests find elements of a mesh: the slots of tables that lead there, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ....runtime.language import Dimension
from ...ir.loops import Buffer, Load, Nest, Row
from ..schedule.discovery import TABLE, table_buffer

Way: TypeAlias = tuple[tuple[str, int], ...]


def ways(nest: Nest, arrays: Mapping[str, object]) -> list[tuple[str, Way | None]]:
    """Return how a nest finds the elements of arrays: slots of tables, one after the other.

    A way is empty if it reads its own element, and None if not only tables lead there.
    """
    loads = (row for row in nest.body if isinstance(row, Load) and row.buffer in arrays)
    return list(dict.fromkeys((load.buffer, way_of(nest, load)) for load in loads))


def way_of(nest: Nest, load: Load) -> Way | None:
    """Return the slots of tables that lead from an element of a nest to what a load reads."""
    axis = load.dims.index(nest.loops[-1].range.dim) if len(load.dims) > 1 else -1
    links: list[tuple[str, int]] = []
    inner, row, offset = next(each for place, each in enumerate(load.places) if place != axis)
    if load.when is not None or offset or (axis >= 0 and load.places[axis][1] is not None):
        return None
    while row is not None:
        link = _link(nest, row)
        if link is None:
            return None
        table, slot, row = link
        links.insert(0, (table, slot))
    return tuple(links) if links or inner is nest.loops[0].range.dim else None


def _link(nest: Nest, row: Row) -> tuple[str, int, Row | None] | None:
    """Return table, slot and the index of the row of the table that an instruction reads."""
    load = nest.body[row]
    if not isinstance(load, Load) or not load.buffer.startswith(TABLE) or load.when is not None:
        return None
    first, local = load.rows or (None, None)
    outer, slot = load.offsets
    is_own = first is not None or load.dims[0] is nest.loops[0].range.dim
    if local is not None or outer or not is_own:
        return None
    return load.buffer.removeprefix(TABLE), slot, first


def codomains(
    nests: Sequence[Nest], buffers: Mapping[str, Buffer]
) -> dict[str, tuple[Dimension, Dimension]]:
    """Return between which dimensions tables lead that the nests use, by their names."""
    links = (
        (_link(nest, index), dim)
        for nest in nests
        for load in nest.body
        if isinstance(load, Load)
        for dim, index in zip(load.dims, load.rows, strict=False)
        if index is not None
    )
    tables = ((link[0], dim) for link, dim in links if link is not None)
    return {name: (buffers[table_buffer(name)].dims[0], dim) for name, dim in tables}


def owner_of(
    dim: Dimension, last: Dimension, leads: Mapping[str, tuple[Dimension, Dimension]]
) -> tuple[str, bool]:
    """Return a table that leads to the last nest's elements, or one back; '' if there is none."""
    wanted = (((dim, last), False), ((last, dim), True))
    found = ((name, back) for ends, back in wanted for name, own in leads.items() if own == ends)
    return next(found, ("", False))
