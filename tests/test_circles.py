"""No module of fieldforge imports itself through others, at its top or inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

import fieldforge as ff

ROOT = Path(ff.__file__).parent
ROOMS = ("cache", "runtime", "stages", "workflows")
MOST_FILES = 25  # directly in one folder
FLAT = {"stages/parse"}  # one way from syntax to typed tree, with no floors inside


def modules() -> dict[str, Path]:
    """Return the file of every module in the four rooms, by dotted name."""
    files = (file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py")))
    return {dotted(file): file for file in files}


def dotted(file: Path) -> str:
    parts = ("fieldforge", *file.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def executed(node: ast.AST) -> Iterator[ast.ImportFrom | ast.Import]:
    """Yield the imports in a tree, wherever they stand, except those for type checkers only."""
    if isinstance(node, ast.ImportFrom | ast.Import):
        yield node
    children = (each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr))
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        children = (each for each in node.orelse)
    for child in children:
        yield from executed(child)


def targets(name: str, text: str, known: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that the text of module `name` imports."""
    is_package = name in known and known[name].name == "__init__.py"
    for statement in executed(ast.parse(text)):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names if alias.name in known)
            continue
        above = name.split(".")
        above = above[: len(above) + is_package - statement.level] if statement.level else []
        origin = ".".join([*above, *([statement.module] if statement.module else [])])
        for alias in statement.names:
            module = f"{origin}.{alias.name}"
            yield from (
                found for found in [module if module in known else origin] if found in known
            )


def circles(texts: dict[str, str], known: dict[str, Path]) -> list[list[str]]:
    """Return every group of modules that import each other, directly or through others."""
    graph = nx.DiGraph(
        (name, target)
        for name, text in texts.items()
        for target in targets(name, text, known)
        if target != name
    )
    return [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]


def test_there_are_no_import_circles():
    known = modules()

    found = circles({name: file.read_text() for name, file in known.items()}, known)

    assert found == []


def test_a_late_import_closes_a_circle_and_one_for_type_checkers_does_not():
    known = {f"fieldforge.{name}": Path(f"{name}.py") for name in ("a", "b", "c")}
    texts = {
        "fieldforge.a": "def f():\n    from .b import g\n",
        "fieldforge.b": "from . import a\n",
        "fieldforge.c": "if TYPE_CHECKING:\n    from .a import f\nfrom .b import g\n",
    }
    texts["fieldforge.b"] += "if TYPE_CHECKING:\n    from . import c\n"

    assert circles(texts, known) == [["fieldforge.a", "fieldforge.b"]]


def test_no_folder_holds_more_modules_than_a_reader_takes_in():
    folders = {file.parent for file in modules().values()}

    counts = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in folders}

    assert {name: count for name, count in counts.items() if count > MOST_FILES}.keys() <= FLAT
