"""The class with slots that replaces one: a class cannot get slots after it was made."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def with_slots(cls: Any, own: Collection[str]) -> Any:
    """Make a class as `cls`, whose `own` fields are slots and whose values can be pickled."""
    above = cls.__mro__[1:-1]
    taken = {name for base in above for name in base.__dict__.get("__slots__", ())}
    given = {
        name: value
        for name, value in cls.__dict__.items()
        if name not in ("__dict__", "__weakref__", *own)
    }
    names = [name for name in own if name not in taken]
    if not any("__weakref__" in base.__dict__ for base in above):
        names.append("__weakref__")
    given["__slots__"] = tuple(names)
    given["__qualname__"] = cls.__qualname__
    if not given.keys() & {"__getstate__", "__setstate__"}:
        given |= {"__getstate__": _state, "__setstate__": _set_state}
    made = type(cls)(cls.__name__, cls.__bases__, given)
    for value in cls.__dict__.values():
        _lead_to(made, cls, value)
    return made


def without_defaults(cls: Any, own: Collection[str]) -> Any:
    """Take the values that stand for fields out of a class that has no slots."""
    for name in own:
        if name in cls.__dict__:
            delattr(cls, name)
    return cls


def _lead_to(made: type, cls: type, value: Any) -> None:
    """Let a method that says `super()` or `__class__` mean the class with slots."""
    methods = (value.fget, value.fset) if isinstance(value, property) else (value,)
    for method in methods:
        for cell in getattr(getattr(method, "__func__", method), "__closure__", None) or ():
            try:
                if cell.cell_contents is cls:
                    cell.cell_contents = made
            except ValueError:  # empty: a name that the function around it assigns later
                continue


def _state(self: Any) -> dict[str, Any]:
    from .class_fields import fields

    names = (each.name for each in fields(type(self)))
    return {name: getattr(self, name) for name in names if hasattr(self, name)}


def _set_state(self: Any, state: dict[str, Any]) -> None:
    for name, value in state.items():
        object.__setattr__(self, name, value)
