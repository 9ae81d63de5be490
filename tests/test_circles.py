"""No module of fieldforge imports itself through others: at its top, late, or for types only."""

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


def targets(name: str, text: str, known: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that the text of module `name` imports."""
    is_package = name in known and known[name].name == "__init__.py"
    for statement in ast.walk(ast.parse(text)):
        if not isinstance(statement, ast.ImportFrom | ast.Import):
            continue
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


def test_late_imports_and_those_for_type_checkers_close_circles():
    known = {f"fieldforge.{name}": Path(f"{name}.py") for name in ("a", "b", "c", "d", "e")}
    texts = {
        "fieldforge.a": "def f():\n    from .b import g\n",
        "fieldforge.b": "from . import a\n",
        "fieldforge.c": "if TYPE_CHECKING:\n    from .d import f\n",
        "fieldforge.d": "from .c import g\nfrom .e import h\n",
        "fieldforge.e": "from .a import f\n",
    }

    found = sorted(circles(texts, known))

    assert found == [["fieldforge.a", "fieldforge.b"], ["fieldforge.c", "fieldforge.d"]]


def test_no_folder_holds_more_modules_than_a_reader_takes_in():
    folders = {file.parent for file in modules().values()}

    counts = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in folders}

    assert {name: count for name, count in counts.items() if count > MOST_FILES}.keys() <= FLAT
