"""Calls that go through Python: the reference backend, and the `domain=` of an operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..runtime import _core
from ..runtime.domain import Domain
from ..runtime.domain import domain as make_domain
from ..runtime.errors import ArgumentError, DomainError, nearest
from ..runtime.structure import elements, leaves_of
from .backend import Backend
from .building import ENTRY, OUT, Variants
from .variants import leaf_name, variant_of


def is_native(backend: Backend | None) -> bool:
    """Tell whether a backend gives entries for the native core, not Python functions."""
    if backend is None:
        return False
    stages = (stage for _, stage in backend.workflow.nodes if ENTRY in stage.provides)
    return any(issubclass(stage.provides[ENTRY], _core.Entry) for stage in stages)


def call_python(
    variants: Variants,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    enable_jit: bool | None,
) -> None:
    """Call the variant for these arguments, built if need be."""
    given = _ordered(variants, args, kwargs)
    variant = variant_of(variants.parameters, given, {})
    variants.allow(variant, enable_jit)
    variants.entry(variant)(*given)


def _ordered(
    variants: Variants, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, ...]:
    names = variants.parameters
    if len(args) > len(names):
        raise ArgumentError(
            f"Function takes {len(names)} positional arguments, but {len(args)} were given."
        )
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in given:
            raise ArgumentError(f"Argument '{name}' is given by position and by keyword.")
        if name not in names:
            close = nearest(name, names)
            raise ArgumentError(
                f"Got an unexpected keyword argument '{name}'.",
                hints=[f"Did you mean '{close}'?"] if close else [],
            )
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise ArgumentError(f"Missing argument '{missing[0]}'.")
    return tuple(given[name] for name in names)


def domain_scalars(out: Any, domain: Any) -> dict[str, int]:
    """Return the bounds of `domain=` under the names of their scalars."""
    found = {}
    for path, leaf in leaves_of(out):
        name, box = leaf_name(OUT, path), make_domain(_domain_at(domain, path))
        dims = tuple(getattr(leaf, "dims", ()))
        if set(box.dims) != set(dims):
            raise DomainError(
                f"Dimensions in out field and field domain are not equivalent: '{name}' has "
                f"'{_names(dims)}', the domain '{_names(box.dims)}'."
            )
        for dim in dims:
            bounds = box[dim].unit_range
            found[f"domain.{name}.{dim.value}.start"] = bounds.start
            found[f"domain.{name}.{dim.value}.stop"] = bounds.stop
    return found


def _domain_at(domain: Any, path: tuple[int, ...]) -> Any:
    """Follow a path into a tuple of domains; a single one is that of every leaf."""
    for index in path:
        parts = None if isinstance(domain, Domain | Mapping) else elements(domain)
        if parts is None or not all(_is_domain(part) for part in parts):
            return domain
        if index >= len(parts):
            raise DomainError(f"Expected a domain for each element of 'out', got {len(parts)}.")
        domain = parts[index]
    return domain


def _is_domain(value: Any) -> bool:
    parts = elements(value)
    return isinstance(value, Domain | Mapping) or (
        parts is not None and bool(parts) and all(_is_domain(part) for part in parts)
    )


def _names(dims: Iterator[Any] | tuple[Any, ...]) -> str:
    return ", ".join(dim.value for dim in dims)
