"""Domains: the box of indices on which a field lives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import attrs

from ..process.errors import DomainError
from .dimension import Dimension, in_canonical_order
from .ranges import Infinity, RangeLike, UnitRange, unit_range

__all__ = [
    "Domain",
    "DomainLike",
    "Infinity",
    "NamedRange",
    "RangeLike",
    "UnitRange",
    "domain",
    "named_range",
    "unit_range",
]


class NamedRange(NamedTuple):
    """A range of indices along a dimension."""

    dim: Dimension
    unit_range: UnitRange

    def __str__(self) -> str:
        return f"{self.dim}={self.unit_range}"


def named_range(given: tuple[Dimension, RangeLike]) -> NamedRange:
    """Make a `NamedRange` of a pair of a dimension and anything that `unit_range` takes."""
    match given:
        case NamedRange(Dimension(), UnitRange()):
            return given
        case (Dimension() as dim, indices):
            return NamedRange(dim, unit_range(indices))
    raise DomainError(f"Expected a pair of a dimension and a range, got '{given!r}'.")


@attrs.frozen(init=False, repr=False)
class Domain(Sequence[NamedRange]):
    """A box of indices: a range for each of some dimensions, in the order given.

    >>> I, J = Dimension("I"), Dimension("J")
    >>> box = domain({I: 4, J: (1, 3)})
    >>> box.shape, str(box[J]), str(box.slice_at[1:-1, :] & (J < 2))
    ((4, 2), 'J[horizontal]=(1:3)', 'Domain(I[horizontal]=(1:3), J[horizontal]=(1:2))')
    """

    dims: tuple[Dimension, ...]
    ranges: tuple[UnitRange, ...]

    def __init__(
        self,
        *args: tuple[Dimension, RangeLike],
        dims: Sequence[Dimension] | None = None,
        ranges: Sequence[RangeLike] | None = None,
    ) -> None:
        if args:
            if dims is not None or ranges is not None:
                raise DomainError("Expected named ranges, or 'dims' and 'ranges', not both.")
            pairs = tuple(map(named_range, args))
        else:
            dims, ranges = dims or (), ranges or ()
            if len(dims) != len(ranges):
                raise DomainError(
                    f"Expected a range for each dimension, got {len(dims)} dimensions and "
                    f"{len(ranges)} ranges."
                )
            pairs = tuple(map(named_range, zip(dims, ranges, strict=True)))
        found = tuple(dim for dim, _ in pairs)
        if len(set(found)) != len(found):
            names = ", ".join(map(str, found))
            raise NotImplementedError(f"A domain names each dimension once, got '{names}'.")
        self.__attrs_init__(found, tuple(indices for _, indices in pairs))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of indices along each dimension."""
        return tuple(map(len, self.ranges))

    @property
    def size(self) -> int | None:
        """The number of points, None if it is infinite."""
        return math.prod(self.shape) if self.is_finite() else None

    @property
    def slice_at(self) -> SliceAt:
        """Cut by relative slices, one for each dimension: `box.slice_at[1:-1, :]`."""
        return SliceAt(self)

    def is_finite(self) -> bool:
        """Say whether every range is finite."""
        return all(indices.is_finite() for indices in self.ranges)

    def is_empty(self) -> bool:
        """Say whether the domain has no point."""
        return any(indices.is_empty() for indices in self.ranges)

    def __len__(self) -> int:
        return len(self.dims)

    def __iter__(self) -> Iterator[NamedRange]:
        return map(NamedRange, self.dims, self.ranges)

    def __contains__(self, value: object) -> bool:
        return value in self.dims if isinstance(value, Dimension) else value in tuple(self)

    @overload
    def __getitem__(self, index: int | Dimension) -> NamedRange: ...
    @overload
    def __getitem__(self, index: slice) -> Domain: ...
    def __getitem__(self, index: int | slice | Dimension) -> NamedRange | Domain:
        if isinstance(index, slice):
            return Domain(dims=self.dims[index], ranges=self.ranges[index])
        if isinstance(index, Dimension | str):
            place = None if isinstance(index, str) else self.dim_index(index)
            if place is None:
                raise KeyError(f"No dimension '{index}' in '{self}'.")
            index = place
        return NamedRange(self.dims[index], self.ranges[index])

    def __and__(self, other: Domain) -> Domain:
        if not isinstance(other, Domain):
            return NotImplemented
        met = dict(self)
        for dim, indices in other:
            met[dim] = met[dim] & indices if dim in met else indices
        dims = in_canonical_order(met)
        return Domain(dims=dims, ranges=[met[dim] for dim in dims])

    def __or__(self, other: Domain) -> Domain:
        if not isinstance(other, Domain):
            return NotImplemented
        if not (self.ndim == other.ndim == 1 and self.dims == other.dims):
            raise NotImplementedError(
                f"Only domains along one and the same dimension have a union, got '{self}' "
                f"and '{other}'."
            )
        (a,), (b,) = self.ranges, other.ranges
        if a.is_empty() or b.is_empty():
            return other if a.is_empty() else self
        if a.start > b.stop or b.start > a.stop:
            raise NotImplementedError(f"The union of '{self}' and '{other}' has a hole.")
        hull = UnitRange(min(a.start, b.start), max(a.stop, b.stop))
        return Domain(dims=self.dims, ranges=(hull,))

    @overload
    def dim_index(self, dim: Dimension, allow_missing: Literal[False]) -> int: ...
    @overload
    def dim_index(self, dim: Dimension, allow_missing: bool = True) -> int | None: ...
    def dim_index(self, dim: Dimension, allow_missing: bool = True) -> int | None:
        """Return the place of a dimension; None if it is absent, unless that is an error."""
        for place, mine in enumerate(self.dims):
            if mine is dim:
                return place
        if allow_missing:
            return None
        raise DomainError(f"No dimension '{dim}' in '{self}'.")

    def pop(self, index: int | Dimension = -1) -> Domain:
        """Return the domain without one of its dimensions."""
        return self.replace(index)

    def insert(self, index: int | Dimension, *named_ranges: NamedRange) -> Domain:
        """Return the domain with ranges added before a place or a dimension."""
        place = self.dim_index(index, False) if isinstance(index, Dimension) else index
        pairs = tuple(self)
        return Domain(*pairs[:place], *named_ranges, *pairs[place:])

    def replace(self, index: int | Dimension, *named_ranges: NamedRange) -> Domain:
        """Return the domain with one dimension replaced by none, one or several."""
        place = self.dim_index(index, False) if isinstance(index, Dimension) else index
        if not -self.ndim <= place < self.ndim:
            raise DomainError(f"Place {place} is outside '{self}'.")
        pairs, place = tuple(self), place % self.ndim
        return Domain(*pairs[:place], *named_ranges, *pairs[place + 1 :])

    def __str__(self) -> str:
        return f"Domain({', '.join(map(str, self))})"

    __repr__ = __str__


