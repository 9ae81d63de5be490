"""Notice that a name which a function sees was bound anew since the function was read.

A definition is read when it is decorated. Whenever one of its variants is built, and whenever it is
called, the objects behind all names that it and its callees see are compared with those that were
read, by identity: global names, attributes of modules that the code mentions, nonlocal names, and
what annotations written as strings mention. Through Python that takes some 30 ns a name. A native
program looks at the versions of the namespaces first, some nanoseconds for each module, and at
names only if something in it was bound. If a name has changed, everything is read again and the
variants so far are dropped.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import attrs

from ...runtime.language.capture import recapture
from ...runtime.language.definition import Definition

_WORD: Final = re.compile(r"[^\W\d]\w*")


@attrs.frozen(eq=False)
class Watch:
    """Names in the dictionaries of modules, and nonlocal cells, with what they held."""

    namespaces: tuple[dict[str, Any], ...]
    names: tuple[str, ...]
    values: tuple[Any, ...]
    cells: tuple[tuple[Any, Any], ...]

    def changed(self) -> bool:
        """Tell whether one of them holds another object now."""
        now = map(dict.get, self.namespaces, self.names)
        if not all(map(operator.is_, now, self.values)):
            return True
        return bool(self.cells) and any(_content(cell) is not value for cell, value in self.cells)

    def triples(self) -> list[tuple[object, str | None, object]]:
        """Return every place with its name, None for a cell, and what it held."""
        names = zip(self.namespaces, self.names, self.values, strict=True)
        return [*names, *((cell, None, value) for cell, value in self.cells)]


def watch(definition: Definition) -> Watch:
    """Return what a definition sees now, when it is read."""
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
    """Return one that watches everything that these do, each name once."""
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
    """Return the definition with every name and annotation as it stands now."""
    return recapture(attrs.evolve(definition, closure=()))


def _places(definition: Definition, function: FunctionType) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the global names of a function, and those that it may read from modules."""
    words = sorted(_words(definition, function))
    waiting = [function.__globals__]
    modules = [value for _, value in definition.closure if isinstance(value, ModuleType)]
    waiting += [vars(module) for module in modules]
    looked_into = set(map(id, waiting))
    for namespace in waiting:  # grows while it is walked
        for word in words:
            value = namespace.get(word)
            if namespace is function.__globals__ or word in namespace:
                yield namespace, word
            if isinstance(value, ModuleType) and id(vars(value)) not in looked_into:
                looked_into.add(id(vars(value)))
                waiting.append(vars(value))


def _words(definition: Definition, function: FunctionType) -> set[str]:
    codes = [function.__code__]
    for code in codes:  # grows while it is walked
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    found = {name for code in codes for name in code.co_names}
    found.update(name for name, _ in definition.closure)  # of annotations in the body, too
    for annotation in function.__annotations__.values():
        if isinstance(annotation, str):
            found.update(_WORD.findall(annotation))
    return found - set(function.__code__.co_freevars)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the only way to learn that the name is not bound yet
        return None
