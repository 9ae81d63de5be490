"""The programs that are measured: every module here that exports `CASES` adds its own."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from .case import Case

MakeCase = Callable[[str, float], Case]  # (dtype, scale) -> case


def all_cases() -> dict[str, MakeCase]:
    """Return what makes each case, under the name of its function, module by module."""
    found: dict[str, MakeCase] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for make in getattr(module, "CASES", ()):
            name = getattr(make, "__name__", str(make))
            if name in found:
                raise ValueError(f"Two cases are called '{name}'.")
            found[name] = make
    return found
