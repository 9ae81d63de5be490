"""Calls of one function under a backend: the native program for them, or a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...runtime import _core
from ...runtime.calls import observation
from ...runtime.calls.refusals import reject
from ...runtime.language.domain import Domain
from ...runtime.language.domain import domain as make_domain
from ...runtime.language.structure import elements, leaves_of
from ...runtime.process.errors import ArgumentError, DomainError, nearest
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from ..engine.building import ENTRY, OUT
from .program_pool import pool_of
from .static_arguments import static_rows
from .variant_table import Provider, Variants
from .variants import leaf_name


def is_native(backend: Backend | None) -> bool:
    """Tell whether a backend gives entries for the native core, not Python functions."""
    if backend is None:
        return False
    stages = (stage for _, stage in backend.workflow.nodes if ENTRY in stage.provides)
    return any(issubclass(stage.provides[ENTRY], _core.Entry) for stage in stages)


class Calls:
    """Calls that go through Python, to a native program or to what else a backend gives.

    `first` is the native program, where there is one already. `guard` lets any other native
    program watch the names that the function sees.
    """

    def __init__(
        self,
        name: str,
        variants: Variants,
        first: _core.Program | None,
        guard: Callable[[_core.Program], None],
    ) -> None:
        self._name = name
        self._guard = guard if first is None else None
        self.variants = variants
        self.native = first
        if first is None and is_native(variants.backend):
            self.native = _core.Program(name, variants.parameters, variants.on_miss, reject)
        variants.add = self._add
        if self.native is not None:
            variants.drop = self.native.forget

    def __call__(
        self,
        *args: Any,
        offset_provider: Provider = None,
        enable_jit: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Call the variant for these arguments, built if need be."""
        if observation.active():
            self._observed(args, kwargs, offset_provider, enable_jit)
        elif self.native is not None:
            self.native.call(
                *args, offset_provider=offset_provider, enable_jit=enable_jit, **kwargs
            )
        else:
            self._python(args, kwargs, offset_provider, enable_jit)

    def _add(self, variant: Variant, entry: Any) -> None:
        """Hand a new entry to the native program, with the values that it is for."""
        if self.native is not None:
            known = self.variants
            rows = static_rows(known.types, known.static, variant.static)
            self.native.add(
                entry, [(known.parameters.index(name), value, same) for name, value, same in rows]
            )
            if self._guard is not None:
                self._guard(self.native)

    def _python(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        provider: Provider,
        enable_jit: bool | None,
    ) -> None:
        variants = self.variants
        named = dict(zip(variants.parameters, _ordered(variants, args, kwargs), strict=True))
        ordered = tuple(variants.with_fields(named).values())
        variant = variants.variant(ordered, {}, provider)
        variants.allow(variant, enable_jit)
        run: Callable[..., Any] = variants.entry(variant, provider)
        if variant.tables:
            run(*ordered, offset_provider=provider)
        else:
            run(*ordered)

    def _observed(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        provider: Provider,
        enable_jit: bool | None,
    ) -> None:
        """Call with everybody watching who asked for it."""
        variants = self.variants
        ordered = _ordered(variants, args, kwargs)
        variant = variants.variant(ordered, {}, provider)
        variants.allow(variant, enable_jit)
        entry = variants.entry(variant, provider)
        root = self._name, variants.backend.name if variants.backend else ""
        around = observation.compiled_call(
            entry, args, kwargs, provider, root, variant, programs=pool_of(variants)
        )
        with around:
            if self.native is not None:
                self.native.call(*args, offset_provider=provider, enable_jit=enable_jit, **kwargs)
            else:
                self._python(args, kwargs, provider, enable_jit)


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
