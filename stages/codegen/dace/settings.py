"""DaCe's version, its import, and its configuration, the only part of its state that we touch.

The import is half of a cold build. The modules make ninety thousand objects that stay; Python's
collector would look for garbage among them three hundred times, for a quarter of the import.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from ....runtime.process import DaceNotFoundError
from ....runtime.start.garbage import without_collections

SERIES: Final = "2.0."
# Everything that a build by default imports of DaCe.
MODULES: Final = (
    "dace",
    "dace.codegen.instrumentation",
    "dace.codegen.targets.cpu",
    "dace.codegen.targets.framecode",
    "dace.transformation.pass_pipeline",
    "dace.transformation.passes.insert_explicit_copies",
    "dace.transformation.passes.relax_integer_powers",
    "dace.transformation.passes.simplify",
    "dace.transformation.dataflow",
)
DaceConfig: TypeAlias = Mapping[tuple[str, ...], Any]  # options of DaCe by their paths
OURS: Final[DaceConfig] = {
    # Independent loops stay in the order in which they are written.
    ("compiler", "cpu", "openmp_sections"): False,
    ("progress",): False,  # else slow passes print their progress
    # DaCe would look through the stack for each node, and keep each graph that a pass changes.
    ("compiler", "lineinfo"): "none",
    ("store_history",): False,
}
_loading: Final = threading.Lock()
_reading: Final = threading.RLock()


def dace_version() -> str:
    """Return the version of the DaCe that is installed, without importing it.

    Raises:
        DaceNotFoundError: if there is none, or one of an unsupported version.

    """
    found = importlib.util.find_spec("dace")
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        try:
            text = Path(place, "version.py").read_text()
        except OSError:
            continue
        if stated := re.search(r"__version__\s*=\s*['\"]([^'\"]+)['\"]", text):
            if not stated[1].startswith(SERIES):
                raise DaceNotFoundError(
                    f"This backend needs DaCe {SERIES}*, got {stated[1]}.",
                    hint="Install it: pip install 'fieldforge[dace]'.",
                )
            return stated[1]
    raise DaceNotFoundError(
        "The package 'dace' is not installed, and this backend writes its code with it.",
        hint="Install it: pip install 'fieldforge[dace]'; or use the backend 'cpu'.",
    )


@contextmanager
def dace_defaults(chosen: DaceConfig = MappingProxyType({})) -> Iterator[None]:
    """Run with DaCe's own defaults in this thread, whatever the user's files and variables set.

    The generated text then depends on the version of DaCe and the options `chosen` only.
    """
    load_dace()
    from dace.config import Config

    with _yaml_in_c():  # the first use of the configuration in a thread reads its schema
        before = copy.deepcopy(Config.get())
    try:
        paths = _options(Config.get_metadata()["required"])
        defaults = {path: Config.get_default(*path) for path in paths}
        for path, value in {**defaults, **OURS, **chosen}.items():
            Config.set(*path, value=value)
        yield
    finally:
        for name, value in before.items():
            Config.set(name, value=value)


def _options(schema: Any, *around: str) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all options that have a default."""
    for name, option in sorted(schema.items()):
        if option["type"] == "dict":
            yield from _options(option["required"], *around, name)
        elif "default" in option:
            yield (*around, name)


def load_dace() -> None:
    """Import the modules of a build, without garbage collections in between."""
    if all(name in sys.modules for name in MODULES):
        return
    with _loading, without_collections(), _yaml_in_c():
        for name in MODULES:
            importlib.import_module(name)


@contextmanager
def _yaml_in_c() -> Iterator[None]:
    """Let DaCe read its schema by libyaml, which takes a tenth of the time.

    DaCe asks for the reader in Python by name, at its import and once in each thread.
    """
    yaml: Any = importlib.import_module("yaml")
    with _reading:
        slow = yaml.SafeLoader
        yaml.SafeLoader = getattr(yaml, "CSafeLoader", slow)
        try:
            yield
        finally:
            yaml.SafeLoader = slow
