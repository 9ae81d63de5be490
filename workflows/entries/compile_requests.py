"""Which variants `compile` and `build` ask for: by static values, neighbour tables and domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ...runtime.process import OptionError
from ...stages.artifacts import Variant
from ..variants.builds import Variants
from ..variants.call_shape import CallShape, Provider, check_names, combinations
from .decorated import CompilationOptions

Domains: TypeAlias = Mapping[Any, Any] | Sequence[Mapping[Any, Any]] | None


def requested_variants(
    name: str,
    shape: CallShape,
    options: CompilationOptions,
    offset_provider: Any,
    static: Mapping[str, Sequence[Any]],
    domains: Domains,
) -> list[tuple[Variant, Provider]]:
    """Return the variants for every combination of static values, providers and domains."""
    values = list(combinations(shape.types, static)) if static else [()]
    return [
        (shape.default(provider, each, known), provider)
        for provider in _providers(name, shape, options, offset_provider)
        for each in values
        for known in _domains(name, options, domains)
    ]


def choose_static(name: str, sets: Sequence[Variants], static: Mapping[str, Sequence[Any]]) -> None:
    """Make the parameters of `static` those whose values are compiled in, in all sets of variants.

    The choice holds for all variants: it cannot change once there is one.
    """
    for parameter, values in static.items():
        if not isinstance(values, list | tuple):
            raise TypeError(
                f"Static argument '{parameter}' of '{name}' takes a list of values, "
                f"got '{values!r}'."
            )
    shape = sets[0].shape
    names = tuple(sorted(static))
    check_names(shape.types, names, name)
    if shape.static == names:
        return
    if shape.static or sets[0].table.entries:
        chosen = ", ".join(map(repr, shape.static)) or "none"
        raise ValueError(
            f"The static parameters of '{name}' are {chosen}, got "
            f"{', '.join(map(repr, names)) or 'none'}; they are the same for all its variants."
        )
    for variants in sets:
        variants.shape.choose_static(names)


def _domains(
    name: str, options: CompilationOptions, given: Domains
) -> Sequence[Mapping[Any, Any] | None]:
    if given is None and options.static_domains:
        raise OptionError(
            f"'{name}' has static domains; 'compile' needs to know them.",
            hints=['Give them: \'compile(domains={"I": 256, "K": 80})\'.'],
        )
    return [given] if given is None or isinstance(given, Mapping) else list(given)


def _providers(
    name: str, shape: CallShape, options: CompilationOptions, given: Any
) -> list[Provider]:
    if given is None:
        given = options.connectivities
    if given is None:
        needed = [table for table, is_needed in shape.summary.tables if is_needed]
        if needed:
            raise OptionError(
                f"'{name}' reads the neighbour tables {', '.join(map(repr, needed))}.",
                hints=["Give them: 'compile(offset_provider=...)', or as 'connectivities'."],
            )
        return [None]
    return [given] if isinstance(given, Mapping) else list(given)
