"""What a person can choose about the variants of a function, and about its grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ...runtime.process.errors import OptionError


@attrs.frozen
class CompilationOptions:
    """How variants come about; `enable_jit=None` takes the setting of the process.

    Attributes:
        enable_jit: whether a call compiles what it misses.
        static_params: parameters whose values are compiled in.
        static_domains: whether the domains of all fields are compiled in; then every other
            domain is another variant. `compile(domains=...)` does it for some domains only.
        connectivities: neighbour tables that `compile` takes when it is given none.
        build_budget: seconds that a build may take before a warning names what took them; None
            takes the setting of the process.

    """

    enable_jit: bool | None = None
    static_params: tuple[str, ...] | None = None
    static_domains: bool = False
    connectivities: Mapping[str, Any] | None = None
    build_budget: float | None = None


def changed_options(options: CompilationOptions, changes: Mapping[str, Any]) -> CompilationOptions:
    """Return the options with some of them changed; an unknown one is an error."""
    known = [field.name for field in attrs.fields(CompilationOptions)]
    for name in changes:
        if name not in known:
            raise OptionError(f"There is no compilation option '{name}'.", name=name, known=known)
    named = changes.get("static_params")
    if named is not None:
        changes = {**changes, "static_params": (named,) if isinstance(named, str) else tuple(named)}
    return attrs.evolve(options, **changes)


def grid_name(grid_type: Any) -> str | None:
    """Return the kind of grid as a word, whatever it was given as."""
    if grid_type is None:
        return None
    name = str(getattr(grid_type, "value", grid_type)).lower()
    if name not in ("cartesian", "unstructured"):
        raise OptionError(
            f"There is no grid type '{grid_type}'.", name=name, known=["cartesian", "unstructured"]
        )
    return name
