"""The `domain=` of an operator call: which domain each output is written on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..process import DomainError
from .dimension import Dimension
from .domain import Domain, domain as make_domain
from .structure import elements


def domain_at(domain: Any, path: tuple[int, ...]) -> Any:
    """Return the domain of the output leaf at `path`; a single domain is that of every leaf.

    >>> domain_at(({"I": 3}, {"I": 4}), (1,))
    {'I': 4}
    """
    for index in path:
        if not _is_tuple_of_domains(domain):
            break
        parts = elements(domain) or ()
        if index >= len(parts):
            raise DomainError(f"Expected a domain for each element of 'out', got {len(parts)}.")
        domain = parts[index]
    if _is_tuple_of_domains(domain):
        raise DomainError("Expected as many levels of tuples in 'domain' as in 'out', got more.")
    return domain


def written_domain(name: str, dims: Sequence[Dimension], domain: Any) -> Domain:
    """Return `domain` with its dimensions in the order of the output that it is for.

    Raises:
        DomainError: the output has other dimensions.

    """
    wanted = make_domain(domain)
    if set(wanted.dims) != set(dims) or wanted.ndim == 0:
        raise DomainError(
            f"Dimensions in out field and field domain are not equivalent: '{name}' has "
            f"'{_names(dims)}', the domain '{_names(wanted.dims)}'."
        )
    return Domain(*((dim, wanted[dim].unit_range) for dim in dims))


def _is_tuple_of_domains(domain: Any) -> bool:
    parts = None if isinstance(domain, Domain | Mapping) else elements(domain)
    return bool(parts) and all(
        isinstance(part, Domain | Mapping) or _is_tuple_of_domains(part) for part in parts or ()
    )


def _names(dims: Sequence[Dimension]) -> str:
    return ", ".join(dim.value for dim in dims)
