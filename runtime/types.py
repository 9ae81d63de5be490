"""The types of the language: scalars, fields, tuples, and what operators are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import attrs

from .dimension import Dimension

INTEGERS: Final = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS: Final = ("float32", "float64")
SCALARS: Final = ("bool", *INTEGERS, *FLOATS)


@attrs.frozen
class ScalarType:
    """A number without dimensions; `name` is one of `SCALARS`.

    >>> str(ScalarType("float64"))
    'float64'
    """

    name: str = attrs.field(validator=attrs.validators.in_(SCALARS))

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class FieldType:
    """Numbers of one dtype over dimensions in canonical order."""

    dims: tuple[Dimension, ...]
    dtype: ScalarType

    def __str__(self) -> str:
        return f"Field[[{', '.join(dim.value for dim in self.dims)}], {self.dtype}]"


@attrs.frozen
class TupleType:
    """A fixed number of elements, nested at will."""

    elements: tuple[Type, ...]

    def __str__(self) -> str:
        return f"tuple[{', '.join(map(str, self.elements))}]"


@attrs.frozen
class CollectionType:
    """A named collection (NamedTuple or dataclass): a tuple whose elements have names."""

    name: str
    keys: tuple[str, ...]
    elements: tuple[Type, ...]
    python_class: type | None = attrs.field(default=None, eq=False, repr=False)

    def __str__(self) -> str:
        inner = ", ".join(f"{k}: {t}" for k, t in zip(self.keys, self.elements, strict=True))
        return f"{self.name}({inner})"


@attrs.frozen
class OffsetType:
    """A `FieldOffset`: from `source` to `target` (two targets: all neighbours, the second local)."""

    name: str
    source: Dimension
    target: tuple[Dimension, ...]

    def __str__(self) -> str:
        return f"Offset[{self.name}]"


@attrs.frozen
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
