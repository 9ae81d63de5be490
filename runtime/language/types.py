"""The types of the language: scalars, fields, tuples, and what operators are made of."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np

from ..process import ArgumentError, DSLTypeError, classes
from . import collection, structure
from .dimension import Dimension, promote_dims

INTEGERS: Final = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS: Final = ("float32", "float64")
SCALARS: Final = ("bool", *INTEGERS, *FLOATS)


class ScalarKind(enum.StrEnum):
    """The scalar types by gt4py's names; each is equal to the `name` of ours.

    >>> ScalarType("float64").kind is ScalarKind.FLOAT64, ScalarKind.FLOAT64 == "float64"
    (True, True)
    """

    BOOL = "bool"
    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"


@classes.frozen
class ScalarType:
    """A number without dimensions; `name` is one of `SCALARS`.

    >>> str(ScalarType("float64"))
    'float64'
    """

    name: str = classes.field()

    @name.validator
    def _check_name(self, _: Any, name: str) -> None:
        if name not in SCALARS:
            raise ValueError(f"Expected one of {', '.join(SCALARS)}, got {name!r}.")

    @property
    def kind(self) -> ScalarKind:
        """The kind of the scalar type, by gt4py's name."""
        return ScalarKind(self.name)

    def __str__(self) -> str:
        return self.name


@classes.frozen
class FieldType:
    """Numbers of one dtype over dimensions in canonical order."""

    dims: tuple[Dimension, ...]
    dtype: ScalarType

    def __str__(self) -> str:
        return f"Field[[{', '.join(dim.value for dim in self.dims)}], {self.dtype}]"


@classes.frozen
class TupleType:
    """A fixed number of elements, nested at will."""

    elements: tuple[Type, ...]

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.elements))}]"


@classes.frozen
class CollectionType:
    """A named collection (NamedTuple or dataclass): a tuple whose elements have names."""

    name: str
    keys: tuple[str, ...]
    elements: tuple[Type, ...]
    python_class: type | None = classes.field(default=None, eq=False, repr=False)

    def __str__(self) -> str:
        inner = ", ".join(f"{k}: {t}" for k, t in zip(self.keys, self.elements, strict=True))
        return f"{self.name}({inner})"


@classes.frozen
class OffsetType:
    """A `FieldOffset`: from `source` to `target` (two targets: neighbours, the second local)."""

    name: str
    source: Dimension
    target: tuple[Dimension, ...]

    def __str__(self) -> str:
        return f"Offset[{self.name}]"


@classes.frozen
class DomainType:
    """A region of the space of some dimensions, as in `K < n`."""

    dims: tuple[Dimension, ...]

    def __str__(self) -> str:
        return f"Domain[{', '.join(dim.value for dim in self.dims)}]"


@classes.frozen
class OperatorType:
    """A field operator, scan operator or program: parameters by name and the result."""

    kind: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type | None

    def __str__(self) -> str:
        inner = ", ".join(str(type_) for _, type_ in self.parameters)
        return f"{self.kind}({inner}) -> {self.result}"


DataType: TypeAlias = ScalarType | FieldType | TupleType | CollectionType
Type: TypeAlias = DataType | OffsetType | OperatorType


def leaves(type_: Type, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Type]]:
    """Yield the scalars and fields inside `type_`, depth first, each with its path.

    >>> pair = TupleType((ScalarType("bool"), TupleType((ScalarType("int32"),))))
    >>> [(path, str(leaf)) for path, leaf in leaves(pair)]
    [((0,), 'bool'), ((1, 0), 'int32')]
    """
    if isinstance(type_, TupleType | CollectionType):
        for index, element in enumerate(type_.elements):
            yield from leaves(element, (*path, index))
    else:
        yield path, type_


_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(-(2**63), 2**63)


def type_of_value(value: Any) -> DataType:
    """Return the type of a Python value: a number, a tuple, a collection or a field.

    An object with a `__gt_type__()` that is one of our types says it itself.

    >>> str(type_of_value((1, 2**40, 1.0, np.float32(1), True)))
    'tuple[int32, int64, float64, float32, bool]'
    """
    if isinstance(value, enum.Enum):
        value = value.value
    parts = structure.elements(value)
    if parts is not None:
        types = tuple(map(type_of_value, parts))
        kind = type(value)
        if collection.is_collection(kind):
            return CollectionType(kind.__qualname__, collection.keys_of(kind), types, kind)
        return TupleType(types)
    if getattr(type(value), "__fieldforge_field__", False):
        return FieldType(value.domain.dims, ScalarType(np.dtype(value.dtype.scalar_type).name))
    offered = getattr(value, "__gt_type__", None)
    if offered is not None and isinstance(found := offered(), DataType):
        return found
    return ScalarType(scalar_name(value))


def scalar_name(value: Any) -> str:
    """Return the dtype of a number: an int is int32 if it fits, else int64."""
    if isinstance(value, np.generic) and value.dtype.name in SCALARS:
        return value.dtype.name
    match value:
        case bool():
            return "bool"
        case int() if value in _INT32:
            return "int32"
        case int() if value in _INT64:
            return "int64"
        case int():
            raise IntegerRangeError(f"The integer {value} does not fit in 64 bits.")
        case float():
            return "float64"
    raise ArgumentError(
        f"Expected a number, a field, or a tuple of them, got an object of type "
        f"'{type(value).__name__}'."
    )


class IntegerRangeError(ArgumentError, ValueError):
    """A Python integer that no integer type of the language can hold."""


def promote(*types: ScalarType | FieldType) -> ScalarType | FieldType:
    """Return the type of an operation on scalars and fields; their dtypes must be the same.

    >>> I, J = Dimension("I"), Dimension("J")
    >>> real = ScalarType("float64")
    >>> str(promote(FieldType((J,), real), real, FieldType((I,), real)))
    'Field[[I, J], float64]'
    """
    dtypes = [t.dtype if isinstance(t, FieldType) else t for t in types]
    for type_, dtype in zip(types, dtypes, strict=True):
        if dtype != dtypes[0]:
            raise DSLTypeError(
                None,
                f"Could not promote '{types[0]}' and '{type_}' to common type.",
                notes=["There are no implicit conversions between number types."],
                hints=[f"Convert one of them, for example with 'astype(x, {dtypes[0]})'."],
            )
    fields = [t.dims for t in types if isinstance(t, FieldType)]
    return FieldType(promote_dims(*fields), dtypes[0]) if fields else dtypes[0]
