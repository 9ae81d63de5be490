"""Evaluate an operator into a scratch field, for reductions of expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...runtime.fields import empty
from ...runtime.language import (
    Dimension,
    Domain,
    FieldType,
    ScalarType,
    domain as make_domain,
    leaves_of,
)
from ...runtime.process import ArgumentError, DomainError

Scratch = dict[tuple[Domain, str], list[Any]]


def evaluate(operator: Any, given: Any, arguments: Mapping[str, Any], spare: Scratch) -> Any:
    """Return a field with the result of an operator on a domain, and how to give it back.

    `spare` keeps the memory for the next call; two threads take two fields.
    """
    result = operator._variants.shape.summary.signature.result
    if not isinstance(result, FieldType) or not isinstance(result.dtype, ScalarType):
        raise ArgumentError(
            f"'{operator.__name__}' returns '{result}'; only a single field can be reduced."
        )
    domain = _domain(operator.__name__, result.dims, given, arguments)
    key = domain, result.dtype.name
    kept = spare.setdefault(key, [])
    allocator = operator.backend.allocator if operator.backend is not None else None
    out = kept.pop() if kept else empty(domain, result.dtype.name, allocator=allocator)
    operator(**arguments, out=out)
    return out, lambda: kept.append(out)


def _domain(
    name: str, dims: tuple[Dimension, ...], given: Any, arguments: Mapping[str, Any]
) -> Domain:
    """Return the domain of the result: what is given, else where all fields have values."""
    known: dict[Dimension, Any] = {} if given is None else dict(make_domain(given))
    for dim in known:
        if dim not in dims:
            raise DomainError(f"'{name}' has no dimension '{dim.value}' to reduce over.")
    for dim in dims:
        if dim not in known:
            ranges = list(_ranges(dim, arguments))
            if not ranges:
                raise DomainError(
                    f"'{name}' needs a range for '{dim.value}': no argument has it.",
                    hint=f"Give the domain, as in '{{{dim.value}: (0, 10)}}'.",
                )
            known[dim] = (max(start for start, _ in ranges), min(stop for _, stop in ranges))
    return make_domain({dim: known[dim] for dim in dims})


def _ranges(dim: Dimension, arguments: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for name, value in arguments.items():
        if name == "offset_provider":
            continue
        for _, leaf in leaves_of(value):
            domain = getattr(leaf, "domain", None)
            if domain is not None and dim in domain.dims:
                ends = domain[dim].unit_range
                yield ends.start, ends.stop
