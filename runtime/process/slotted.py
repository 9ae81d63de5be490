"""Make frozen classes as attrs does, and leave to the first use what only that needs.

attrs takes about two million instructions a class: it describes each field, and writes and compiles
methods. Most processes make no instance of most classes that they import. Here a class gets slots
and shared methods at once; `__init__` is compiled for the first instance, and attrs describes the
fields when `attrs.fields` asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MethodType
from typing import Any, Final

import attrs

from .initializers import BIND, Spec, Told, initializer

Rows = dict[str, Any]  # by field: what stood in the class, a default or what `attrs.field` returns

CLASS_VARIABLES: Final = ("ClassVar", "typing.ClassVar", "t.ClassVar", "typing_extensions.ClassVar")
_MATCHED: Final = "__match_args__"  # a name that mypy guards
_rows: Final[dict[type, Rows]] = {}  # of the classes made here, with the fields of their bases
_by_keyword: Final[dict[type, frozenset[str]]] = {}  # the fields that have no position


class _Example:
    pass


_example: Any = attrs.frozen(eq=False, repr=False)(_Example)
REFUSING: Final = {name: getattr(_example, name) for name in ("__setattr__", "__delattr__")}


def make(
    cls: type,
    *,
    frozen: bool = True,
    kw_only: bool = False,
    init: bool = True,
    slots: bool = True,
) -> Any:
    """Return the class, a new one if it gets slots; None if attrs has to make it.

    Without `init`, the method is called `__attrs_init__`.
    """
    own = cls.__dict__
    annotations = own.get("__annotations__", {})
    names = [name for name, text in annotations.items() if not _is_class_variable(text)]
    known = _inherited(cls, names, takes_all=frozen and slots and not kw_only)
    if known is None or not _is_simple(cls, annotations) or init is ("__init__" in own):
        return None
    if not frozen and (not slots or _reacts(cls)):
        return None
    values = {name: own.get(name, attrs.NOTHING) for name in names}
    made: Any = cls
    if slots:
        made = type(cls)(cls.__name__, cls.__bases__, _content(cls, names, frozen))
        _adopt(cls, made)
    else:
        _strip(cls, names)
    _rows[made] = rows = known | values
    _by_keyword[made] = _keywords(made, names, kw_only)
    if slots and "__getstate__" not in own and "__setstate__" not in own:
        made.__getstate__, made.__setstate__ = _state_methods(tuple(rows))
    if _MATCHED not in own:
        setattr(made, _MATCHED, Positional(made))
    made.__attrs_attrs__ = Fields(made)
    name = "__init__" if init else "__attrs_init__"
    setattr(made, name, Initializer(made, name))
    return made


def compared(cls: type) -> list[str]:
    """Return the fields that take part in comparison."""
    rows = _rows[cls].items()
    return [name for name, value in rows if not isinstance(value, Told) or value.eq]


def _is_class_variable(text: Any) -> bool:
    return isinstance(text, str) and text.strip("'\"").startswith(CLASS_VARIABLES)


def _inherited(cls: type, names: Sequence[str], *, takes_all: bool) -> Rows | None:
    """Return the fields of the bases; None where only attrs knows the order."""
    bases = [base for base in cls.__mro__[1:-1] if "__attrs_attrs__" in base.__dict__]
    if not bases:
        return {}
    first = bases[0]
    if first not in _rows or not takes_all or not all(issubclass(first, each) for each in bases):
        return None
    return {name: value for name, value in _rows[first].items() if name not in names}


def _keywords(cls: type, own: Sequence[str], kw_only: bool) -> frozenset[str]:
    """Return the fields without position, those of bases too."""
    rows = _rows[cls]
    before = next((_by_keyword[base] for base in cls.__mro__[1:-1] if base in _by_keyword), ())
    described = [name for name in own if isinstance(rows[name], Told)]
    told = own if kw_only else [name for name in described if rows[name].kw_only]
    return frozenset([*(name for name in before if name not in own), *told])


def _is_simple(cls: type, annotations: Mapping[str, Any]) -> bool:
    """Tell whether a class has nothing that attrs treats in ways of its own."""
    own = cls.__dict__
    special = ("__slots__", "__setattr__", "__attrs_pre_init__")
    described = {name: each for name, each in own.items() if isinstance(each, Told)}
    return not (
        issubclass(cls, BaseException)
        or any(name in own for name in special)
        or any("__init_subclass__" in base.__dict__ for base in cls.__mro__[:-1])
        or any(isinstance(value, cached_property) for value in own.values())
        or not all(isinstance(text, str) for text in annotations.values())
        or not described.keys() <= annotations.keys()
        or any(
            isinstance(each.converter, attrs.Converter) or each.eq_key
            for each in described.values()
        )
    )


def _reacts(cls: type) -> bool:
    """Tell whether assignments to a class that is not frozen convert or validate."""
    told = [each for each in vars(cls).values() if isinstance(each, Told)]
    return any(each.converter or each._validator or each.on_setattr for each in told)


def _content(cls: type, names: Sequence[str], frozen: bool) -> dict[str, Any]:
    """Return what stands in the class with slots."""
    left_out = {"__dict__", "__weakref__", *names}
    content = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    bases = cls.__mro__[1:-1]
    slots = {
        name: getattr(base, name)
        for base in reversed(bases)
        for name in base.__dict__.get("__slots__", ())
        if name in names
    }
    weak = any(base.__dict__.get("__weakref__") is not None for base in bases)
    own = [name for name in names if name not in slots]
    return {
        **content,
        **slots,
        **(REFUSING if frozen else {}),
        "__slots__": (*own, *(() if weak else ("__weakref__",))),
        "__qualname__": cls.__qualname__,
        "__attrs_own_setattr__": frozen,
    }


def _strip(cls: type, names: Sequence[str]) -> None:
    """Make a class without slots refuse assignment, and take the fields out of it."""
    for name in names:
        if name in cls.__dict__:
            delattr(cls, name)
    for name, method in REFUSING.items():
        setattr(cls, name, method)
    cls.__attrs_own_setattr__ = True  # type: ignore[attr-defined]  # attrs looks for it


def _adopt(cls: type, made: type) -> None:
    """Let methods that name their class, as `super()` does, name the new one."""
    for item in made.__dict__.values():
        inner = getattr(item, "fget", None) if isinstance(item, property) else item
        function = getattr(inner, "__func__", inner)
        for cell in getattr(function, "__closure__", None) or ():
            try:
                is_old = cell.cell_contents is cls
            except ValueError:  # the cell is empty
                continue
            if is_old:
                cell.cell_contents = made


def _state_methods(names: tuple[str, ...]) -> tuple[Callable[..., Any], Callable[..., None]]:
    """Return the methods that copies and pickles use."""

    def state(self: Any) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def restore(self: Any, values: Mapping[str, Any]) -> None:
        put = BIND(self)
        for name in names:
            if name in values:
                put(name, values[name])

    return state, restore


# --- what the first use makes -------------------------------------------------------------------


class Described(tuple["attrs.Attribute[Any]", ...]):
    """The fields of a class, by place or by name."""

    __slots__ = ()

    def __getattr__(self, name: str) -> attrs.Attribute[Any]:
        for field in self:
            if field.name == name:
                return field
        raise AttributeError(name)


class Fields:
    """`__attrs_attrs__` of a class: the fields are described when somebody looks."""

    def __init__(self, owner: type) -> None:
        self._owner = owner

    def __get__(self, _: object, __: type | None = None) -> Described:
        cls: Any = self._owner
        own = vars(cls).get("__annotations__", {})
        before = next((base for base in cls.__mro__[1:] if base in _rows), None)
        inherited = {} if before is None else {each.name: each for each in attrs.fields(before)}
        keywords = _by_keyword[cls]
        cls.__attrs_attrs__ = found = Described(
            _attribute(spec, own[spec.name], spec.name in keywords)
            if spec.name in own
            else inherited[spec.name].evolve(inherited=True)
            for spec in _specs(cls)
        )
        return found


def _attribute(spec: Spec, type_: Any, kw_only: bool) -> attrs.Attribute[Any]:
    told = spec.told
    return attrs.Attribute(  # type: ignore[call-arg]  # stubs leave out how it is made
        name=spec.name, default=spec.default, validator=spec.validator, repr=told.repr, cmp=None,
        hash=told.hash, init=spec.init, inherited=False, metadata=told.metadata, type=type_,
        converter=spec.converter, kw_only=kw_only, eq=told.eq, eq_key=told.eq_key,
        order=told.order, order_key=told.order_key, on_setattr=told.on_setattr, alias=spec.alias,
    )  # fmt: skip


class Positional:
    """`__match_args__` of a class: the fields in the order of patterns."""

    def __init__(self, owner: type) -> None:
        self._owner = owner

    def __get__(self, _: object, __: type | None = None) -> tuple[str, ...]:
        cls: Any = self._owner
        keywords = _by_keyword[cls]
        specs = [each for each in _specs(cls) if each.init and each.name not in keywords]
        found = tuple(each.name for each in specs)
        setattr(cls, _MATCHED, found)
        return found


class Initializer:
    """`__init__` of a class: a look at it compiles the function, which replaces this."""

    def __init__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, _: type | None = None) -> Any:
        cls = self._owner
        made = initializer(cls, self._name, _specs(cls), _by_keyword[cls])
        setattr(self._owner, self._name, made)
        return made if instance is None else MethodType(made, instance)


def _specs(cls: type) -> list[Spec]:
    return [Spec(name, value) for name, value in _rows[cls].items()]
