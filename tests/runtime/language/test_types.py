"""Sections 2.1, 2.3 and 3.4: the types of values, and of operations."""

import dataclasses
import enum
import types
from typing import NamedTuple

import numpy as np
import pytest

from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.language.types import (
    CollectionType,
    FieldType,
    ScalarType,
    TupleType,
    leaves,
    promote,
    type_of_value,
)
from fieldforge.runtime.process.errors import DSLTypeError

I, J = Dimension("I"), Dimension("J")
REAL, INT = ScalarType("float64"), ScalarType("int32")


class Pair(NamedTuple):
    a: float
    b: int


@dataclasses.dataclass
class Outer:
    pair: Pair
    flag: bool


class Constant(enum.Enum):
    PI = 3.14


class Count(enum.IntEnum):
    TWO = 2


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (3, "int32"),
        (-(2**31), "int32"),
        (2**31, "int64"),
        (2**63 - 1, "int64"),
        (1.0, "float64"),
        (True, "bool"),
        (np.bool_(True), "bool"),
        (np.float32(1), "float32"),
        (np.float64(1), "float64"),
        (np.uint8(1), "uint8"),
        (np.int64(1), "int64"),
        (Constant.PI, "float64"),
        (Count.TWO, "int32"),
    ],
)
def test_2_1_the_type_of_a_number(value, name):
    assert type_of_value(value) == ScalarType(name)


def test_2_1_an_integer_beyond_64_bits_has_no_type():
    with pytest.raises(ValueError, match="does not fit in 64 bits"):
        type_of_value(2**63)


@pytest.mark.parametrize("value", ["3", None, 1j, np.float16(1), [1], np.zeros(3)])
def test_2_1_other_objects_have_no_type(value):
    with pytest.raises(TypeError, match="Expected a number"):
        type_of_value(value)


def test_2_3_tuples_and_collections_have_the_types_of_their_elements():
    pair = CollectionType("Pair", ("a", "b"), (REAL, INT), Pair)

    assert type_of_value((1, (1.0,))) == TupleType((INT, TupleType((REAL,))))
    assert type_of_value(Outer(Pair(1.0, 2), True)) == CollectionType(
        "Outer", ("pair", "flag"), (pair, ScalarType("bool")), Outer
    )
    assert type_of_value(Pair(1.0, 2)).python_class is Pair


def test_2_2_a_field_has_the_dims_of_its_domain():
    class Field:
        __fieldforge_field__ = True
        domain = (I < 3) & (J < 3)
        dtype = types.SimpleNamespace(scalar_type=np.float64)

    assert type_of_value(Field()) == FieldType((I, J), REAL)


def test_2_2_an_object_may_say_its_own_type():
    class Anything:
        def __gt_type__(self):
            return FieldType((I,), REAL)

    assert type_of_value((Anything(), 1)) == TupleType((FieldType((I,), REAL), INT))


def test_3_4_scalars_broadcast_and_fields_go_to_the_union():
    assert promote(REAL, REAL) == REAL
    assert promote(REAL, FieldType((), REAL)) == FieldType((), REAL)
    assert promote(FieldType((J,), REAL), FieldType((I,), REAL)) == FieldType((I, J), REAL)


def test_3_4_there_is_no_implicit_conversion():
    with pytest.raises(DSLTypeError) as caught:
        promote(FieldType((I,), REAL), INT)

    assert caught.value.message == (
        "Could not promote 'Field[[I], float64]' and 'int32' to common type."
    )


def test_a_scalar_type_has_one_of_the_known_names():
    with pytest.raises(ValueError, match="float16"):
        ScalarType("float16")


def test_leaves_of_a_scalar_is_the_scalar_itself():
    assert list(leaves(REAL)) == [((), REAL)]
