import enum
import re

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.language.types import FieldType, ScalarType, TupleType
from fieldforge.runtime.process.errors import DSLTypeError
from fieldforge.workflows.entries.program import Program
from fieldforge.workflows.variants.builds import MANY, ManyVariantsWarning
from fieldforge.workflows.variants.call_shape import (
    combinations,
    spelled,
    static_rows,
)

from ...dimensions import I, Line

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


def test_a_python_number_that_the_type_represents_is_converted():
    assert list(combinations(TYPES, {"n": [3.0]})) == [(("n", "3"),)]


@pytest.mark.parametrize("value", [np.int64(1), 1.5, True, 2**40, "one", None])
def test_values_of_another_type_are_refused(value):
    with pytest.raises(DSLTypeError, match=r"expected 'int32', but static value .* has type"):
        list(combinations(TYPES, {"n": [value]}))


def fits(name, static, value):
    """Ask the row of a parameter, which the core does where it cannot tell by itself."""
    (row,) = static_rows(TYPES, (name,), static)
    return row[2](value)


def test_values_that_are_spelled_alike_are_the_same():
    assert not fits("x", (("x", "0.0"),), -0.0)
    assert fits("x", (("x", "nan"),), np.float64("nan"))
    assert fits("t", (("t.0", "1"), ("t.1.0", "2.0")), (np.int32(1), (np.float64(2.0),)))
    assert fits("n", (("n", "3"),), Level.TOP)
    assert fits("n", (), "three")
    assert not fits("n", (), 3)


# --- the variants of a program, told apart by the native core ------------------------------------


@ff.field_operator
def scaled(u: Line, by: ff.float64) -> Line:
    return u * by


@ff.program(backend=ff.cpu, static_params=("by",))
def scale(u: Line, by: ff.float64, out: Line):
    scaled(u, by, out=out)


def results(program, *values):
    u, out = ff.as_field([I], [1.0, -2.0]), ff.zeros({I: 2})
    for value in values:
        program(u, value, out)
        yield out.asnumpy().tolist()


def test_signs_of_zeros_and_nan_have_variants_of_their_own():
    program = scale.with_backend(ff.cpu)

    (zero, minus, first, second) = results(program, 0.0, -0.0, float("nan"), float("nan"))

    assert str(zero) == "[0.0, -0.0]"
    assert str(minus) == "[-0.0, 0.0]"
    assert np.isnan(first).all()
    assert np.isnan(second).all()
    assert len(program.entries) == 3


def test_addresses_that_are_used_again_mislead_nobody():
    program = scale.with_backend(ff.cpu)
    values = [float(f"{n % 5}.5") for n in range(200)]  # each a new object, soon forgotten

    found = list(results(program, *(value + 0.0 for value in values)))

    assert found == [[value, -2.0 * value] for value in values]
    assert len(program.entries) == 5


def test_a_value_that_is_no_number_is_refused_and_spoils_nothing():
    program = scale.with_backend(ff.cpu)

    with pytest.raises(ff.errors.ArgumentError, match="'by' to be of type 'float64', got 'str'"):
        list(results(program, "two"))
    assert list(results(program, 2.0)) == [[2.0, -4.0]]


def test_static_programs_are_called_without_python_in_between():
    assert type(scale) is Program


def test_calls_that_bring_ever_new_static_values_are_warned_of_once():
    program = scale.with_backend(ff.reference)
    u, out = ff.ones({I: 3}), ff.zeros({I: 3})

    def calls():
        for by in range(MANY + 3):
            program(u, float(by), out)

    with pytest.warns(ManyVariantsWarning) as caught:
        calls()

    assert len(caught) == 1
    assert "'scale' have compiled 8 variants" in str(caught[0].message)
    assert "'by' (0.0, 1.0, 2.0, ...)" in str(caught[0].message)


@pytest.mark.filterwarnings("error")
def test_values_that_are_asked_for_are_not_warned_of():
    scale.with_backend(ff.reference).with_static_params(None).build(
        by=[float(by) for by in range(MANY + 3)]
    )


def test_variants_are_told_and_dropped_by_value():
    u, out = ff.ones({I: 3}), ff.zeros({I: 3})
    program = scale.with_backend(ff.cpu).build(by=[1.0, 2.0, 3.0])
    assert "  static by: 3 values: 1.0, 2.0, 3.0\n" in program.variants
    assert re.search(r"  a new value compiles a variant, in about \d+\.\d\d s\n", program.variants)

    assert program.drop_variants(by=2.0) == 1
    assert "by = 2.0" not in program.variants
    for by in (1.0, 2.0, 3.0):
        program(u, by, out)
        assert out.asnumpy().tolist() == [by] * 3
    assert program.drop_variants() == 3
    program(u, 3.0, out)
    assert "static by: 1 value: 3.0" in program.variants
