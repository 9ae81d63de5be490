"""Annotations: `Field[Dims[I, J], float64]` and its relatives, and the types they stand for."""

from __future__ import annotations

import builtins
import sys
import types as python_types
import typing
from collections import ChainMap
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, cast

import numpy as np

from ..process import ArgumentError, FieldforgeError
from . import collection
from .dimension import Dimension, check_dims
from .structure import elements, rebuilt
from .types import (
    SCALARS,
    CollectionType,
    FieldType,
    OffsetType,
    OperatorType,
    ScalarType,
    TupleType,
    Type,
)

_NUMBERS: Final[Mapping[Any, ScalarType]] = {
    bool: ScalarType("bool"),
    int: ScalarType("int64"),
    float: ScalarType("float64"),
    **{np.dtype(name).type: ScalarType(name) for name in SCALARS},
}
_TYPES: Final = (ScalarType, FieldType, TupleType, CollectionType, OffsetType, OperatorType)
_MOST_NESTED: Final = 64


class AnnotationError(FieldforgeError, ValueError):
    """An annotation is not a type of the language; the message says why.

    `parse` makes it the note of an `InvalidAnnotationError`, which knows the place.
    """


class Dims(tuple[Any, ...]):
    """The dimensions of a field in an annotation: `Dims[I, J]`.

    >>> Dims[Dimension("I"), Dimension("J")]
    Dims[I, J]
    """

    __slots__ = ()

    def __class_getitem__(cls, dims: Any) -> Dims:  # type: ignore[override]  # a tuple gives an alias
        return cls(dims if isinstance(dims, tuple) else (dims,))

    @property
    def __args__(self) -> tuple[Any, ...]:
        """The dimensions, where `typing.get_args` users look for them."""
        return tuple(self)

    def __repr__(self) -> str:
        return f"Dims[{', '.join(_name(dim) for dim in self)}]"


class FieldAlias(python_types.GenericAlias):
    """The value of `Field[Dims[...], T]`: `typing.get_args` gives `(dims, dtype)`."""

    def __repr__(self) -> str:
        dims, dtype = self.__args__
        inner = ", ".join(_name(dim) for dim in dims) if isinstance(dims, tuple) else _name(dims)
        return f"Field[[{inner}], {_name(dtype)}]"

    __str__ = __repr__

    def __getitem__(self, arguments: Any) -> FieldAlias:
        bound = super().__getitem__(arguments)
        return FieldAlias(cast(type, bound.__origin__), bound.__args__)

    def __reduce__(self) -> tuple[Any, ...]:
        return FieldAlias, (self.__origin__, self.__args__)


def field_alias(origin: type, parameters: Any) -> FieldAlias:
    """Return the alias `origin[parameters]`, for `Field.__class_getitem__`.

    The class `origin` carries a true attribute `__fieldforge_field__`.
    """
    if not (isinstance(parameters, tuple) and len(parameters) == 2):
        given = len(parameters) if isinstance(parameters, tuple) else 1
        raise ArgumentError(
            f"Field type requires two arguments, dimensions and a dtype, got {given}.",
            hints=["Write 'Field[Dims[I, J], float64]' or 'Field[[I, J], float64]'."],
        )
    dims, dtype = parameters
    return FieldAlias(origin, (Dims(dims) if isinstance(dims, list | tuple) else dims, dtype))


class _Field:
    """What `Field` means in an annotation that is text, where the module has no such name."""

    __fieldforge_field__ = True

    def __class_getitem__(cls, parameters: Any) -> FieldAlias:
        return field_alias(cls, parameters)


LANGUAGE: Final[Mapping[str, Any]] = {
    **{name: np.dtype(name).type for name in SCALARS if name != "bool"},
    "Dims": Dims,
    "Field": _Field,
}


def holds_text(annotation: Any) -> bool:
    """Tell whether an annotation is a string, or one stands inside it: `Field[[I], "float64"]`."""
    waiting = [annotation]
    for each in waiting:  # the loop appends to it
        if isinstance(each, str | typing.ForwardRef):
            return True
        if isinstance(each, list | tuple):
            waiting += each
        elif not isinstance(each, _TYPES):
            waiting += typing.get_args(each)
    return False


