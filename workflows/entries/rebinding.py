"""Detect that a name which a function sees was rebound after the function was read.

The decorator reads a definition. Every build and every call compare the objects behind all names
that the function and its callees see with those that were read, by identity: global names,
attributes of modules that the code mentions, nonlocal names, and names in string annotations. In
Python this takes some 30 ns per name. A native program first compares the versions of the
namespaces, some nanoseconds per module, and looks at names only if a version has changed. If a name
was rebound, the function is read again and its variants are dropped.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from ...runtime.language import Definition
from ...runtime.language.capture import recapture
from ...runtime.process import classes

_WORD: Final = r"[^\W\d]\w*"


@classes.frozen(eq=False)
class Watch:
    """Names in module dictionaries and nonlocal cells, with the objects that they held."""

    namespaces: tuple[dict[str, Any], ...]
    names: tuple[str, ...]
    values: tuple[Any, ...]
    cells: tuple[tuple[Any, Any], ...]

    def changed(self) -> bool:
        """Tell whether a name or cell holds another object now."""
        now = map(dict.get, self.namespaces, self.names)
        if not all(map(operator.is_, now, self.values)):
            return True
        return bool(self.cells) and any(_content(cell) is not value for cell, value in self.cells)

    def triples(self) -> list[tuple[object, str | None, object]]:
        """Return rows of namespace, name, object; or of cell, None, object."""
        names = zip(self.namespaces, self.names, self.values, strict=True)
        return [*names, *((cell, None, value) for cell, value in self.cells)]


def watch(definition: Definition) -> Watch:
    """Return a watch on the names that a definition sees, as they are now."""
    function = definition.function
    assert isinstance(function, FunctionType)
    places = tuple(_places(definition, function))
    return Watch(
        tuple(namespace for namespace, _ in places),
        tuple(name for _, name in places),
        tuple(namespace.get(name) for namespace, name in places),
        tuple((cell, _content(cell)) for cell in function.__closure__ or ()),
    )


def together(watches: Iterable[Watch]) -> Watch:
    """Return the union of several watches, each name once."""
    rows: dict[tuple[int, str, int], tuple[dict[str, Any], str, Any]] = {}
    cells: dict[tuple[int, int], tuple[Any, Any]] = {}
    for each in watches:
        for row in zip(each.namespaces, each.names, each.values, strict=True):
            rows.setdefault((id(row[0]), row[1], id(row[2])), row)
        for cell, value in each.cells:
            cells.setdefault((id(cell), id(value)), (cell, value))
    return Watch(
        tuple(namespace for namespace, _, _ in rows.values()),
        tuple(name for _, name, _ in rows.values()),
        tuple(value for _, _, value in rows.values()),
        tuple(cells.values()),
    )


def read_again(definition: Definition) -> Definition:
    """Return the definition with all names and annotations as they are now."""
    return recapture(classes.evolve(definition, closure=()))


def _places(definition: Definition, function: FunctionType) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the global names of a function, and the names that it may read from modules."""
    words = sorted(_words(definition, function))
    waiting = [function.__globals__]
    modules = [value for _, value in definition.closure if isinstance(value, ModuleType)]
    waiting += [vars(module) for module in modules]
    looked_into = set(map(id, waiting))
    for namespace in waiting:  # grows during the loop
        for word in words:
            value = namespace.get(word)
            if namespace is function.__globals__ or word in namespace:
                yield namespace, word
            if isinstance(value, ModuleType) and id(vars(value)) not in looked_into:
                looked_into.add(id(vars(value)))
                waiting.append(vars(value))


def _words(definition: Definition, function: FunctionType) -> set[str]:
    codes = [function.__code__]
    for code in codes:  # grows during the loop
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    found = {name for code in codes for name in code.co_names}
    found.update(name for name, _ in definition.closure)  # includes annotations in the body
    for annotation in function.__annotations__.values():
        if isinstance(annotation, str):
            found.update(re.findall(_WORD, annotation))
    return found - set(function.__code__.co_freevars)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # raised if the name is not bound yet; there is no test for it
        return None
