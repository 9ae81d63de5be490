"""Import every module of the model, and find what is decorated in it."""

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

PACKAGE: Final = "icon4py"
DECORATORS: Final = ("field_operator", "scan_operator", "program")
_OLDER: Final = f"{PACKAGE}.model.atmosphere.advection"  # of before 'tracer_advection'


@attrs.frozen
class Stencil:
    """A decorated function of the model, before anything of it is imported."""

    module: str
    name: str
    kind: str

    @property
    def package(self) -> str:
        """The package of the model that it belongs to: 'dycore', 'diffusion', 'common'."""
        parts = self.module.split(".")
        known = [part for part in parts if part in ("muphys", "microphysics", "common")]
        return known[0] if known else parts[3] if parts[2:3] == ["atmosphere"] else parts[1]

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@attrs.frozen
class Found:
    """What the model has, and what of it could be decorated; errors by module."""

    stencils: tuple[Stencil, ...]
    decorated: Mapping[Stencil, Any]
    errors: Mapping[str, BaseException]


def is_installed() -> bool:
    """Tell whether there is a model to look at."""
    return importlib.util.find_spec(PACKAGE) is not None


def find(match: str = "") -> Found:
    """Import every module that has stencils; keep those whose name contains `match`."""
    wanted = [each for path in _files() for each in _in_file(*path) if match in str(each)]
    errors: dict[str, BaseException] = {}
    for module in dict.fromkeys(each.module for each in wanted):
        try:
            importlib.import_module(module)
        except Exception as error:  # whatever it is, it is listed
            errors[module] = error
    found = {}
    for each in wanted:
        made = getattr(sys.modules.get(each.module), each.name, None)
        if hasattr(made, "__definition__"):
            found[each] = made
    return Found(tuple(wanted), found, errors)


def _files() -> Iterator[tuple[str, Path]]:
    spec = importlib.util.find_spec(PACKAGE)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(root).rglob("*.py")):
            module = ".".join((PACKAGE, *path.relative_to(root).with_suffix("").parts))
            if not module.startswith(f"{_OLDER}."):
                yield module.removesuffix(".__init__"), path


def _in_file(module: str, path: Path) -> Iterator[Stencil]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                name = called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)
                if name in DECORATORS:
                    yield Stencil(module, node.name, name)
