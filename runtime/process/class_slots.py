"""The class with slots that replaces one: a class cannot get slots after it was made."""

from __future__ import annotations

from collections.abc import Collection
from types import FunctionType
from typing import Any, Final

METHODS: Final = (FunctionType, property, classmethod, staticmethod)


def with_slots(cls: Any, own: Collection[str], added: dict[str, Any]) -> Any:
    """Make a class as `cls`, with `added` attributes, whose `own` fields are slots.

    Its values can be pickled.
    """
    above = cls.__mro__[1:-1]
    names = list(own)
    if above:
        taken = {name for base in above for name in base.__dict__.get("__slots__", ())}
        names = [name for name in own if name not in taken]
    if not any("__weakref__" in base.__dict__ for base in above):
        names.append("__weakref__")
    given = {**cls.__dict__, **added}
    for name in ("__dict__", "__weakref__", *own):
        given.pop(name, None)
    given["__slots__"] = tuple(names)
    given["__qualname__"] = cls.__qualname__
    if "__getstate__" not in given and "__setstate__" not in given:
        given["__getstate__"], given["__setstate__"] = _state, _set_state
    made = type(cls)(cls.__name__, cls.__bases__, given)
    for value in cls.__dict__.values():
        if isinstance(value, METHODS):
            _lead_to(made, cls, value)
    return made


def without_slots(cls: Any, own: Collection[str], added: dict[str, Any]) -> Any:
    """Give a class more attributes, and take out the values that stand for fields."""
    for name in own:
        if name in cls.__dict__:
            delattr(cls, name)
    for name, value in added.items():
        setattr(cls, name, value)
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
