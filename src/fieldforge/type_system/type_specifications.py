"""What `gt4py.next.type_system.type_specifications` offers: the types of the language as values."""

from __future__ import annotations

import enum

from ..runtime.language.types import (
    CollectionType,
    DataType,
    DomainType,
    FieldType,
    OffsetType,
    OperatorType,
    ScalarType,
    TupleType,
    Type,
)

__all__ = [
    "DataType",
    "DomainType",
    "FieldType",
    "NamedCollectionType",
    "OffsetType",
    "OperatorType",
    "ScalarKind",
    "ScalarType",
    "TupleType",
    "TypeSpec",
]

NamedCollectionType = CollectionType
TypeSpec = Type


class ScalarKind(enum.StrEnum):
    """The scalar types by gt4py's names; each is equal to the `name` of ours.

    >>> ScalarType("float64").name == ScalarKind.FLOAT64
    True
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
