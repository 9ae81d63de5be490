"""Let `gt4py` name fieldforge, so that code written for it imports unchanged."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

#: The longest name that fits is replaced.
NAMES: Final = {
    "gt4py.next": "fieldforge",
    "gt4py._core": "fieldforge._core",
    "gt4py.eve": "fieldforge.eve",
}


class _Aliases(MetaPathFinder, Loader):
    """Find `gt4py...` by importing the module of fieldforge that has its place."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "gt4py" and not name.startswith("gt4py."):
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name == "gt4py":
            return ModuleType("gt4py")
        own = _own_name(spec.name)
        if own is None:
            raise ModuleNotFoundError(f"No module named '{spec.name}'.", name=spec.name)
        return _Alias(spec.name, importlib.import_module(own))

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do: the module that stands behind is imported."""


class _Alias(ModuleType):
    """The face of a module under another name; only what the import system writes is its own."""

    def __init__(self, name: str, real: ModuleType) -> None:
        super().__init__(name, real.__doc__)
        vars(self)["_real"] = real
        self.__path__: list[str] = []
        if hasattr(real, "__all__"):
            self.__all__ = real.__all__

    def __getattr__(self, name: str) -> object:
        return getattr(vars(self)["_real"], name)


def _own_name(name: str) -> str | None:
    for theirs, ours in NAMES.items():
        if name == theirs or name.startswith(f"{theirs}."):
            return ours + name.removeprefix(theirs)
    return None


def install() -> None:
    """Put the aliases before every other way to find a module."""
    if not any(isinstance(finder, _Aliases) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliases())
