"""Shift the domain of a field: a shift relabels indices and moves no data."""

from __future__ import annotations

from typing import Any

from ..language.connectivity import CartesianConnectivity
from ..language.domain import Domain
from ..process.errors import ArgumentError, DomainError, EmbeddedExecutionError


def shifted(domain: Domain, connectivities: tuple[Any, ...]) -> Domain:
    """Return the domain of a field on `domain` after it was applied to connectivities.

    >>> from fieldforge.runtime.language.dimension import Dimension
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
        if map_.codomain not in domain.dims:
            names = ", ".join(dim.value for dim in domain.dims)
            raise DomainError(
                f"Incompatible offset can not shift field defined on '{names}' from "
                f"'{map_.codomain.value}' to target dim(s): '{map_.domain_dim.value}'."
            )
        image = map_.inverse_image(domain[map_.codomain].unit_range)
        domain = domain.replace(map_.codomain, *image)
    return domain
