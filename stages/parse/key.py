"""What the tree of a definition depends on, as labelled key parts; nothing is parsed for it."""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from ...cache.fingerprint import components_key
from ...runtime.annotations import type_from_annotation
from ...runtime.connectivity import FieldOffset
from ...runtime.definition import Definition
from ...runtime.dimension import Dimension
from .free_names import (
    builtin_name,
    definition_of,
    is_namespace,
    is_number,
    member,
    number_text,
    number_type,
    reached_operators,
)

_DEPTH: Final = 32


def components(definition: Definition) -> dict[str, str]:
    """Return the labelled parts of the key; never a file, a line or an identity."""
    digests = _digests(definition)
    return dict(_parts(definition, digests))


def _digests(root: Definition) -> dict[int, str]:
    """Return the digest of every operator that `root` reaches, callees first, by a worklist."""
    digests: dict[int, str] = {}
    open_: set[int] = set()
    stack = [root]
    while stack:
        definition = stack[-1]
        known = id(definition)
        waiting = [
            each
            for each in reached_operators(definition).values()
            if id(each) not in digests and id(each) not in open_
        ]
        if waiting and known not in open_:
            open_.add(known)
            stack += waiting
            continue
        stack.pop()
        if known not in digests:
            digests[known] = components_key(dict(_parts(definition, digests)))
    return digests


def _parts(definition: Definition, digests: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    yield "source", definition.source.text
    yield "kind", definition.kind
    yield "name", definition.name
    yield "grid_type", str(definition.grid_type)
    yield "python", f"{sys.version_info.major}.{sys.version_info.minor}"
    if definition.scan is not None:
        for label in ("axis", "forward", "init"):
            yield f"scan.{label}", _describe(getattr(definition.scan, label), digests)
    for name, value in definition.annotations:
        yield f"annotation.{name}", _annotation(value)
    mentioned = sorted(definition.function.__code__.co_names)
    for name, value in definition.closure:
        yield from _members(f"closure.{name}", value, mentioned, digests)


def _members(
    label: str, value: Any, mentioned: list[str], digests: Mapping[int, str]
) -> Iterator[tuple[str, str]]:
    """Describe a value; of modules and namespaces only what the code mentions, each module once."""
    seen: set[int] = set()
    waiting = [(label, value)]
    for path, each in waiting:  # grows while it is walked
        if not (isinstance(each, ModuleType) or is_namespace(each)):
            yield path, _describe(each, digests)
        elif id(each) not in seen:
            seen.add(id(each))
            yield path, f"namespace {getattr(each, '__name__', type(each).__name__)}"
            inside = ((name, member(each, name)) for name in mentioned)
            waiting += [(f"{path}.{name}", found) for name, (there, found) in inside if there]


def _describe(value: Any, digests: Mapping[int, str], depth: int = 0) -> str:
    if isinstance(value, Dimension):
        return f"dimension {value}"
    definition = definition_of(value)
    if definition is not None:
        return f"{definition.kind} {digests.get(id(definition), definition.name)}"
    if isinstance(value, enum.Enum):
        value = value.value
    if is_number(value):
        return f"{number_type(value)} {number_text(value)}"
    if isinstance(value, tuple) and depth < _DEPTH:
        return f"({', '.join(_describe(each, digests, depth + 1) for each in value)},)"
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
    try:
        return str(type_from_annotation(value))
    except Exception:  # somebody's object: parse will say what is wrong with it
        return f"opaque {getattr(value, '__qualname__', type(value).__qualname__)}"
