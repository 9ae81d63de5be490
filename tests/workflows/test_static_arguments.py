import enum

import numpy as np
import pytest

from fieldforge.runtime.dimension import Dimension
from fieldforge.runtime.errors import DSLTypeError
from fieldforge.runtime.types import FieldType, ScalarType, TupleType
from fieldforge.workflows.static_arguments import check_names, combinations, key_of, spelled

INT, REAL = ScalarType("int32"), ScalarType("float64")
PAIR = TupleType((INT, TupleType((REAL,))))
TYPES = {"n": INT, "x": REAL, "t": PAIR, "u": FieldType((Dimension("I"),), REAL)}


class Level(enum.Enum):
    TOP = 3


def test_every_combination_is_there():
    found = list(combinations(TYPES, {"n": [1, 2], "x": [0.5, 1.0]}))

    assert len(found) == 4
    assert found[0] == (("n", "1"), ("x", "0.5"))


def test_elements_of_tuples_are_named_one_by_one():
    assert spelled(TYPES, "t", (3, (0.1,))) == (("t.0", "3"), ("t.1.0", "0.1"))


def test_members_of_an_enum_count_by_value():
    assert list(combinations(TYPES, {"n": [Level.TOP]})) == [(("n", "3"),)]
    assert key_of(Level.TOP) == key_of(3)


@pytest.mark.parametrize("value", [np.int64(1), 1.0, True, 2**40, "one", None])
def test_values_of_another_type_are_refused(value):
    with pytest.raises(DSLTypeError, match=r"expected 'int32', but static value .* has type"):
        list(combinations(TYPES, {"n": [value]}))


def test_fields_and_unknown_names_are_refused():
    with pytest.raises(DSLTypeError, match="Invalid static argument 'u' with type 'Field"):
        check_names(TYPES, ["u"], "p")
    with pytest.raises(DSLTypeError, match="Invalid parameter expression 'm'"):
        check_names(TYPES, ["m"], "p")


def test_zeros_have_signs_and_nan_is_itself():
    assert key_of(0.0) != key_of(-0.0)
    assert key_of(float("nan")) == key_of(np.float64("nan"))
    assert key_of((1, 2.0)) == key_of((np.int32(1), np.float64(2.0)))
