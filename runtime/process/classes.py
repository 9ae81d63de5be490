"""The decorators `frozen` and `define` of attrs, for classes that a first result waits for.

attrs writes the text of a class's methods and compiles it, about half a millisecond a class. Here
classes share methods, and the core makes their values. `attrs.fields`, `attrs.evolve` and
subclasses by attrs see a class of attrs: its description is made when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from .. import _values
from . import class_fields
from .class_fields import (
    AS_ATTRS,
    SIGNATURE,
    Field,
    Wish,
    as_attrs,
    fields,
    own_fields,
    validated,
    with_inherited,
)

__all__ = ["asdict", "astuple", "define", "evolve", "field", "fields", "frozen", "has"]

Value = TypeVar("Value")
# With other options, attrs makes all methods.
SHARED: Final = frozenset({"eq", "init", "kw_only", "repr", "slots"})

if TYPE_CHECKING:  # the plugin of mypy knows them by these names
    from attrs import define, evolve, field, frozen
else:
    evolve = _values.evolve
    field = class_fields.field

    def frozen(cls: type | None = None, **options: Any) -> Any:
        """Make a class as `attrs.frozen` does, with shared methods.

        >>> @frozen
        ... class Pair:
        ...     first: int
        ...     second: int = 2
        >>> Pair(1)
        Pair(first=1, second=2)
        >>> Pair(1) == Pair(1, 2), len({Pair(1), Pair(1)})
        (True, 1)
        """
        return _decorated(cls, "frozen", options)

    def define(cls: type | None = None, **options: Any) -> Any:
        """Make a class as `attrs.define` does, with shared methods; one that compares has no hash.

        >>> @define
        ... class Count:
        ...     value: int = 0
        >>> Count() == Count(0), Count.__hash__
        (True, None)
        """
        return _decorated(cls, "define", options)


def has(cls: type) -> bool:
    """Say whether a class was made here or by attrs.

    >>> has(int)
    False
    """
    return hasattr(cls, "__own_fields__") or hasattr(cls, "__attrs_attrs__")


def asdict(value: Any) -> dict[str, Any]:
    """Return the fields of a value by name, as they are."""
    return {field.name: getattr(value, field.name) for field in fields(type(value))}


def astuple(value: Any) -> tuple[Any, ...]:
    """Return the fields of a value in order, as they are."""
    return tuple(asdict(value).values())


def _decorated(cls: type | None, kind: str, options: dict[str, Any]) -> Any:
    if cls is None:
        return partial(_decorated, kind=kind, options=options)
    own = own_fields(cls, kw_only=options.get("kw_only", False))
    if own is None or not options.keys() <= SHARED or issubclass(cls, BaseException):
        import attrs

        for name, value in list(cls.__dict__.items()):
            if isinstance(value, Wish):
                setattr(cls, name, as_attrs(Field(name, None, value.options)))
        return getattr(attrs, kind)(**options)(cls)
    return _shared(cls, own, kind == "frozen", options)


def _shared(cls: Any, own: dict[str, Field], frozen: bool, options: dict[str, Any]) -> Any:
    of_author = cls.__dict__
    every = with_inherited(cls, own.values())
    parts = tuple([each.for_core() for each in every])
    constructor = _values.constructor(cls.__name__, parts, validated(cls, every))
    makes_init = options.get("init", "__init__" not in of_author)
    added: dict[str, Any] = {
        "__own_fields__": own,
        "__all_fields__": every,
        "__attrs_attrs__": AS_ATTRS,
        "__signature__": SIGNATURE,
        "__init__" if makes_init else "__attrs_init__": constructor,
    }
    if "__match_args__" not in of_author:
        positional = [each.name for each in every if each.init and not each.kw_only]
        added["__match_args__"] = tuple(positional)
    if options.get("repr", True) and "__repr__" not in of_author:
        added["__repr__"] = _shown
    compares = options.get("eq", True) and "__eq__" not in of_author and "__ne__" not in of_author
    hashes = compares and "__hash__" not in of_author
    if compares:
        added |= _comparison(cls, every, hashes, frozen)
    if frozen:
        added["__setattr__"], added["__delattr__"] = _refuse_change, _refuse_removal
    has_slots = options.get("slots", True)
    made: Any = _with_slots(cls, own, added) if has_slots else _without_slots(cls, own, added)
    _values.attach(made, constructor, compares, hashes and frozen)
    return made


def _comparison(cls: Any, every: tuple[Field, ...], hashes: bool, frozen: bool) -> dict[str, Any]:
    """Return equality by the fields, and with it a hash, which a class that changes lacks.

    Only subclasses run these: for the class itself, the core does the same.
    """
    name = cls.__qualname__
    names = [field.name for field in every if field.eq]
    values: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def equal(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def key(self: Any) -> int:
        return hash((name, values(self)))

    if not hashes:
        return {"__eq__": equal}
    return {"__eq__": equal, "__hash__": key if frozen else None}


def _refuse_change(_self: Any, _name: str, _value: Any) -> NoReturn:
    from attrs.exceptions import FrozenInstanceError

    raise FrozenInstanceError


def _refuse_removal(self: Any, name: str) -> NoReturn:
    _refuse_change(self, name, None)


@recursive_repr("...")
def _shown(self: Any) -> str:
    shown = (field for field in fields(type(self)) if field.repr is not False)
    name = self.__class__.__qualname__.rpartition(">.")[2]
    return f"{name}({', '.join(f'{field.name}={_text(self, field)}' for field in shown)})"


def _text(value: Any, field: Any) -> str:
    found = getattr(value, field.name)
    return repr(found) if field.repr is True else field.repr(found)


_METHODS: Final = (FunctionType, property, classmethod, staticmethod)


def _with_slots(cls: Any, own: Collection[str], added: dict[str, Any]) -> Any:
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
        if isinstance(value, _METHODS):
            _lead_to(made, cls, value)
    return made


def _without_slots(cls: Any, own: Collection[str], added: dict[str, Any]) -> Any:
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
