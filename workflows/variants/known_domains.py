"""Domains that are compiled in: from the fields of a call, or from the arguments of `compile`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ...runtime.language import Dimension, FieldType, Type, domain as make_domain, leaves, leaves_of
from ...runtime.process import ArgumentError, DomainError, did_you_mean
from .naming import leaf_name

KnownRanges: TypeAlias = tuple[tuple[str, str, int, int], ...]  # leaf, dimension, start, stop
Parameters: TypeAlias = Iterable[tuple[str, Type]]


def ranges_of(parameters: Sequence[str], given: Mapping[str, Any]) -> KnownRanges:
    """Return the ranges of every field among the arguments of a call."""
    return tuple(
        (leaf_name(name, path), dim.value, start, stop)
        for name in parameters
        for path, leaf in leaves_of(given.get(name))
        for dim, start, stop in zip(
            *(getattr(leaf, each, ()) for each in ("dims", "starts", "stops")), strict=True
        )
    )


def ranges_told(program: str, parameters: Parameters, told: Mapping[Any, Any]) -> KnownRanges:
    """Return the ranges of all fields of a program, from the `domains` that a person gives.

    Extents or ranges by dimension hold for all fields, a domain by parameter for that field.

    >>> from fieldforge.runtime.language.types import ScalarType
    >>> line = FieldType((Dimension("I"),), ScalarType("float64"))
    >>> ranges_told("p", [("u", line), ("out", line)], {"I": 8, "u": {"I": (-1, 9)}})
    (('u', 'I', -1, 9), ('out', 'I', 0, 8))
    """
    found = list(_fields(parameters))
    names = {name for name, _, _ in found}
    dims = {dim.value: dim for _, _, field in found for dim in field.dims}
    known = {str(getattr(key, "value", key)): value for key, value in told.items()}
    for key in known:
        _check_key(program, key, names, dims)
    return tuple(
        (leaf, dim.value, *_ends(program, name, dim, known))
        for name, leaf, field in found
        for dim in field.dims
    )


def _fields(parameters: Parameters) -> Iterator[tuple[str, str, FieldType]]:
    for name, type_ in parameters:
        for path, leaf in leaves(type_):
            if isinstance(leaf, FieldType):
                yield name, leaf_name(name, path), leaf


def _check_key(program: str, key: str, names: set[str], dims: Mapping[str, Dimension]) -> None:
    if key not in names and key not in dims:
        raise ArgumentError(
            f"'{program}' has neither a field nor a dimension '{key}'.",
            hint=did_you_mean(key, [*sorted(names), *sorted(dims)]),
        )


def _ends(program: str, name: str, dim: Dimension, known: Mapping[str, Any]) -> tuple[int, int]:
    own = {} if name not in known else _by_dimension(name, known[name])
    if dim.value not in own and dim.value not in known:
        raise ArgumentError(
            f"The range of '{name}' along '{dim.value}' is not given, so '{program}' cannot be "
            "compiled for it.",
            hint=f"Give its extent: 'domains={{\"{dim.value}\": ...}}'.",
        )
    said = own.get(dim.value, known.get(dim.value))
    try:
        found = make_domain({dim: said})[dim].unit_range
    except DomainError as error:
        raise ArgumentError(
            f"Expected the extent or the range of '{name}' along '{dim.value}', got '{said}'."
        ) from error
    if not (isinstance(found.start, int) and isinstance(found.stop, int)):
        raise ArgumentError(f"The range of '{name}' along '{dim.value}' has no end.")
    return found.start, found.stop


def _by_dimension(name: str, said: Any) -> dict[str, Any]:
    """Return ranges by the names of dimensions; `said` is a field, a domain or a mapping."""
    said = getattr(said, "domain", said)
    try:
        pairs = said.items() if isinstance(said, Mapping) else iter(make_domain(said))
        return {str(getattr(dim, "value", dim)): range_ for dim, range_ in pairs}
    except (DomainError, TypeError, ValueError) as error:
        raise ArgumentError(f"Expected a domain for '{name}', got '{said}'.") from error
