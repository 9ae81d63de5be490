"""Collect what the tree of a definition depends on as labelled key parts, without parsing."""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

from ...cache.fingerprint import components_key
from ...runtime.language import (
    Definition,
    Dimension,
    DimensionKind,
    FieldAlias,
    FieldOffset,
    elements,
    type_from_annotation,
)
from ...runtime.language.generics import instances
from .free_names import (
    builtin_name,
    callees_first,
    definition_of,
    is_namespace,
    is_number,
    member,
    number_text,
    number_type,
)

_DEPTH: Final = 32


# A digest covers what the definition reaches, so it stays valid until a name is rebound.
_digests: WeakKeyDictionary[Definition, str] = WeakKeyDictionary()
# The members of modules and namespaces as the digests saw them; a user may replace them later.
_members_seen: dict[tuple[int, str], tuple[Any, Any]] = {}


def forget() -> None:
    """Drop all digests and trees, because a name was rebound."""
    _digests.clear()
    _members_seen.clear()
    trees = sys.modules.get(f"{__package__}.trees")
    if trees is not None:  # otherwise nothing was parsed, and this call need not import the parser
        trees.forget_trees()


def components(definition: Definition) -> dict[str, str]:
    """Return the labelled parts of the key; they contain no file, line or identity."""
    seen = list(_members_seen.items())  # other threads may add to it during the loop
    if any(member(place, name)[1] is not value for (_, name), (place, value) in seen):
        forget()
    for each in callees_first(definition, _digests.__contains__):
        if each is not definition:
            _digests[each] = components_key(dict(_parts(each)))
    return dict(_parts(definition))


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
    """Describe a value, and of modules and namespaces only what the code mentions."""
    seen: set[int] = set()
    waiting = [(label, value)]
    for path, each in waiting:  # grows during the loop
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
        digests = (_digests.get(each, each.name) for each in instances(definition))
        return f"{definition.kind} {' '.join(digests)}"
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
    """Describe an annotation by its type, not by its name."""
    try:  # many parameters of many operators share one alias
        return _annotation_of_field(value) if type(value) is FieldAlias else _described_type(value)
    except TypeError:  # a user's object inside it has no hash
        return _described_type(value)


def _described_type(value: Any) -> str:
    try:
        found = type_from_annotation(value)
    except Exception:  # a user's object; parse reports what is wrong with it
        return f"opaque {getattr(value, '__qualname__', type(value).__qualname__)}"
    # the text of a type names its dimensions without their kinds; most are horizontal
    kinds = {str(dim) for dim in _dimensions(found) if dim.kind is not DimensionKind.HORIZONTAL}
    return f"{found} where {', '.join(sorted(kinds))}" if kinds else str(found)


_annotation_of_field = functools.lru_cache(maxsize=1024)(_described_type)


def _dimensions(found: Any) -> Iterator[Dimension]:
    """Yield the dimensions of a type and of its elements."""
    yield from getattr(found, "dims", ())
    for element in getattr(found, "elements", ()):
        yield from _dimensions(element)
