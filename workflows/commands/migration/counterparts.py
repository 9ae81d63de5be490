"""The counterparts of gt4py's names in fieldforge."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Final

PACKAGE: Final = __name__.partition(".")[0]
THEIRS: Final = "gt4py"
FOLLOWED_VERSION: Final = "1.2.1"
"""The version of gt4py whose names and signatures are followed."""

VARIABLES: Final = {
    "GT4PY_BUILD_CACHE_DIR": "FIELDFORGE_CACHE_DIR",
    "GT4PY_BUILD_JOBS": "FIELDFORGE_JOBS",
    "GT4PY_COLLECT_METRICS_LEVEL": "FIELDFORGE_COLLECT_METRICS",
    "GT4PY_DUMP_METRICS_AT_EXIT": "FIELDFORGE_DUMP_METRICS",
    "GT4PY_ENABLE_JIT_DEFAULT": "FIELDFORGE_ENABLE_JIT",
    "GT4PY_VERBOSE_EXCEPTIONS": "FIELDFORGE_VERBOSE_EXCEPTIONS",
}
"""Environment variables by gt4py's names."""

_PLACES: Final = {
    f"{THEIRS}.next": PACKAGE,
    f"{THEIRS}.cartesian": f"{PACKAGE}.cartesian",
    f"{THEIRS}.storage": f"{PACKAGE}.storage",
    f"{THEIRS}._core": f"{PACKAGE}._core",
    f"{THEIRS}.eve": f"{PACKAGE}.eve",
}
_OURS_ALONE: Final = frozenset(
    (
        *("as_gt4py", "cache", "cartesian", "examples", "forwarding", "runtime", "stages"),
        *("storage", "workflows"),
    )
)


def counterpart(module: str) -> str | None:
    """Return the module that stands for one of gt4py, None where there is none.

    >>> counterpart("gt4py.next.common"), counterpart("gt4py.next.iterator")
    ('fieldforge.common', None)
    """
    for theirs, ours in _PLACES.items():
        if module == theirs:
            return ours
        if module.startswith(f"{theirs}."):
            inside = module.removeprefix(f"{theirs}.")
            return f"{ours}.{inside}" if _is_module(ours, inside) else None
    return None


def has(module: str, name: str) -> bool:
    """Tell whether a module of fieldforge has a name, or a module of that name inside.

    >>> has("fieldforge.eve", "StrEnum"), has("fieldforge.eve", "NodeTranslator")
    (True, False)
    """
    if name in _OURS_ALONE and module == PACKAGE:
        return False
    return hasattr(importlib.import_module(module), name) or _is_module(module, name)


def split(name: str) -> tuple[str, str] | None:
    """Return the longest counterpart of a dotted name, and what is left of the name.

    >>> split("gt4py.next.common.Dimension.value")
    ('fieldforge.common', 'Dimension.value')
    """
    module, rest = name, ""
    while module:
        found = counterpart(module)
        if found is not None:
            return found, rest
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}".strip(".")
    return None


def _is_module(package: str, inside: str) -> bool:
    if inside.partition(".")[0] in _OURS_ALONE and package == PACKAGE:
        return False
    try:
        return importlib.util.find_spec(f"{package}.{inside}") is not None
    except ModuleNotFoundError:  # the part before the last dot is no package
        return False
