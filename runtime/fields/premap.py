"""Read an array through maps of its indices: shifts relabel, neighbour tables gather."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..language import (
    CartesianConnectivity,
    Dimension,
    Displacement,
    Domain,
    FieldOffset,
    NamedIndex,
    NeighbourOffset,
    UnitRange,
    in_canonical_order,
)
from ..process import (
    ArgumentError,
    DomainError,
    EmbeddedExecutionError,
    IndexOutOfBounds,
    NonContiguousDomain,
)
from .alignment import first, view_on
from .context import table
from .neighbour_table import Connectivity, inside

Map: TypeAlias = CartesianConnectivity | Connectivity


def resolved(given: tuple[Any, ...]) -> tuple[Map, ...]:
    """Return the maps that a field is applied to, with tables in place of their names."""
    if not given:
        raise ArgumentError("A field is applied to at least one offset such as 'I + 1'.")
    return tuple(map(_resolved, given))


def _resolved(given: Any) -> Map:
    match given:
        case CartesianConnectivity() | Connectivity():
            return given
        case NeighbourOffset():
            found = table(given.of.value)
            return _column(given.of.value, found, given.index)
        case FieldOffset() if not given.is_cartesian:
            return table(given.value)
        case FieldOffset():
            raise ArgumentError(
                f"Offset '{given.value}' is Cartesian, so it says nothing without a number.",
                hints=[f"Write '{given.value}[1]' or '{given.source.value} + 1'."],
            )
    raise ArgumentError(
        f"A field can be applied to offsets such as 'I + 1' or 'E2C[0]', got '{given}'."
    )


def _column(name: str, found: Connectivity, index: int) -> Connectivity:
    """Return a table of one neighbour each, without the local dimension."""
    width = found.shape[-1]
    if index not in found.domain.ranges[-1]:
        raise IndexOutOfBounds(
            f"Neighbour {index} of '{name}' is asked for, but the table has {width} neighbours."
        )
    column: Connectivity = found[NamedIndex(found.domain.dims[-1], index)]
    return column


def check_maps(domain: Domain, given: tuple[Any, ...]) -> None:
    """Refuse maps that cannot be applied together."""
    maps = resolved(given)
    removed = [one.codomain for one in maps]
    if len(set(removed)) != len(removed):
        names = ", ".join(dim.value for dim in removed)
        raise DomainError(f"Each connectivity must have another codomain, got '{names}'.")
    if len({isinstance(one, Connectivity) for one in maps}) > 1:
        raise DomainError("Connectivities must be all shifts or all tables, got both.")
    for one in maps:
        check_codomain(domain, one)
        for dim in one.domain.dims:
            if dim in removed and dim is not one.codomain:
                raise DomainError(
                    f"A connectivity cannot read '{dim.value}', which another one removes."
                )


def check_codomain(domain: Domain, map_: Map) -> None:
    """Refuse a map into a dimension that a field on `domain` does not have."""
    if map_.codomain not in domain.dims:
        target = ", ".join(dim.value for dim in map_.domain.dims)
        raise DomainError(
            f"Incompatible offset can not shift field defined on "
            f"'{', '.join(dim.value for dim in domain.dims)}' from '{map_.codomain.value}' to "
            f"target dim(s): '{target}'."
        )


def shifted(domain: Domain, connectivities: tuple[Any, ...]) -> Domain:
    """Return the domain of a field on `domain` after it was applied to connectivities.

    A shift relabels indices and moves no data.

    >>> I = Dimension("I")
    >>> str(shifted(Domain((I, (2, 7))), (I + 1,)))
    'Domain(I[horizontal]=(1:6))'
    """
    if not connectivities:
        raise ArgumentError("A field is applied to at least one offset such as 'I + 1'.")
    for map_ in connectivities:
        if not isinstance(map_, CartesianConnectivity):
            raise EmbeddedExecutionError(
                f"A field can be applied to Cartesian offsets such as 'I + 1', got '{map_}'.",
                hints=["Neighbour tables are not supported yet."],
            )
        check_codomain(domain, map_)
        image = map_.inverse_image(domain[map_.codomain].unit_range)
        domain = domain.replace(map_.codomain, *image)
    return domain


def gathered(array: Any, domain: Domain, maps: tuple[Map, ...]) -> tuple[Any, Domain]:
    """Return the values at the indices that tables hold, and where they live.

    Rows that lead outside `domain` are left out; the rest must be a contiguous block.
    """
    check_maps(domain, maps)
    tables = {one.codomain: one for one in maps if isinstance(one, Connectivity)}
    parts = [inside(one, domain[dim].unit_range) for dim, one in tables.items()]
    dims = replaced(domain.dims, {dim: part.dims for dim, part in zip(tables, parts, strict=True)})
    ranges: dict[Dimension, UnitRange] = {}
    for part in (*parts, Domain(*(one for one in domain if one.dim not in tables))):
        for dim, own in part:
            ranges[dim] = ranges[dim] & own if dim in ranges else own
    box = Domain(*((dim, ranges[dim]) for dim in dims))
    if box.is_empty():
        return np.zeros(box.shape, array.dtype), box
    places = tuple(_places(own_dim, own, tables.get(own_dim), box) for own_dim, own in domain)
    return array[places], box


def displaced(array: Any, domain: Domain, by: Displacement) -> tuple[Any, Domain]:
    """Return the values at i + by(i) and where they live: where the index is inside `domain`."""
    if not by.by.domain.is_finite():
        raise ArgumentError(f"'as_offset' needs a field on a finite domain here, got '{by.by}'.")
    check_codomain(domain, CartesianConnectivity(by.dim))
    dims = in_canonical_order((*domain.dims, *by.by.dims))
    ranges = dict(by.by.domain)
    for dim, indices in domain:
        if dim is not by.dim:
            ranges[dim] = ranges.get(dim, indices) & indices
    box = Domain(*((dim, ranges[dim]) for dim in dims))
    mine = domain[by.dim].unit_range
    here = Domain((by.dim, box[by.dim].unit_range))
    places = view_on(_arange(box[by.dim].unit_range), here, box) + view_on(
        by.by.asnumpy().astype(np.int64), by.by.domain, box
    )
    good = np.broadcast_to((places >= mine.start) & (places < mine.stop), box.shape)
    box, cut = _block(good, box, by)
    if box.is_empty():
        return np.zeros(box.shape, array.dtype), box
    places = np.broadcast_to(places, good.shape)[cut] - _first(mine)
    index = tuple(places if dim is by.dim else _places(dim, own, None, box) for dim, own in domain)
    return array[index], box


def _block(good: Any, box: Domain, by: Displacement) -> tuple[Domain, tuple[slice, ...]]:
    """Return the block of points where `good` is true, and its place in the array."""
    cut = []
    for axis in range(good.ndim):
        found = np.flatnonzero(good.any(axis=tuple(a for a in range(good.ndim) if a != axis)))
        cut.append(slice(int(found[0]), int(found[-1]) + 1) if len(found) else slice(0, 0))
    if not good[tuple(cut)].all():
        raise NonContiguousDomain(f"What '{by}' reads inside the field is no contiguous block.")
    return box.slice_at[tuple(cut)], tuple(cut)


def replaced(
    dims: tuple[Dimension, ...], by: dict[Dimension, tuple[Dimension, ...]]
) -> tuple[Dimension, ...]:
    """Return dimensions with some replaced in place, in canonical order if they were."""
    made = tuple(dict.fromkeys(new for dim in dims for new in by.get(dim, (dim,))))
    return in_canonical_order(made) if in_canonical_order(dims) == dims else made


def _places(dim: Dimension, own: UnitRange, map_: Connectivity | None, box: Domain) -> Any:
    """Return the indices along one axis of the array for every point of `box`, by broadcasting."""
    if map_ is None:
        wanted = box[dim].unit_range
        where = Domain((dim, wanted))
        return view_on(_arange(wanted) - _first(own), where, box)
    part = Domain(*((one, box[one].unit_range) for one in map_.dims))
    indices = view_on(map_.asnumpy(), map_.domain, part) - _first(own)
    # a missing neighbour has no value; the index read for it must only exist
    return view_on(np.where(indices < 0, 0, indices), part, box)


def _arange(indices: UnitRange) -> Any:
    return np.arange(_first(indices), _first(indices) + len(indices))


def _first(indices: UnitRange) -> int:
    return 0 if indices.is_empty() else first(indices)
