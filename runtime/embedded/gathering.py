"""Apply values of embedded execution to offsets: shifts, neighbours, data-dependent shifts.

A gather has values wherever all points that it reads exist, in as many pieces as needed. A missing
neighbour has none, which makes a partial field, and is NaN in a checked program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ..fields import (
    Connectivity,
    check_codomain,
    combined,
    first,
    make,
    reordered,
    replaced,
    resolved,
)
from ..language import (
    CartesianConnectivity,
    Displacement,
    Domain,
    FieldOffset,
    NamedRange,
    NeighbourOffset,
    UnitRange,
)
from ..process import ArgumentError, NonContiguousDomain
from .displacing import displaced
from .origins import MissingNeighbour
from .partial import PartialField, lack_of, lacking, origins_of, required, sure_of, value_of
from .piecewise_field import AnyValue, Piece, assembled, nothing
from .provenance import is_checking, place_of_call
from .strips import Strip, strips

MOST_RUNS: Final = 1024


def applied(value: AnyValue, *connectivities: Any) -> AnyValue:
    """Return `value(*connectivities)` with its meaning inside an operator."""
    match connectivities:
        case (Displacement(by=PartialField() as by) as displacement,):
            plain = Displacement(displacement.dim, required(by))
            return lacking(applied(value, plain), by)
        case (FieldOffset() | NeighbourOffset() | Connectivity() as given,):
            return _of_neighbours(value, given)
    if isinstance(value, PartialField):
        return value.each(lambda part: applied(part, *connectivities))
    match connectivities:
        case (Displacement() as displacement,):
            return displaced(value, displacement)
        case _ if any(isinstance(one, Displacement) for one in connectivities):
            raise ArgumentError("'as_offset' must be the only offset that a field is applied to.")
    maps = resolved(connectivities)
    if not all(isinstance(one, CartesianConnectivity) for one in maps):
        raise ArgumentError("A field is applied to one neighbour offset at a time.")
    return value(*maps)


def _of_neighbours(value: AnyValue, given: Any) -> AnyValue:
    """Gather through a table; what is missing has no value, or NaN in a checked program."""
    (table,) = resolved((given,))
    assert isinstance(table, Connectivity)  # no other map is called for
    check_codomain(value.domain, table)
    made = (
        value.each(lambda part: _gathered(part, table))
        if isinstance(value, PartialField)
        else _gathered(value, table)
    )
    valid = table.valid()
    if is_checking() or valid.all():
        return made
    missing = _missing(given, table)
    there, codes = (make(each, table.domain) for each in (valid, missing.codes()))
    lack = combined("select", there, lack_of(made), codes)
    return PartialField(value_of(made), lack, sure_of(made), (*origins_of((made,)), missing))


def _missing(given: Any, table: Connectivity) -> MissingNeighbour:
    match given:
        case NeighbourOffset():
            return MissingNeighbour(place_of_call(), given.of.value, table, given.index)
        case FieldOffset():
            return MissingNeighbour(place_of_call(), given.value, table, None)
    return MissingNeighbour(place_of_call(), table.domain.dims[-1].value, table, None)


def _gathered(value: AnyValue, table: Connectivity) -> AnyValue:
    entries, valid = table.asnumpy(), table.valid()
    found = entries[valid]
    if not found.size:
        return _without_neighbours(value, table)
    span = UnitRange(int(found.min()), int(found.max()) + 1)
    pieces = [
        piece
        for strip in strips(value, table.codomain, span)
        for piece in _rows(strip, table, entries, valid)
    ]
    if not pieces:
        dims = replaced(value.domain.dims, {table.codomain: table.domain.dims})
        return nothing(dims, value.dtype.dtype, value.domain, table.domain)
    return assembled(pieces)


def _rows(strip: Strip, table: Connectivity, entries: Any, valid: Any) -> Iterator[Piece]:
    """Yield the values of the rows whose neighbours all lie in the strip, run by run.

    Of other rows yield the slots whose neighbour lies there: a program may read one slot only.
    """
    dim = table.codomain
    axis, own = strip.domain.dim_index(dim, False), strip.domain[dim].unit_range
    places = entries - first(own)
    inside = (places >= 0) & (places < len(own))
    places = strip.places(np.where(valid & inside, places, 0))
    good = inside if strip.have is None else inside & strip.have[places]
    target = table.domain[0]
    for (start, stop), slots in _parts(good | ~valid, table):
        indices = NamedRange(target.dim, UnitRange(start, stop) + first(target.unit_range))
        local = (NamedRange(one, own[slots]) for one, own in table.domain[1:])
        domain = Domain(indices, *local)
        array = strip.array.take(places[start:stop, slots], axis=axis)
        if is_checking() and array.dtype.kind == "f":
            array = _without_missing(array, valid[start:stop, slots], axis)
        axes = strip.domain.replace(dim, *domain)
        order = replaced(strip.domain.dims, {dim: domain.dims})
        axes_in_order = Domain(*(axes[one] for one in order))
        box = {**dict(strip.box), **dict(domain)}
        yield Piece(
            Domain(*((one, box[one]) for one in order)),
            make(reordered(array, axes.dims, order), axes_in_order),
        )


def _without_missing(array: Any, valid: Any, axis: int) -> Any:
    """Put NaN where a neighbour is missing (a skip value in the table)."""
    shape = (*(1,) * axis, *valid.shape, *(1,) * (array.ndim - axis - valid.ndim))
    return np.where(valid.reshape(shape), array, np.nan).astype(array.dtype)


def _parts(good: Any, table: Connectivity) -> Iterator[tuple[tuple[int, int], Any]]:
    """Yield runs of rows, each with slots, that together are where `good` is true.

    Whole rows come first. A slot with too many runs of its own is left out.
    """
    if good.ndim == 1:
        yield from ((run, ...) for run in _few(_runs(good), table))
        return
    rows = good.all(axis=1)
    whole, others = _runs(rows), [_runs(slot & ~rows) for slot in good.T]
    if len(whole) > MOST_RUNS and any(len(_runs(slot)) <= MOST_RUNS for slot in good.T):
        whole, others = [], [_runs(slot) for slot in good.T]
    yield from ((run, slice(None)) for run in _few(whole, table))
    for slot, runs in enumerate(others):
        if len(runs) <= MOST_RUNS:
            yield from ((run, slice(slot, slot + 1)) for run in runs)


def _runs(rows: Any) -> list[tuple[int, int]]:
    """Return the stretches of true rows as pairs of start and stop."""
    edges = np.flatnonzero(np.diff(rows, prepend=False, append=False))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _few(runs: list[tuple[int, int]], table: Connectivity) -> list[tuple[int, int]]:
    if len(runs) > MOST_RUNS:
        raise NonContiguousDomain(
            f"The indices of '{table}' whose neighbours all lie in the field make "
            f"{len(runs)} separate blocks."
        )
    return runs


def _without_neighbours(value: AnyValue, table: Connectivity) -> AnyValue:
    """Gather by a table of skip values only: the result has a domain but undefined values."""
    domain = value.domain
    box = {**dict(domain), **dict(table.domain)}
    dims = replaced(domain.dims, {table.codomain: table.domain.dims})
    whole = Domain(*((dim, box[dim]) for dim in dims))
    if not table.shape[-1] and whole.is_finite():
        return make(np.zeros(whole.shape, value.dtype.dtype), whole)
    zero = np.zeros((1,) * len(dims), value.dtype.dtype)
    made = make(zero, Domain(*((dim, UnitRange.infinite()) for dim in dims)))
    return assembled([Piece(Domain(*((dim, box[dim]) for dim in dims)), made)])
