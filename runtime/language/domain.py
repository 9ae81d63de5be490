"""Domains: the boxes of indices on which fields live, and conversions to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..process import DomainError
from .axes import Dimension, Domain, NamedRange, SliceAt, named_range
from .ranges import Infinity, RangeLike, UnitRange, unit_range

__all__ = [
    "Domain",
    "DomainLike",
    "Infinity",
    "NamedRange",
    "RangeLike",
    "SliceAt",
    "UnitRange",
    "domain",
    "domain_of_memory",
    "named_range",
    "unit_range",
]

DomainLike: TypeAlias = (
    Domain | Mapping[Dimension, RangeLike] | Sequence[tuple[Dimension, RangeLike]]
)

MOST: Final = 2**38  # loops add offsets, tiles and what lies beyond every index to it


def domain(given: DomainLike) -> Domain:
    """Make a domain of a mapping `{dim: range}`, of pairs, or of a domain.

    Each range is anything that `unit_range` takes.

    >>> str(domain({Dimension("I"): (-1, 5), Dimension("J"): 3}))
    'Domain(I[horizontal]=(-1:5), J[horizontal]=(0:3))'
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


def domain_of_memory(given: DomainLike) -> Domain:
    """Make the domain of an array: no index is so large that arithmetic on bounds could overflow.

    Raises:
        DomainError: an index lies beyond -2**38 or 2**38.

    >>> str(domain_of_memory({Dimension("I"): (2**38 - 3, 2**38)}))
    'Domain(I[horizontal]=(274877906941:274877906944))'
    """
    made = domain(given)
    for dim, own in made:
        for bound in (own.start, own.stop):
            if isinstance(bound, int) and abs(bound) > MOST:
                raise DomainError(
                    f"The indices of a field must lie between -2**38 and 2**38, but those along "
                    f"'{dim.value}' are {own.start}:{own.stop}."
                )
    return made
