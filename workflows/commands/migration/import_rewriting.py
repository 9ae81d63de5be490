"""Rewrite the imports of a file from gt4py to fieldforge; other bytes do not change.

The parser finds the names, and names with a counterpart are replaced in place: import statements,
dotted names such as `gt4py.next.common.Dimension`, and strings that consist of such a name
(arguments of `import_module` and `mock.patch`). Names without a counterpart stay and are reported.
A statement that imports both is split.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from typing import Final

from ....runtime.process import classes
from .counterparts import PACKAGE, THEIRS, VARIABLES, counterpart, has, split

_DOTTED: Final = re.compile(rf"{THEIRS}(\.\w+)+\Z")
_LINES: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_WIDTH: Final = 100


@classes.frozen
class Left:
    """A name without a counterpart, and its line."""

    line: int
    message: str


@classes.frozen
class Rewritten:
    """The new text of a file, and the names that stay."""

    text: str
    left: tuple[Left, ...]


@classes.frozen(order=True)
class _Edit:
    start: int
    end: int
    text: str = classes.field(order=False)


class _Places:
    """Turns lines and columns of the parser, which counts bytes, into places in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = _LINES.findall(text)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        found = self._lines[line - 1] if line <= len(self._lines) else ""
        return self._starts[line - 1] + len(found.encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.stmt | ast.expr | ast.alias)
        return (
            self.at(node.lineno, node.col_offset),
            self.at(node.end_lineno or node.lineno, node.end_col_offset or 0),
        )

    def before(self, place: int) -> str:
        """Return the text before a place on its line."""
        return re.split(r"[\r\n]", self.text[:place])[-1]


