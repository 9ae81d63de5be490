import numpy as np
import pytest

from fieldforge.runtime.fields.constructors import zeros
from fieldforge.runtime.fields.field import make
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.language.types import FieldType, ScalarType, TupleType
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.lower import build
from fieldforge.workflows.variants.naming import default_variant, leaf_name, variant_of, why

from ...dimensions import I, J, K

FLOAT = ScalarType("float64")


def unit(array):
    field = make(array, domain({I: array.shape[0], J: array.shape[1]}))
    return dict(variant_of(("u",), (field,), {}).unit).get("u")


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros((4, 5)), "J"),
        (np.zeros((4, 5), order="F"), "I"),
        (np.zeros((8, 10))[::2, ::2], None),
        (np.zeros((1, 10))[:, ::2], "I"),
        (np.zeros((4, 1)), "I"),
        (np.zeros((0, 5)), "J"),
    ],
)
def test_contiguous_axis_is_found(array, expected):
    assert unit(array) == expected


def test_arguments_of_our_constructors_have_the_default_layout():
    fields = (zeros({I: 3, J: 4, K: 5}), (zeros({K: 5}), zeros({I: 3, K: 5})))
    types = (
        ("u", FieldType((I, J, K), FLOAT)),
        ("pair", TupleType((FieldType((K,), FLOAT), FieldType((I, K), FLOAT)))),
        ("n", FLOAT),
    )

    given = variant_of(("u", "pair", "n"), fields, {"n": 2.0})

    assert given == default_variant(types)
    assert given.unit == (("u", "I"), ("pair.0", "K"), ("pair.1", "K"))


def test_order_of_keywords_does_not_count():
    u, v = zeros({I: 3}), zeros({I: 3})

    assert variant_of(("u", "v"), (), {"v": v, "u": u}) == variant_of(("u", "v"), (u, v), {})


def test_what_is_no_field_has_no_layout():
    assert variant_of(("u",), (3.0,), {}) == Variant()
    assert variant_of(("u",), (np.zeros((3, 4)),), {}) == Variant()


def test_leaves_have_the_names_that_lower_gives():
    for path in ((), (1,), (0, 2)):
        assert leaf_name("u", path) == build.leaf_name("u", path)


def test_the_reason_of_a_variant_is_what_no_other_had():
    first = Variant(
        unit=(("u", "I"), ("v", "I")), static=(("n", "1"),), tables=(("C2E", 3, False),)
    )
    other = Variant(unit=(("u", "I"),), static=(("n", "1"),), tables=(("C2E", 3, False),))

    assert why(first, []) == "the first call"
    assert why(other, [first]) == "a call with another layout of v than variant 0"
    wanted = Variant(unit=(("u", "I"),), static=(("n", "2"),), tables=(("C2E", 3, True),))
    assert why(wanted, [first, other]) == (
        "a call with another value of n, other neighbours in C2E than variant 1"
    )
