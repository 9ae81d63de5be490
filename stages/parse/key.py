"""What the tree of a definition depends on, as labelled key parts; nothing is parsed for it."""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

from ...cache.fingerprint import components_key
from ...runtime.language.annotations import FieldAlias, type_from_annotation
from ...runtime.language.connectivity import FieldOffset
from ...runtime.language.definition import Definition
from ...runtime.language.dimension import Dimension, DimensionKind
from ...runtime.language.structure import elements
from .free_names import (
    builtin_name,
    callees_of,
    definition_of,
    is_namespace,
    is_number,
    member,
    number_text,
    number_type,
)

_DEPTH: Final = 32


# What a definition reaches is part of its digest, so it holds until a name is bound anew.
_digests: WeakKeyDictionary[Definition, str] = WeakKeyDictionary()
# The members of modules and namespaces that digests were made of; others may be put there.
_members_seen: dict[tuple[int, str], tuple[Any, Any]] = {}


def forget() -> None:
    """Read every definition again from now on: what some name stands for has changed."""
    _digests.clear()
    _members_seen.clear()
    trees = sys.modules.get(f"{__package__}.trees")
    if trees is not None:  # else nothing was read yet, and reading is not imported for this
        trees.forget_trees()


def components(definition: Definition) -> dict[str, str]:
    """Return the labelled parts of the key; never a file, a line or an identity."""
    seen = list(_members_seen.items())  # other threads may add to it
    if any(member(place, name)[1] is not value for (_, name), (place, value) in seen):
        forget()
    _digest_callees(definition)
    return dict(_parts(definition))


def _digest_callees(root: Definition) -> None:
    """Digest every operator that `root` reaches, callees first, by a worklist."""
    stack, begun = list(callees_of(root)), {root}
    while stack:
        current = stack[-1]
        if current in _digests:
            stack.pop()
            continue
        waiting = []
        if current not in begun:
            begun.add(current)
            waiting = [
                each for each in callees_of(current) if each not in _digests and each not in begun
            ]
        if waiting:
            stack += waiting
            continue
        _digests[current] = components_key(dict(_parts(current)))
        stack.pop()


def _parts(definition: Definition) -> Iterator[tuple[str, str]]:
    yield "source", definition.source.text
    yield "kind", definition.kind
    yield "name", definition.name
    yield "grid_type", str(definition.grid_type)
    yield "python", f"{sys.version_info.major}.{sys.version_info.minor}"
    if definition.scan is not None:
        for label in ("axis", "forward", "init"):
            yield f"scan.{label}", _describe(getattr(definition.scan, label))
    for name, value in definition.annotations:
        yield f"annotation.{name}", _annotation(value)
    mentioned = sorted(definition.function.__code__.co_names)
    for name, value in definition.closure:
        yield from _members(f"closure.{name}", value, mentioned)


def _members(label: str, value: Any, mentioned: list[str]) -> Iterator[tuple[str, str]]:
    """Describe a value; of modules and namespaces only what the code mentions, each module once."""
    seen: set[int] = set()
    waiting = [(label, value)]
    for path, each in waiting:  # grows while it is walked
        if not (isinstance(each, ModuleType) or is_namespace(each)):
            yield path, _describe(each)
        elif id(each) not in seen:
            seen.add(id(each))
            yield path, f"namespace {getattr(each, '__name__', type(each).__name__)}"
            for name in mentioned:
                there, found = member(each, name)
                if there:
                    waiting.append((f"{path}.{name}", found))
                    _members_seen[id(each), name] = each, found


def _describe(value: Any, depth: int = 0) -> str:
    if isinstance(value, Dimension):
        return f"dimension {value}"
    definition = definition_of(value)
    if definition is not None:
        return f"{definition.kind} {_digests.get(definition, definition.name)}"
    if isinstance(value, enum.Enum):
        value = value.value
    if is_number(value):
        return f"{number_type(value)} {number_text(value)}"
    parts = elements(value) if depth < _DEPTH else None
    if parts is not None:
        name = "" if type(value) is tuple else f"{_annotation(type(value))} "
        return f"{name}({', '.join(_describe(each, depth + 1) for each in parts)},)"
    if isinstance(value, type):
        return f"type {_annotation(value)}"
    if isinstance(value, FieldOffset):
        return f"offset {value.value} from {value.source} to {', '.join(map(str, value.target))}"
    builtin = builtin_name(value)
    if builtin is not None:
        return f"builtin {builtin}"
    return f"opaque {type(value).__module__}.{type(value).__qualname__}"


def _annotation(value: Any) -> str:
    """Describe an annotation by the type that it stands for, whatever it is called."""
    try:  # one alias stands at many parameters of many operators
        return _annotation_of_field(value) if type(value) is FieldAlias else _described_type(value)
    except TypeError:  # somebody's object in it has no hash
        return _described_type(value)


def _described_type(value: Any) -> str:
    try:
        found = type_from_annotation(value)
    except Exception:  # somebody's object: parse will say what is wrong with it
        return f"opaque {getattr(value, '__qualname__', type(value).__qualname__)}"
    # a type is written with the names of its dimensions; most are horizontal
    kinds = {str(dim) for dim in _dimensions(found) if dim.kind is not DimensionKind.HORIZONTAL}
    return f"{found} where {', '.join(sorted(kinds))}" if kinds else str(found)


_annotation_of_field = functools.lru_cache(maxsize=1024)(_described_type)


def _dimensions(found: Any) -> Iterator[Dimension]:
    """Yield the dimensions that a type names, and those of its elements."""
    yield from getattr(found, "dims", ())
    for element in getattr(found, "elements", ()):
        yield from _dimensions(element)
