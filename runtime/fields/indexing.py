"""The meaning of `field[...]`: relative and absolute indices, which are never clipped."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

from ..language import Dimension, Domain, NamedIndex, NamedRange, UnitRange
from ..process import IndexOutOfBounds
from .alignment import first

Place: TypeAlias = int | slice  # into the array: counted from the first element, never negative


def resolve(domain: Domain, index: Any) -> tuple[tuple[Place, ...], Domain]:
    """Translate an index of a field on `domain` to one of its array, and the domain that is left.

    >>> I, J = Dimension("I"), Dimension("J")
    >>> box = Domain((I, (2, 7)), (J, (0, 3)))
    >>> resolve(box, (slice(1, -1), -1))
    ((slice(1, 4, None), 2), Domain(I[horizontal]=(3:6)))
    >>> resolve(box, I(5))
    ((3, slice(0, 3, None)), Domain(J[horizontal]=(0:3)))
    """
    places = _absolute(domain, index) if _is_absolute(index) else _relative(domain, index)
    kept = [(dim, _moved(own, at)) for (dim, own), at in zip(domain, places, strict=True)]
    return places, Domain(*((dim, indices) for dim, indices in kept if indices is not None))


def _moved(own: UnitRange, place: Place) -> UnitRange | None:
    if not isinstance(place, slice):
        return None
    return UnitRange(own.start + place.start, own.start + place.stop)


# --- relative: numbers and slices, counted from the first element or, if negative, the last -----


def _relative(domain: Domain, index: Any) -> tuple[Place, ...]:
    given = index if isinstance(index, tuple) else (index,)
    dots = [place for place, one in enumerate(given) if one is Ellipsis]
    if len(dots) > 1:
        raise IndexOutOfBounds(f"An index holds '...' at most once, got {index!r}.")
    missing = domain.ndim - len(given) + len(dots)
    if missing < 0:
        raise IndexOutOfBounds(
            f"Too many indices for a field with {domain.ndim} dimensions, got {len(given)}."
        )
    split = dots[0] if dots else len(given)
    full = (*given[:split], *([slice(None)] * missing), *given[split + len(dots) :])
    return tuple(
        _relative_place(dim, own, one) for (dim, own), one in zip(domain, full, strict=True)
    )


def _relative_place(dim: Dimension, own: UnitRange, index: Any) -> Place:
    extent = len(own)
    if isinstance(index, slice):
        _check_step(index)
        start = 0 if index.start is None else _from_first(index.start, extent)
        stop = extent if index.stop is None else _from_first(index.stop, extent)
        if not (0 <= start <= extent and 0 <= stop <= extent):
            raise _outside(f"Slice '{_text(index)}'", dim, own)
        return slice(start, max(start, stop))
    place = _from_first(index, extent)
    if not 0 <= place < extent:
        raise _outside(f"Index {index}", dim, own)
    return place


def _from_first(index: Any, extent: int) -> int:
    if isinstance(index, bool) or not hasattr(index, "__index__"):
        raise IndexOutOfBounds(
            f"Expected an integer, a slice or an index such as 'I(1)', got {index!r}."
        )
    place = operator.index(index)
    return place + extent if place < 0 else place


# --- absolute: indices and ranges of named dimensions, in domain coordinates --------------------


def _is_absolute(index: Any) -> bool:
    if isinstance(index, NamedIndex | NamedRange | Domain):
        return True
    if isinstance(index, slice):
        return isinstance(index.start, NamedIndex) or isinstance(index.stop, NamedIndex)
    return isinstance(index, tuple) and any(map(_is_absolute, index))


def _absolute(domain: Domain, index: Any) -> tuple[Place, ...]:
    given = index if isinstance(index, tuple | Domain) else (index,)
    if isinstance(index, NamedIndex | NamedRange):
        given = (index,)
    places: dict[Dimension, Place] = {}
    for one in given:
        if one is Ellipsis or one == slice(None):
            continue  # `u[I(2), :]`: the whole range of the other dimensions
        if not _is_absolute(one):
            raise IndexOutOfBounds(
                f"Relative and absolute indices cannot be mixed, got {one!r} beside a named index."
            )
        dim, wanted = _named(one)
        if dim in places:
            raise IndexOutOfBounds(f"Dimension '{dim}' is indexed twice.")
        if dim not in domain.dims:
            raise IndexOutOfBounds(f"There is no dimension '{dim}' in '{domain}' to index.")
        places[dim] = _absolute_place(dim, domain[dim].unit_range, wanted)
    return tuple(places.get(dim, slice(0, len(own))) for dim, own in domain)


def _named(one: Any) -> tuple[Dimension, Any]:
    if not isinstance(one, slice):
        dim, wanted = one
        return dim, wanted
    _check_step(one)
    ends = [end for end in (one.start, one.stop) if end is not None]
    if not all(isinstance(end, NamedIndex) for end in ends) or len({e.dim for e in ends}) != 1:
        raise IndexOutOfBounds(
            f"Both ends of a slice must be indices of one dimension, got '{_text(one)}'."
        )
    return ends[0].dim, slice(*(end and end.value for end in (one.start, one.stop)))


def _absolute_place(dim: Dimension, own: UnitRange, wanted: Any) -> Place:
    if isinstance(wanted, int):
        if wanted not in own:
            raise _outside(f"Index {wanted}", dim, own)
        return wanted - first(own)
    start = own.start if wanted.start is None else wanted.start
    stop = own.stop if wanted.stop is None else wanted.stop
    if stop <= start:
        return slice(0, 0)
    if start < own.start or stop > own.stop:
        raise _outside(f"Range ({start}:{stop})", dim, own)
    return slice(start - first(own), stop - first(own))


def _check_step(one: slice) -> None:
    if one.step not in (None, 1):
        raise IndexOutOfBounds(f"The step of a slice must be 1, got {one.step!r}.")


def _outside(what: str, dim: Dimension, own: UnitRange) -> IndexOutOfBounds:
    return IndexOutOfBounds(
        f"{what} of dimension '{dim}' is outside {own}; it has {len(own)} points."
    )


def _text(one: slice) -> str:
    return ":".join("" if end is None else str(end) for end in (one.start, one.stop))
