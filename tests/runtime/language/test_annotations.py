"""Sections 2.1 to 2.3: annotations and the types they stand for."""

import collections
import dataclasses
import pickle
import sys
import typing
from typing import Annotated, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pytest

from fieldforge.runtime.language.annotations import (
    AnnotationError,
    Dims,
    field_alias,
    type_from_annotation,
)
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.types import FieldType, ScalarType

from ...dimensions import I, J, K

V2E = Dimension("V2E", kind=DimensionKind.LOCAL)
T = TypeVar("T")
float64, int32 = np.float64, np.int32
REAL = ScalarType("float64")


class Field:
    """Stands in for the class of fields, which lives elsewhere and uses `field_alias`."""

    __fieldforge_field__ = True

    def __class_getitem__(cls, parameters):
        return field_alias(cls, parameters)


IJField: TypeAlias = Field[Dims[I, J], T]


def test_2_2_a_generic_alias_takes_its_dtype_later():
    assert IJField[float64] == Field[[I, J], float64]
    assert repr(IJField[int32]) == "Field[[I, J], int32]"
    assert type_from_annotation(IJField[float64]) == FieldType((I, J), REAL)


def test_2_2_annotations_can_be_combined_and_pickled():
    assert typing.get_args(Field[[I], float64] | None)[1] is type(None)
    alias = Field[[I], float]  # the stand-in cannot be found by a pickle of another process
    assert pickle.loads(pickle.dumps(Dims[I, J])) == Dims[I, J]
    assert alias.__reduce__()[0](*alias.__reduce__()[1]) == alias


@pytest.mark.parametrize("parameters", [I, ([I],), ([I], float, int)])
def test_2_2_a_field_takes_exactly_two_parameters(parameters):
    with pytest.raises(TypeError, match="requires two arguments"):
        Field[parameters]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Field[[], int32], FieldType((), ScalarType("int32"))),
        (Field[Dims[I, K], float], FieldType((I, K), REAL)),
        (Field[[I, V2E, K], bool], FieldType((I, V2E, K), ScalarType("bool"))),
        (Field[[I], "float64"], FieldType((I,), REAL)),
        ("Field[[I], float64]", FieldType((I,), REAL)),
        (Annotated[IJField[float64], "height"], FieldType((I, J), REAL)),
        (typing.ForwardRef("IJField[float64]"), FieldType((I, J), REAL)),
        (FieldType((I,), REAL), FieldType((I,), REAL)),
    ],
)
def test_2_2_field_annotations(annotation, expected):
    assert type_from_annotation(annotation, globals()) == expected


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (int, "int64"),
        (float, "float64"),
        (bool, "bool"),
        (np.bool_, "bool"),
        (np.uint8, "uint8"),
        (np.float32, "float32"),
        (np.dtype("int16"), "int16"),
        ("int32", "int32"),
    ],
)
def test_2_1_scalar_annotations(annotation, name):
    assert type_from_annotation(annotation, globals()) == ScalarType(name)


def test_2_3_local_collections_with_string_annotations_are_resolved():
    class Local(NamedTuple):
        h: "Field[[I], real]"  # noqa: F821 - it is known where the annotation is read

    found = type_from_annotation(Local, {"real": float64})

    assert found.elements == (FieldType((I,), REAL),)
    assert found.python_class is Local


def test_2_2_aliases_of_the_type_statement_are_resolved():
    alias = pytest.importorskip("typing_extensions").TypeAliasType
    real = alias("real", float64)
    ij = alias("ij", Field[[I, J], T], type_params=(T,))

    assert type_from_annotation(Field[[I], real]) == FieldType((I,), REAL)
    assert type_from_annotation(ij[real]) == FieldType((I, J), REAL)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement is new in Python 3.12")
def test_2_2_the_type_statement_is_resolved():
    names = dict(globals())
    exec("type Line[R] = Field[[I], R]\ntype Real = float64", names)

    assert type_from_annotation(names["Line"][names["Real"]]) == FieldType((I,), REAL)


@dataclasses.dataclass
class WithDefault:
    h: float = 1.0


@dataclasses.dataclass
class WithFactory:
    h: float = dataclasses.field(default_factory=float)


@dataclasses.dataclass
class WithInitVar:
    h: float
    scale: dataclasses.InitVar[float]


@dataclasses.dataclass
class WithInit:
    h: float

    def __init__(self, h):
        self.h = 2 * h


@dataclasses.dataclass(init=False)
class WithoutInit:
    h: float


@dataclasses.dataclass
class Itself:
    inner: "Itself"


Bare = collections.namedtuple("Bare", ["u"])


@pytest.mark.parametrize(
    "kind", [WithDefault, WithFactory, WithInitVar, WithInit, WithoutInit, Bare]
)
def test_2_3_classes_that_cannot_hold_fields_are_refused(kind):
    with pytest.raises(ValueError, match=f"'{kind.__name__}' is not a valid field container"):
        type_from_annotation(kind)


def test_2_3_a_collection_inside_itself_is_refused():
    with pytest.raises(AnnotationError, match="'Itself' contains itself"):
        type_from_annotation(Itself, globals())


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (Field[[J, I], float], "are not ordered correctly, expected 'I"),
        (Field[I, float], "must be a list of dimensions, got 'I'"),
        (Field[[int], float], "must be 'Dimension' objects, got 'int'"),
        (Field[[I], tuple[int]], "must be a scalar type, got 'tuple"),
        (Field[[I], str], "dtype argument must be a scalar type"),
        (Field, "requires two arguments"),
        (IJField, "type variable '~T' has no value"),
        (tuple, "at least one argument"),
        (tuple[int, ...], "Unbound tuples"),
        (str, "'str' is not a scalar, field, tuple or collection"),
        (None, "'None' is not"),
        (int | None, "is not a scalar"),
        (np.zeros(2), "is not a scalar"),
        (I, "'I' is not a scalar"),
        ("Feild[[I], float]", "Undefined name 'Feild'"),
        ("Field[", "cannot be evaluated"),
    ],
)
def test_2_anything_else_is_refused_with_the_reason(annotation, message):
    with pytest.raises(ValueError, match="(?s)" + message.replace("[", r"\[")):
        type_from_annotation(annotation, globals())
