"""`fieldforge` in the peer's process: the same names, taken from gt4py.next.

Programs that were written for fieldforge are imported there as they stand. `fieldforge.examples` is
the folder of examples itself, everything else below `fieldforge` is the module of the same name
below `gt4py.next`. One thing is written out for gt4py: where a cast takes a number that is a global
name of the module, `wpfloat(DRY)`, gt4py wants to see the number itself.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
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


def example(name: str, dtype: type, folder: Path) -> ModuleType:
    """Import `fieldforge.examples.<name>` with `dtype` as the working precision of all examples."""
    if Path(EXAMPLES, "precision.py").exists():
        importlib.import_module("fieldforge.examples.precision").wpfloat = dtype
    module = importlib.import_module(f"fieldforge.examples.{name}")
    source = Path(str(module.__file__)).read_text()
    changed = _CAST.sub(lambda cast: _written_out(cast, vars(module)), source)
    if changed == source:
        return module
    path = Path(folder, f"{name}.py")
    path.write_text(changed)
    spec = importlib.util.spec_from_file_location(f"{module.__name__}_written_out", path)
    assert spec is not None
    assert spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = again  # named collections look their module up
    spec.loader.exec_module(again)
    return again


_CAST = re.compile(r"\b(wpfloat|float64|float32)\((-?)([A-Za-z_]\w*)\)")


def _written_out(cast: re.Match[str], names: dict[str, Any]) -> str:
    kind, sign, name = cast.groups()
    value = names.get(name)
    if not isinstance(value, int | float):
        return cast[0]
    return f"{kind}({sign}{float(value)!r})"
