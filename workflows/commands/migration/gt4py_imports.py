"""Redirect imports of gt4py to fieldforge in this process, so that code for it runs unchanged."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from multiprocessing import spawn
from types import ModuleType
from typing import Any

from ....runtime.process import FieldforgeError
from .counterparts import FOLLOWED_VERSION, THEIRS, counterpart


class AlreadyImportedError(FieldforgeError, ImportError):
    """The installed gt4py was imported before the redirection to fieldforge."""


class _Imports(MetaPathFinder, Loader):
    """Find, for every module of gt4py, its counterpart in fieldforge."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != THEIRS and not name.startswith(f"{THEIRS}."):
            return None
        if name != THEIRS and counterpart(name) is None:
            raise ModuleNotFoundError(
                f"'{name}' has no counterpart in fieldforge, which stands for gt4py in this "
                "process; see 'What stays with gt4py' in docs/migrating.md.",
                name=name,
            )
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return an empty module, which `exec_module` replaces."""
        made = ModuleType(spec.name, "The place of gt4py's packages; fieldforge stands in them.")
        made.__path__ = []
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Replace the module by ours; it is the same object under both names."""
        ours = counterpart(module.__name__)
        if ours is None:
            vars(module)["__version__"] = FOLLOWED_VERSION
        else:
            sys.modules[module.__name__] = importlib.import_module(ours)


def install() -> None:
    """Redirect imports of `gt4py` from now on, also in processes that `multiprocessing` starts.

    A gt4py that is imported already is an error.
    """
    if any(isinstance(finder, _Imports) for finder in sys.meta_path):
        return
    if THEIRS in sys.modules:
        raise AlreadyImportedError(
            "'gt4py' is imported already, so 'fieldforge' cannot take its name.",
            hints=[
                "Import 'fieldforge.as_gt4py' first, or start with 'fieldforge run --as-gt4py'."
            ],
        )
    sys.meta_path.insert(0, _Imports())
    _reach_children()


class _Redirection:
    """Redirects imports in the process that unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return install, ()


def _reach_children() -> None:
    """Redirect imports in child processes before they import the main module.

    `multiprocessing` has no hook for this. A spawned process unpickles what `get_preparation_data`
    returns before anything else; a fork server imports `__main__` before all other modules, unless
    it is told to preload others only.
    """
    prepare = spawn.get_preparation_data

    def prepare_redirected(name: str) -> dict[str, Any]:
        return {**prepare(name), "fieldforge": _Redirection()}

    spawn.get_preparation_data = prepare_redirected
    multiprocessing.set_forkserver_preload(["fieldforge.as_gt4py"])
