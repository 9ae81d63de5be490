"""`fieldforge` in the peer's process: the same names, taken from gt4py.next.

Programs that were written for fieldforge are imported there as they stand. `fieldforge.examples` is
the folder of examples itself, everything else below `fieldforge` is the module of the same name
below `gt4py.next`. One thing is written out for gt4py: where a cast takes a number that is a global
name of the module, `wpfloat(DRY)`, gt4py wants to see the number itself.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
BACKENDS = {"cpu": "gtfn_cpu", "reference": "itir_python"}  # ours by name -> theirs


class Face(ModuleType):
    """The package `fieldforge` with the names of gt4py.next only."""

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
        """Take the modules below `fieldforge`, except the examples."""
        package, _, rest = fullname.partition(".")
        if package != "fieldforge" or not rest or rest.split(".")[0] == "examples":
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Hand out gt4py's module itself."""
        return importlib.import_module("gt4py.next" + spec.name.removeprefix("fieldforge"))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module has run already."""


def install(folder: Path) -> None:
    """Let `import fieldforge` give the alias from now on; the examples are copied to `folder`."""
    folder.mkdir(exist_ok=True)
    for path in EXAMPLES.glob("*.py"):
        Path(folder, path.name).write_text(with_numbers(path.read_text()))
    face = Face("fieldforge")
    face.__path__ = []
    face.examples = examples = ModuleType("fieldforge.examples")
    examples.__path__ = [str(folder)]
    sys.modules |= {"fieldforge": face, "fieldforge.examples": examples}
    sys.meta_path.insert(0, Below())


def with_numbers(source: str) -> str:
    """Write out the global numbers that are cast.

    >>> print(with_numbers("HOUR, DAY = 3600.0, 24\\nseconds = wpfloat(-HOUR) * wpfloat(days)"))
    HOUR, DAY = 3600.0, 24
    seconds = wpfloat(-3600.0) * wpfloat(days)
    """
    known: dict[str, float] = {}
    for name, value in _assigned(ast.parse(source)):
        if _is_arithmetic(value, known):
            known[name] = eval(ast.unparse(value), {"__builtins__": {}}, known)
    return _CAST.sub(
        lambda cast: f"{cast[1]}{known[cast[2]]!r})" if cast[2] in known else cast[0], source
    )


def _assigned(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Walk over the global names and their values, pairs of tuples taken apart."""
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                pairs = zip(names, values, strict=True)
                yield from ((name.id, value) for name, value in pairs if isinstance(name, ast.Name))


_CAST = re.compile(r"(\b(?:wpfloat|float64|float32)\(-?)([A-Za-z_]\w*)\)")
_ARITHMETIC = (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)


def _is_arithmetic(value: ast.expr, known: dict[str, float]) -> bool:
    """Whether an expression has nothing in it but numbers, names of numbers, and signs."""
    for part in ast.walk(value):
        match part:
            case ast.Constant(value=int() | float()):
                continue
            case ast.Name(id=name) if name in known:
                continue
            case _ if not isinstance(part, _ARITHMETIC):
                return False
    return True
