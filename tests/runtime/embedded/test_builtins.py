import math
import warnings

import numpy as np
import pytest

from fieldforge.runtime.embedded import builtins as language
from fieldforge.runtime.embedded.builtins import (
    astype,
    broadcast,
    float32,
    int32,
    max_over,
    maximum,
    min_over,
    minimum,
    neighbor_sum,
    power,
    where,
)
from fieldforge.runtime.fields.constructors import as_field
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.language.operations import POINTWISE
from fieldforge.runtime.language.types import FLOATS
from fieldforge.runtime.process.errors import ArgumentError, DomainError

from ...dimensions import I, J, K

FLOATING = [name for name, row in POINTWISE.items() if row.takes is FLOATS and hasattr(np, name)]


def test_4_the_names_are_those_of_the_language():
    functions = {
        name: value
        for name, value in vars(language).items()
        if hasattr(value, "__fieldforge_builtin__") and name != "MathBuiltin"
    }

    marks = {n: f.__fieldforge_builtin__ for n, f in functions.items() if not n.startswith("_")}
    assert marks == {name: name for name in marks}
    experimental = {"concat_where", "as_offset"}
    assert len(marks) == 35 + 2
    assert set(marks) - set(language.__all__) == experimental
    assert len(language.__all__) == 15 + 35
    declared = {name for name, type_ in language.__annotations__.items() if type_ == "MathBuiltin"}
    assert declared == set(POINTWISE)  # type checkers see what the table says
    assert language.int is int
    assert language.IndexType is np.int32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FLOATING)
def test_4_math_builtins_are_those_of_numpy(name, dtype):
    values = np.array([-2.5, -0.5, 0.0, 0.5, 2.5, np.inf, np.nan], dtype)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = getattr(language, name)(as_field([I], values))

    with np.errstate(all="ignore"):
        expected = getattr(np, name)(values)
    np.testing.assert_array_equal(result.asnumpy(), expected)
    assert result.dtype == expected.dtype
    assert isinstance(getattr(language, name)(dtype(1.5)), (dtype, np.bool_))


def test_4_gamma_is_the_gamma_function():
    assert language.gamma(5.0) == 24.0
    assert language.gamma(as_field([I], [0.5])).asnumpy()[0] == math.gamma(0.5)


@pytest.mark.parametrize("name", FLOATING)
def test_4_math_builtins_take_floats_only(name):
    with pytest.raises(ArgumentError, match="Expected 0-th argument to be a floating point type"):
        getattr(language, name)(as_field([I], [1, 2]))


def test_4_minimum_and_maximum_unite_domains_and_propagate_nan():
    a = as_field({I: (0, 3)}, [1.0, np.nan, 3.0])
    b = as_field({I: (1, 4)}, [0.0, 5.0, 7.0])

    np.testing.assert_array_equal(minimum(a, b).asnumpy(), [np.nan, 3.0])
    np.testing.assert_array_equal(maximum(a, b).asnumpy(), [np.nan, 5.0])
    assert minimum(a, b).domain == domain({I: (1, 3)})
    assert minimum(3, 2) == 2
    assert minimum(3, 2).dtype == np.int32


def test_4_power_and_fmod_print_nothing(capsys):
    base = as_field([I], np.array([2, 3, -1], np.int32))

    assert power(base, 3).asnumpy().tolist() == [8, 27, -1]
    assert power(base, -1).asnumpy().tolist() == [0, 0, -1]
    assert power(base, 3).dtype == np.int32
    assert language.fmod(-7.5, 2.0) == -1.5
    assert capsys.readouterr().out == ""


def test_4_abs_and_neg_take_integers_too():
    f = as_field([I], np.array([-3, -(2**31)], np.int32))

    assert language.abs(f).asnumpy().tolist() == [3, -(2**31)]
    assert language.neg(f).asnumpy().tolist() == [3, -(2**31)]


@pytest.mark.parametrize("mask", [True, np.bool_(False), as_field([I], [1, 0])])
def test_4_where_needs_a_field_of_bool(mask):
    with pytest.raises(ArgumentError, match="field of bool"):
        where(mask, 1.0, 2.0)


def test_4_broadcast_checks_its_dimensions():
    f = as_field([J], [1.0, 2.0])
    with pytest.raises(DomainError, match="'J' is missing"):
        broadcast(f, (I, K))
    with pytest.raises(ValueError, match="not ordered correctly"):
        broadcast(f, (K, J))


def test_4_astype_converts_like_c():
    f = as_field([I], [2.7, -2.7, np.nan, 1e300])

    assert astype(f, int32).asnumpy().tolist() == [2, -2, 0, 2**31 - 1]
    assert astype(f, bool).asnumpy().tolist() == [True, True, True, True]
    assert np.isinf(astype(f, float32).asnumpy()[3])
    assert astype(f, int).dtype == np.int64
    assert astype(3, float) == 3.0
    pair = astype((f, 1.5), int32)
    assert pair[0].dtype == np.int32
    assert pair[1] == 1


def test_4_reductions_need_the_dimension_and_a_table():
    local = Dimension("V2E", DimensionKind.LOCAL)
    for reduction in (neighbor_sum, max_over, min_over):
        with pytest.raises(ArgumentError, match=r"Expected a field with dimension 'V2E\[local\]'"):
            reduction(as_field([I], [1.0]), axis=local)
        with pytest.raises(ArgumentError, match="must be a local dimension"):
            reduction(as_field([I], [1.0]), axis=I)
        with pytest.raises(KeyError, match="Offset 'V2E' not found in offset provider"):
            reduction(as_field([I, local], [[1.0]]), axis=local)


def test_4_a_wrong_number_of_arguments_is_refused():
    with pytest.raises(ArgumentError, match="'minimum' takes 2 arguments, got 1"):
        minimum(1.0)
