"""The fields of a class: what `field` and annotations say, and their description by attrs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

NOTHING: Final = object()
NO_DEFAULT, VALUE, MADE, MADE_OF_SELF = range(4)  # as the core numbers them
_DEFAULT_ALONE: Final = {"default"}
CLASS_VARIABLES: Final = ("ClassVar", "typing.ClassVar", "t.ClassVar")
OPTIONS: Final[dict[str, Any]] = {
    "default": NOTHING, "factory": None, "converter": None, "validator": None, "repr": True,
    "eq": True, "init": True, "kw_only": False, "alias": None, "metadata": {},
}  # fmt: skip


class Wish:
    """What `field` was given, until the class is made."""

    __slots__ = ("options",)

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def default(self, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Let a method make the default, as a decorator."""
        self.options["of_self"] = method
        return method

    def validator(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Let a method check new values, as a decorator."""
        self.options["validator"] = method
        return method


def field(**options: Any) -> Any:
    """Describe a field as `attrs.field` does; attrs itself does so with options that it alone has.

    >>> type(field(default=2)).__name__, type(field(order=False)).__name__
    ('Wish', '_CountingAttr')
    """
    if options.keys() <= OPTIONS.keys() and isinstance(options.get("eq", True), bool):
        return Wish(options)
    import attrs

    return attrs.field(**options)


class Field:
    """A field of a class, with the names of `attrs.Attribute`.

    `otherwise` is the default, or what makes it, by `kind`; `default` is the default if it is the
    same for all values.
    """

    name: str
    type: Any
    alias: str
    default: Any = NOTHING
    converter: Callable[[Any], Any] | None = None
    validator: Callable[..., Any] | None = None
    repr: bool | Callable[[Any], str] = True
    eq: bool = True
    eq_key: Callable[[Any], Any] | None = None
    init: bool = True
    kw_only: bool = False
    metadata: Mapping[str, Any] = MappingProxyType({})
    kind: int = NO_DEFAULT
    otherwise: Any = NOTHING

    def __init__(self, name: str, type: Any, given: Mapping[str, Any]) -> None:  # noqa: A002
        self.name, self.type, self.alias = name, type, name.lstrip("_")
        if given:
            self._take(_without_factory(given))

    def _take(self, given: Mapping[str, Any]) -> None:
        if given.keys() == _DEFAULT_ALONE:  # most fields; a dictionary takes longer to make
            self.kind, self.default = VALUE, given["default"]
            self.otherwise = self.default
            return
        told = self.__dict__
        told.update(given)
        factory, of_self = told.pop("factory", None), told.pop("of_self", None)
        self.otherwise = of_self or factory or self.default
        has_none = NO_DEFAULT if self.default is NOTHING else VALUE
        self.kind = MADE_OF_SELF if of_self else MADE if factory else has_none
        self.alias = self.alias or self.name.lstrip("_")

    @property
    def is_required(self) -> bool:
        """Whether a new value needs it."""
        return self.kind == NO_DEFAULT

    def is_default(self, value: Any) -> bool:
        """Say whether a value is the default, of the same type."""
        if self.kind in (NO_DEFAULT, MADE_OF_SELF):
            return False
        default = self.otherwise() if self.kind == MADE else self.otherwise
        return type(default) is type(value) and bool(default == value)

    def for_core(self) -> tuple[Any, ...]:
        """Return what the constructor in the core reads."""
        rest = self.kind, self.otherwise, self.converter, self.init, self.kw_only, self.eq
        return self.name, self.alias, *rest


def _without_factory(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take a default that is a factory of attrs apart."""
    default: Any = given.get("default")
    if type(default).__module__ != "attr._make":
        return given
    rest = {name: value for name, value in given.items() if name != "default"}
    factory = getattr(default, "factory", None)  # `attrs.NOTHING` has none
    if factory is None:
        return rest
    return {**rest, "of_self" if default.takes_self else "factory": factory}


def own_fields(cls: type, kw_only: bool) -> dict[str, Field] | None:
    """Return the fields that a class adds to its bases; None where attrs made one."""
    found: dict[str, Field] = {}
    of_class = cls.__dict__
    for name, annotation in cls.__annotations__.items():
        if "ClassVar" in str(annotation) and _is_of_class(annotation):
            continue
        given = of_class.get(name, NOTHING)
        if type(given).__name__ == "_CountingAttr":
            return None
        options: dict[str, Any] = {"kw_only": True} if kw_only else {}
        if isinstance(given, Wish):
            options |= given.options
        elif given is not NOTHING:
            options["default"] = given
        found[name] = Field(name, annotation, options)
    return found


def _is_of_class(annotation: Any) -> bool:
    return str(annotation).strip("'\"").startswith(CLASS_VARIABLES)


def fields(cls: type) -> tuple[Any, ...]:
    """Return the fields of a class, those of its bases first."""
    kept: tuple[Any, ...] | None = cls.__dict__.get("__all_fields__")
    return with_inherited(cls, _added(cls)) if kept is None else kept


def with_inherited(cls: type, own: Iterable[Field]) -> tuple[Any, ...]:
    """Return the fields of the bases of a class, and its `own`."""
    found: dict[str, Any] = {}
    for added in (*map(_added, reversed(cls.__mro__[1:-1])), own):
        for field in added:
            found.pop(field.name, None)
            found[field.name] = field
    return tuple(found.values())


def _added(base: type) -> list[Field]:
    if "__own_fields__" in base.__dict__:
        return list(base.__dict__["__own_fields__"].values())
    of_attrs = base.__dict__.get("__attrs_attrs__", ())
    return [_of_attrs(each) for each in of_attrs if not each.inherited]


def _of_attrs(each: Any) -> Field:
    options = {name: getattr(each, name) for name in OPTIONS.keys() - {"factory"}}
    field = Field(each.name, each.type, options)
    field.eq_key = each.eq_key
    return field


def as_attrs(field: Field) -> Any:
    """Return a field as attrs describes it."""
    import attrs

    default: Any = field.otherwise
    if field.kind == NO_DEFAULT:
        default = attrs.NOTHING
    elif field.kind != VALUE:
        default = attrs.Factory(default, takes_self=field.kind == MADE_OF_SELF)  # type: ignore[call-overload]
    names = OPTIONS.keys() - {"default", "factory"}
    found = attrs.field(default=default, **{name: getattr(field, name) for name in names})
    found.type = field.type
    return found


def validated(cls: type, every: tuple[Field, ...]) -> Callable[[Any], object] | None:
    """Return what is called with each new value, None if nothing is."""
    checks = [(field, field.validator) for field in every if field.validator is not None]
    has_more = hasattr(cls, "__attrs_post_init__")
    if not checks and not has_more:
        return None

    def finish(value: Any) -> None:
        for field, check in checks:
            check(value, field, getattr(value, field.name))
        if has_more:
            value.__attrs_post_init__()

    return finish


class Made:
    """An attribute of a class that is made when it is first asked for."""

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[[Any], Any]) -> None:
        self.name, self.make = name, make

    def __get__(self, value: Any, kind: type) -> Any:
        owner = next(base for base in kind.__mro__ if base.__dict__.get(self.name) is self)
        if self is not SIGNATURE:
            made = self.make(owner)
            setattr(owner, self.name, made)
            return made
        if value is not None or kind is not owner:
            raise AttributeError(self.name)
        return self.make(owner)


def _described(cls: type) -> Any:
    """Let attrs describe the fields of a class."""
    import attrs

    every = {field.name: as_attrs(field) for field in fields(cls)}
    return attrs.make_class(cls.__name__, every, slots=False).__attrs_attrs__  # type: ignore[attr-defined]


def _signature(cls: type) -> Any:
    from inspect import Parameter, Signature

    parameters = [
        Parameter(
            field.alias,
            Parameter.KEYWORD_ONLY if field.kw_only else Parameter.POSITIONAL_OR_KEYWORD,
            default={NO_DEFAULT: Parameter.empty, VALUE: field.otherwise}.get(field.kind, ...),
            annotation=field.type,
        )
        for field in sorted(fields(cls), key=lambda each: each.kw_only)
        if field.init
    ]
    return Signature(parameters)


AS_ATTRS: Final = Made("__attrs_attrs__", _described)
SIGNATURE: Final = Made("__signature__", _signature)
