"""The compilation options of a function, and its grid type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...runtime.process import classes
from ...runtime.process.errors import OptionError
from ...stages.option_kinds import FLAG, SECONDS, TABLES, TEXTS, option, optional


@classes.frozen
class CompilationOptions:
    """Options of compilation; `enable_jit=None` uses the setting of the process.

    Attributes:
        enable_jit: whether a call compiles a missing variant.
        static_params: parameters whose values are compiled in.
        static_domains: whether the domains of all fields are compiled in; each other domain is
            then another variant. `compile(domains=...)` compiles in some domains only.
        connectivities: neighbour tables that `compile` uses by default.
        build_budget: seconds that a build may take before it warns; None uses the setting of the
            process.

    """

    enable_jit: bool | None = option(optional(FLAG), None)
    static_params: tuple[str, ...] | None = option(optional(TEXTS), None)
    static_domains: bool = option(FLAG, False)
    connectivities: Mapping[str, Any] | None = option(optional(TABLES), None)
    build_budget: float | None = option(optional(SECONDS), None)


def changed_options(options: CompilationOptions, changes: Mapping[str, Any]) -> CompilationOptions:
    """Return the options with some changed; an unknown option is an error."""
    known = [field.name for field in classes.fields(CompilationOptions)]
    for name in changes:
        if name not in known:
            raise OptionError(f"There is no compilation option '{name}'.", name=name, known=known)
    return classes.evolve(options, **changes)


def grid_name(grid_type: Any) -> str | None:
    """Return the grid type as a word, given as a word or an enum member."""
    if grid_type is None:
        return None
    name = str(getattr(grid_type, "value", grid_type)).lower()
    if name not in ("cartesian", "unstructured"):
        raise OptionError(
            f"There is no grid type '{grid_type}'.", name=name, known=["cartesian", "unstructured"]
        )
    return name
