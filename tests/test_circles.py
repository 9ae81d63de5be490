"""No module imports itself by way of others, late imports inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

import fieldforge

ROOT = Path(fieldforge.__file__).parent
PACKAGE = "fieldforge"


def modules(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Yield the name and file of each module, through the links that make up the package."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and (path / "__init__.py").exists():
            yield f"{name}.{path.name}", path / "__init__.py"
            yield from modules(path, f"{name}.{path.name}")
        elif path.suffix == ".py" and path.stem != "__init__":
            yield f"{name}.{path.stem}", path


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield what a module of `package` imports: modules, and what may be modules in them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []  # never run
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parts if node.level else []), *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
            yield base


def circles(root: Path, package: str) -> list[list[str]]:
    """Return the groups of modules that import each other."""
    files = dict(modules(root, package))
    graph = nx.DiGraph()
    for name, path in files.items():
        parent = name if path.stem == "__init__" else name.rpartition(".")[0]
        found = set(imported(ast.parse(path.read_text()), parent)) & files.keys()
        # 'from . import x' names the package too, which runs before any of its modules anyway
        packages = {one for one in found if files[one].stem == "__init__"}
        graph.add_edges_from((name, one) for one in found - packages - {name})
    return sorted(map(sorted, (c for c in nx.strongly_connected_components(graph) if len(c) > 1)))


@pytest.fixture(scope="module")
def found():
    return circles(ROOT, PACKAGE)


@pytest.mark.parametrize("room", ["runtime", "stages"])
def test_modules_import_each_other_in_no_circle(found, room):
    assert [circle for circle in found if circle[0].startswith(f"{PACKAGE}.{room}.")] == []


def test_a_circle_is_found_also_where_an_import_hides_in_a_function(tmp_path):
    (tmp_path / "room").mkdir()
    (tmp_path / "room/__init__.py").write_text("")
    (tmp_path / "room/a.py").write_text("from ..b import f\n")
    (tmp_path / "b.py").write_text("def f():\n    from .room import a\n    from . import c\n")
    (tmp_path / "c.py").write_text("import os\n")
    assert circles(tmp_path, "house") == [["house.b", "house.room.a"]]