def rewrite(text: str) -> Rewritten:
    r"""Return the text of a Python file with its imports changed; `SyntaxError` if it is none.

    >>> rewrite("from gt4py.next import common  # tables\n").text
    'from fieldforge import common  # tables\n'
    >>> found = rewrite("from gt4py.eve import NodeTranslator, StrEnum\n")
    >>> found.text
    'from fieldforge.eve import StrEnum\nfrom gt4py.eve import NodeTranslator\n'
    >>> found.left[0].message
    "'gt4py.eve.NodeTranslator' has no counterpart."
    """
    if THEIRS not in text:
        return Rewritten(text, ())
    tree = ast.parse(text)
    places = _Places(text)
    found = [*_statements(tree, places), *_names(tree, places), *_absent(tree)]
    left = {each for each in found if isinstance(each, Left)}
    for edit in sorted((each for each in found if isinstance(each, _Edit)), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    ast.parse(text)
    return Rewritten(text, tuple(sorted(left, key=lambda each: (each.line, each.message))))


def _no_counterpart(line: int, name: str) -> Left:
    return Left(line, f"'{name}' has no counterpart.")


# --- import statements ------------------------------------------------------------------------


def _statements(tree: ast.Module, places: _Places) -> Iterator[_Edit | Left]:
    is_whole = all(map(_resolves, _chains(tree).values()))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from _plain(node, places, is_whole)
        elif isinstance(node, ast.ImportFrom):
            yield from _from(node, places)


def _plain(node: ast.Import, places: _Places, is_whole: bool) -> Iterator[_Edit | Left]:
    """Rewrite the names of `import a.b as c, d`, each in place.

    `is_whole` says that all names below `gt4py` in this file have a counterpart.
    """
    for alias in node.names:
        if alias.name == THEIRS:
            if alias.asname is None and is_whole:
                yield _renamed(alias, THEIRS, PACKAGE, places)
            else:
                yield Left(alias.lineno, f"'import {THEIRS}' is left: parts of it stay in use.")
        elif alias.name.startswith(f"{THEIRS}."):
            found = counterpart(alias.name)
            if found is None:
                yield _no_counterpart(alias.lineno, alias.name)
            else:
                yield _renamed(alias, alias.name, found, places)


def _renamed(alias: ast.alias, old: str, new: str, places: _Places) -> _Edit | Left:
    start, _ = places.span(alias)
    if not places.text.startswith(old, start):
        return Left(alias.lineno, f"'{old}' is written in a way that is not understood.")
    return _Edit(start, start + len(old), new)


@classes.frozen
class _Taken:
    """One name of a `from` import, after the rewriting."""

    module: str | None  # None for `import name as alias`
    name: str
    bound: str

    def __str__(self) -> str:
        return self.name if self.name == self.bound else f"{self.name} as {self.bound}"


def _from(node: ast.ImportFrom, places: _Places) -> Iterator[_Edit | Left]:
    """Rewrite `from a import b, c as d`; in place where all its names go to one module."""
    module = node.module or ""
    if node.level or (module != THEIRS and not module.startswith(f"{THEIRS}.")):
        return
    taken = [_taken(module, alias) for alias in node.names]
    for alias, each in zip(node.names, taken, strict=True):
        if each.module == module:
            yield _no_counterpart(alias.lineno, f"{module}.{alias.name}")
    modules = {each.module for each in taken}
    if modules == {module}:
        return
    target = next(iter(modules))
    if len(modules) == 1 and target is not None and _keeps_names(node, taken):
        start, _ = places.span(node)
        place = re.compile(r"from\s+").match(places.text, start)
        if place and places.text.startswith(module, place.end()):
            yield _Edit(place.end(), place.end() + len(module), target)
            return
    yield _split(node, taken, places)


def _keeps_names(node: ast.ImportFrom, taken: Sequence[_Taken]) -> bool:
    return all(alias.name == each.name for alias, each in zip(node.names, taken, strict=True))


def _taken(module: str, alias: ast.alias) -> _Taken:
    """Return the new import of a name; without a counterpart, the old one."""
    bound = alias.asname or alias.name
    whole = counterpart(f"{module}.{alias.name}")
    ours = counterpart(module)
    if ours is not None and (alias.name == "*" or has(ours, alias.name)):
        return _Taken(ours, alias.name, bound)
    if whole is not None:  # 'from gt4py import next as gtx', 'from gt4py import eve'
        package, _, name = whole.rpartition(".")
        return _Taken(package or None, name, bound)
    return _Taken(module, alias.name, bound)


def _split(node: ast.ImportFrom, taken: Sequence[_Taken], places: _Places) -> _Edit:
    """Write one statement for each module; comments inside the old one follow the first."""
    start, end = places.span(node)
    indent = places.before(start)
    groups: dict[str | None, list[str]] = {}
    for each in taken:
        groups.setdefault(each.module, []).append(str(each))
    own = node.module
    ordered = sorted(groups, key=lambda key: (key == own, key is not None, key or ""))
    lines = [_statement(key, groups[key], len(indent)) for key in ordered]
    remarks = "  ".join(_remarks(places.text[start:end]))
    newline = "\r\n" if "\r\n" in places.text else "\n"
    if indent.strip():  # another statement precedes it on the line
        return _Edit(start, end, "; ".join(lines))
    rest = re.compile(r"[ \t]*;").match(places.text, end)
    if rest:
        return _Edit(start, end, "; ".join(lines))
    lines[0] += f"  {remarks}" if remarks else ""
    return _Edit(start, end, f"{newline}{indent}".join(lines))


def _statement(module: str | None, names: Sequence[str], indent: int) -> str:
    if module is None:
        return "; ".join(f"import {name}" for name in names)
    line = f"from {module} import {', '.join(names)}"
    if indent + len(line) <= _WIDTH:
        return line
    pad = " " * indent
    listed = "".join(f"{pad}    {name},\n" for name in names)
    return f"from {module} import (\n{listed}{pad})"


def _remarks(statement: str) -> list[str]:
    if "#" not in statement:
        return []
    tokens = tokenize.generate_tokens(io.StringIO(statement).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


# --- names and strings ------------------------------------------------------------------------


def _names(tree: ast.Module, places: _Places) -> Iterator[_Edit | Left]:
    is_bound = _binds_package(tree)
    for node, name in _chains(tree).items():
        yield from _name(node, name, places, is_bound)
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            if _DOTTED.match(each.value):
                yield from _string(each, each.value, places)
            elif each.value in VARIABLES:
                yield Left(each.lineno, f"'{each.value}' is called '{VARIABLES[each.value]}' here.")


def _chains(tree: ast.Module) -> dict[ast.Attribute, str]:
    """Return the dotted names below `gt4py`, each as a whole."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    inner = {node.value for node in nodes}
    found = ((node, _dotted(node)) for node in nodes if node not in inner)
    return {node: name for node, name in found if name and name.startswith(f"{THEIRS}.")}


def _binds_package(tree: ast.Module) -> bool:
    """Tell whether `import fieldforge...` will stand in the file."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    names = [alias.name for node in imports for alias in node.names if alias.asname is None]
    whole = THEIRS in names and all(map(_resolves, _chains(tree).values()))
    return whole or any(counterpart(name) for name in names)


def _dotted(node: ast.expr) -> str | None:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def _resolves(name: str) -> bool:
    """Tell whether a dotted name, or the beginning of one, means something in fieldforge."""
    found = split(name)
    return found is not None and (not found[1] or has(found[0], found[1].partition(".")[0]))


def _name(
    node: ast.Attribute, name: str, places: _Places, is_bound: bool
) -> Iterator[_Edit | Left]:
    """Rewrite `gt4py.next.common.Dimension`, if the file imports the new module."""
    found = split(name) if _resolves(name) else None
    if found is None:
        yield _no_counterpart(node.lineno, name)
        return
    start, end = places.span(node)
    if not is_bound or re.sub(r"\s+", "", places.text[start:end]) != name:
        yield Left(node.lineno, f"'{name}' is left: write 'import {PACKAGE}' and its new name.")
        return
    yield _Edit(start, end, ".".join(filter(None, found)))


def _string(node: ast.Constant, value: str, places: _Places) -> Iterator[_Edit | Left]:
    """Rewrite a string that consists of a name of gt4py."""
    start, end = places.span(node)
    if not re.fullmatch(rf"""[rRuU]?(["']){re.escape(value)}\1""", places.text[start:end]):
        return
    found = split(value) if _resolves(value) else None
    if found is None:
        yield Left(node.lineno, f"The string '{value}' names nothing in fieldforge.")
        return
    yield _Edit(start, end, places.text[start:end].replace(value, ".".join(filter(None, found))))


# --- attributes of modules ----------------------------------------------------------------------


def _absent(tree: ast.Module) -> Iterator[Left]:
    """Report attributes of imported modules that our modules do not have: `gtx.iterator`."""
    bound = dict(_bound_modules(tree))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    inner = {node.value for node in nodes}
    for node in nodes:
        name = None if node in inner else _dotted(node)
        first, _, rest = (name or "").partition(".")
        if first in bound and rest:
            theirs, attribute = f"{bound[first]}.{rest}", rest.partition(".")[0]
            if not _resolves(theirs):
                yield _no_counterpart(node.lineno, f"{bound[first]}.{attribute}")


def _bound_modules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that the file binds to modules of gt4py with a counterpart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname and counterpart(alias.name):
                    yield alias.asname, alias.name
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == THEIRS:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if counterpart(whole):
                    yield alias.asname or alias.name, whole
