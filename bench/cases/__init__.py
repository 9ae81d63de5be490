"""The programs that are measured: every module here that exports `CASES` adds its own."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence

from .case import Case

MakeCase = Callable[[str, float], Case]  # a function of (dtype, scale)


def all_cases() -> dict[str, MakeCase]:
    """Return the functions that make cases as `<module>.<function>`, module by module."""
    found: dict[str, MakeCase] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for make in getattr(module, "CASES", ()):
            home = make.__module__.rpartition(".")[2]  # a module may list the cases of others, too
            found[f"{home}.{make.__name__}"] = make
    return found


def chosen_cases(names: Sequence[str]) -> dict[str, MakeCase]:
    """Return the cases whose module, function or both are named; all of them for no names.

    A name that no case has is an error that lists those there are.
    """
    known = all_cases()
    unknown = [name for name in names if not any(_is_called(full, name) for full in known)]
    if unknown:
        raise KeyError(f"No case is called {', '.join(unknown)}; there are {', '.join(known)}.")
    return {
        full: make
        for full, make in known.items()
        if not names or any(_is_called(full, name) for name in names)
    }


def _is_called(full: str, name: str) -> bool:
    return name == full or name in full.split(".")
