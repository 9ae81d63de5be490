"""`fieldforge` in the peer's process: the same names, taken from gt4py.next.

Programs that were written for fieldforge are imported there as they stand; nothing is translated.
`fieldforge.examples` is the folder of examples itself, everything else below `fieldforge` is the
module of the same name below `gt4py.next`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
BACKENDS = {"cpu": "gtfn_cpu", "reference": "itir_python"}  # ours by name -> theirs


class Face(ModuleType):
    """The package `fieldforge`, empty but for what gt4py.next has."""

    def __getattr__(self, name: str) -> Any:
        """Look the name up where gt4py keeps it."""
        if name == "concat_where":
            return importlib.import_module("gt4py.next.experimental").concat_where
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module("gt4py.next"), BACKENDS.get(name, name))


class Below(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `fieldforge.<module>` as `gt4py.next.<module>`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Take what is below `fieldforge`, except the examples."""
        package, _, rest = fullname.partition(".")
        if package != "fieldforge" or not rest or rest.split(".")[0] == "examples":
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Hand out gt4py's module itself."""
        return importlib.import_module("gt4py.next" + spec.name.removeprefix("fieldforge"))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module has run already."""


def install() -> None:
    """Let `import fieldforge` give the alias from now on."""
    face = Face("fieldforge")
    face.__path__ = []
    examples = ModuleType("fieldforge.examples")
    examples.__path__ = [str(EXAMPLES)]
    face.examples = examples
    sys.modules["fieldforge"] = face
    sys.modules["fieldforge.examples"] = examples
    sys.meta_path.insert(0, Below())