def type_from_annotation(annotation: Any, names: Mapping[str, Any] | None = None) -> Type:
    """Return the type that an annotation stands for.

    Strings are evaluated among `names`, then among the names of the language.

    >>> str(type_from_annotation(tuple[int, Annotated[bool, "land or sea"]]))
    'tuple[int64, bool]'
    """
    return _read(annotation, ChainMap(dict(names or {}), dict(LANGUAGE)), ())


def type_variables(annotation: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the type variables of an annotation, with the paths of the leaves that have them.

    >>> T = typing.TypeVar("T", np.float32, np.float64)
    >>> list(type_variables(tuple[int, tuple[T, bool], T]))
    [((2,), ~T), ((1, 0), ~T)]
    """
    waiting: list[tuple[tuple[int, ...], Any]] = [((), annotation)]
    for path, written in waiting:  # the loop appends to it
        try:
            each = _unwrapped(written, {})
        except AnnotationError:  # `parse` says what is wrong with it
            continue
        origin, args = typing.get_origin(each), typing.get_args(each)
        if isinstance(each, typing.TypeVar):
            yield path, each
        elif getattr(origin, "__fieldforge_field__", False):
            waiting.append((path, args[1]))
        elif origin is tuple:
            waiting += (((*path, index), inner) for index, inner in enumerate(args))


def with_types(annotation: Any, chosen: Mapping[Any, ScalarType]) -> Any:
    """Return the type that an annotation with type variables means for a choice of their types.

    Annotations without variables, and those that are wrong, stay as they are.
    """
    if not any(True for _ in type_variables(annotation)):
        return annotation
    try:
        return _read(annotation, ChainMap(dict(chosen), dict(LANGUAGE)), ())
    except AnnotationError:
        return annotation


def with_annotated_types(value: Any) -> Any:
    """Return a number, tuple or collection; numbers in collections have the types of its class.

    A Python number becomes a NumPy scalar of the annotated type if it is of its kind and fits;
    other numbers and NumPy scalars stay as they are.

    >>> from typing import NamedTuple
    >>> State = NamedTuple("State", [("v", np.float32), ("count", np.int64)])
    >>> [type(each).__name__ for each in with_annotated_types(State(0.0, 1))]
    ['float32', 'int64']
    """
    parts = elements(value)
    if parts is None:
        return value
    if not collection.is_collection(type(value)):
        return rebuilt(value, tuple(map(with_annotated_types, parts)))
    try:
        return in_type(type_from_annotation(type(value)), value)
    except AnnotationError:
        return value


def in_type(type_: Any, value: Any) -> Any:
    """Return numbers of Python, also in tuples, in the type; what does not fit stays as it is."""
    parts = elements(value)
    if isinstance(type_, TupleType | CollectionType):
        if parts is None or len(parts) != len(type_.elements):
            return value
        return rebuilt(value, tuple(map(in_type, type_.elements, parts)))
    if not isinstance(type_, ScalarType) or not isinstance(value, bool | int | float):
        return value
    target = np.dtype(type_.name)
    if isinstance(value, bool) or target.kind == "b":
        return target.type(value) if isinstance(value, bool) and target.kind == "b" else value
    if target.kind == "f":
        made = target.type(value)
        return made if isinstance(value, float) or int(made) == value else value
    limits = np.iinfo(target)
    fits = isinstance(value, int) and limits.min <= value <= limits.max
    return target.type(value) if fits else value


def _read(annotation: Any, names: Mapping[Any, Any], inside: tuple[type, ...]) -> Type:
    """Read one level; `names` may hold type variables too, `inside` are the collections around."""
    annotation = _unwrapped(annotation, names)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, _TYPES):
        return annotation
    if isinstance(annotation, typing.Hashable) and annotation in _NUMBERS:
        return _NUMBERS[annotation]
    if isinstance(annotation, np.dtype) and annotation.type in _NUMBERS:
        return _NUMBERS[annotation.type]
    if getattr(origin, "__fieldforge_field__", False):
        return _field(args, names)
    if getattr(annotation, "__fieldforge_field__", False):
        raise AnnotationError("Field type requires two arguments, dimensions and a dtype, got 0.")
    if origin is tuple:
        return _tuple(args, names, inside)
    if annotation is tuple or annotation is typing.Tuple:  # noqa: UP006 - the user may write it
        raise AnnotationError("Tuple annotation requires at least one argument.")
    if collection.is_collection(annotation):
        return _collection(annotation, names, inside)
    if isinstance(annotation, typing.TypeVar):
        if annotation in names:
            return names[annotation]  # type: ignore[no-any-return]  # see `with_types`
        raise AnnotationError(f"The type variable '{annotation}' has no value here.")
    raise AnnotationError(
        f"'{_name(annotation)}' is not a scalar, field, tuple or collection type."
    )


def _unwrapped(annotation: Any, names: Mapping[str, Any]) -> Any:
    """Resolve strings, `Annotated` and type aliases."""
    for _ in range(_MOST_NESTED):
        origin = typing.get_origin(annotation)
        if isinstance(annotation, typing.ForwardRef):
            annotation = annotation.__forward_arg__
        if isinstance(annotation, str):
            annotation = _evaluated(annotation, names)
        elif origin is Annotated:
            annotation = typing.get_args(annotation)[0]
        elif _is_alias(annotation):
            annotation = annotation.__value__
        elif _is_alias(origin):
            annotation = origin.__value__[typing.get_args(annotation)]
        else:
            return annotation
    raise AnnotationError("The type alias never comes to an end.")


def _is_alias(annotation: Any) -> bool:
    """Return True for an alias made by a `type X = ...` statement."""
    return type(annotation).__name__ == "TypeAliasType"


def _evaluated(text: str, names: Mapping[str, Any]) -> Any:
    try:
        return eval(text, {"__builtins__": builtins}, names)
    except NameError as error:
        raise AnnotationError(
            f"Undefined name '{error.name}' in the annotation '{text}'."
        ) from None
    except Exception as error:  # an annotation may run any code of the user
        raise AnnotationError(f"The annotation '{text}' cannot be evaluated: {error}") from None


def _field(args: tuple[Any, ...], names: Mapping[str, Any]) -> FieldType:
    dims, dtype = args
    dims = _unwrapped(dims, names)
    if not isinstance(dims, tuple | list):
        raise AnnotationError(
            f"Field dimensions must be a list of dimensions, got '{_name(dims)}'."
        )
    dims = tuple(_unwrapped(dim, names) for dim in dims)
    for dim in dims:
        if not isinstance(dim, Dimension):
            raise AnnotationError(
                f"Field dimensions must be 'Dimension' objects, got '{_name(dim)}'."
            )
    check_dims(dims)
    try:
        number = _read(dtype, names, ())
    except AnnotationError as error:
        raise AnnotationError(f"Field dtype argument must be a scalar type. {error}") from None
    if not isinstance(number, ScalarType):
        raise AnnotationError(f"Field dtype argument must be a scalar type, got '{number}'.")
    return FieldType(dims, number)


def _tuple(args: tuple[Any, ...], names: Mapping[str, Any], inside: tuple[type, ...]) -> TupleType:
    if Ellipsis in args:
        raise AnnotationError("Unbound tuples 'tuple[T, ...]' are not allowed, give each element.")
    return TupleType(tuple(_read(arg, names, inside) for arg in args))


def _collection(kind: type, names: Mapping[str, Any], inside: tuple[type, ...]) -> CollectionType:
    if kind in inside:
        raise AnnotationError(f"The collection '{kind.__qualname__}' contains itself.")
    try:
        pairs = collection.annotations_of(kind)
    except ValueError as error:
        raise AnnotationError(str(error)) from None
    module = getattr(sys.modules.get(kind.__module__), "__dict__", {})
    within = {**module, **names}
    elements = tuple(_read(written, within, (*inside, kind)) for _, written in pairs)
    return CollectionType(kind.__qualname__, tuple(key for key, _ in pairs), elements, kind)


def _name(thing: Any) -> str:
    if isinstance(thing, Dimension):
        return thing.value
    if isinstance(thing, type) and not isinstance(thing, python_types.GenericAlias):
        return thing.__name__
    return str(thing)
