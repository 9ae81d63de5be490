"""Domains: the boxes of indices on which fields live, and conversions to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..process.errors import DomainError
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
    "named_range",
    "unit_range",
]

DomainLike: TypeAlias = (
    Domain | Mapping[Dimension, RangeLike] | Sequence[tuple[Dimension, RangeLike]]
)


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
