"""Counterpart of `gt4py.next.type_system.type_specifications`: types as values."""

from ..runtime.language.types import (
    CollectionType,
    DataType,
    DomainType,
    FieldType,
    OffsetType,
    OperatorType,
    ScalarKind,
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