@attrs.frozen
class SliceAt:
    """What `Domain.slice_at` gives: it waits for one relative slice per dimension."""

    of: Domain

    def __getitem__(self, slices: slice | tuple[slice, ...]) -> Domain:
        given = slices if isinstance(slices, tuple) else (slices,)
        if not all(isinstance(one, slice) for one in given):
            raise DomainError(f"Expected slices, got '{given!r}'.")
        if len(given) != self.of.ndim:
            raise DomainError(f"Expected {self.of.ndim} slices for '{self.of}', got {len(given)}.")
        cut = [indices[one] for indices, one in zip(self.of.ranges, given, strict=True)]
        return Domain(dims=self.of.dims, ranges=cut)


DomainLike: TypeAlias = (
    Domain | Mapping[Dimension, RangeLike] | Sequence[tuple[Dimension, RangeLike]]
)


def domain(given: DomainLike) -> Domain:
    """Make a domain of a mapping `{dim: range}`, of pairs, or of a domain.

    Each range is anything that `unit_range` takes.
    """
    pairs: Any = given
    if isinstance(given, Domain):
        return given
    if isinstance(given, Mapping):
        pairs = tuple(given.items())
    elif isinstance(given, NamedRange):
        pairs = (given,)
    if isinstance(pairs, Sequence) and not isinstance(pairs, str):
        return Domain(*pairs)
    raise DomainError(f"Expected a domain, or a range for each dimension, got '{given!r}'.")
