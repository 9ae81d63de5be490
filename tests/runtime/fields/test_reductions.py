"""Reductions of fields: what they compute, in which type, and the same bits on any threads."""

import math

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.common import _field
from fieldforge.errors import ArgumentError, DomainError

I = ff.Dimension("I")
J = ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
DTYPES = ["float64", "float32", "int32", "int64", "bool"]
SHAPES = [(1, 1, 1), (3, 5, 7), (2, 1, 9000), (300, 11, 4), (1, 1, 5000)]


def drawn(shape, dtype="float64", seed=1):
    random = np.random.default_rng(seed)
    values = random.uniform(-100.0, 100.0, shape)
    return (values > 0 if dtype == "bool" else values).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_they_agree_with_numpy(shape, dtype):
    values = drawn(shape, dtype)
    field = ff.as_field([I, J, K], values)
    wide = values.astype("float64" if dtype.startswith("float") else "int64")
    scale = float(np.abs(wide).sum()) * 1e-13

    assert ff.max(field) == values.max()
    assert ff.min(field) == values.min()
    assert ff.max(field).dtype == ff.min(field).dtype == values.dtype
    assert ff.sum(field) == pytest.approx(wide.sum(), abs=scale)
    assert ff.sum(field).dtype == wide.dtype
    squares = wide.astype(float) ** 2
    assert ff.norm(field) == pytest.approx(math.sqrt(squares.sum()), rel=1e-13)


def test_a_sum_is_nearer_to_the_exact_one_than_one_by_one():
    values = np.full(1 << 20, 0.1)

    exact = math.fsum(values)

    assert abs(ff.sum(ff.as_field([I], values)) - exact) < 1e-9
    assert abs(np.cumsum(values)[-1] - exact) > 1e-7


@pytest.mark.parametrize("shape", [(700, 801), (3, 400_000), (400_000, 3)])
def test_any_number_of_threads_gives_the_same_bits(shape):
    values = drawn(shape) * 10.0 ** drawn(shape, seed=2)
    field = ff.as_field([I, K], values)
    found = set()

    for count in (1, 2, 3, 5, 8):
        with ff.threads(count):
            found.add((ff.sum(field).tobytes(), ff.norm(field).tobytes(), ff.max(field).tobytes()))

    assert len(found) == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda values: values.T,
        lambda values: values[::-1],
        lambda values: values[:, ::2],
        np.asfortranarray,
        lambda values: values[1:, 1:],
        lambda values: np.broadcast_to(values[:1], (4, 90)),
    ],
)
def test_views_of_any_strides_are_taken(view):
    values = view(drawn((40, 90)))
    field = _field(values, domain=ff.domain({I: values.shape[0], K: values.shape[1]}))

    assert ff.sum(field) == pytest.approx(values.sum(), rel=1e-12, abs=1e-9)
    assert (ff.max(field), ff.min(field)) == (values.max(), values.min())


def test_a_part_of_the_domain_is_named_by_its_indices():
    values = drawn((6, 4))
    field = ff.as_field(ff.domain({I: (-1, 5), K: 4}), values)

    assert ff.max(field, {I: (0, 3)}) == values[1:4].max()
    assert ff.sum(field, {I: (0, 3), K: (1, 2)}) == pytest.approx(values[1:4, 1:2].sum())
    assert ff.sum(field, {I: (2, 2)}) == 0.0
    assert ff.sum(field, field.domain) == ff.sum(field)


def test_nan_and_infinities_stay():
    field = ff.as_field([I], [1.0, math.nan, math.inf])

    assert math.isnan(ff.max(field))
    assert math.isnan(ff.min(field))
    assert math.isnan(ff.sum(field))
    assert ff.max(field, {I: (2, 3)}) == math.inf
    for place in range(20):
        values = np.zeros(20)
        values[place] = math.nan
        assert math.isnan(ff.max(ff.as_field([I], values)))


def test_integers_wrap_like_int64_and_bools_count():
    large = ff.as_field([I], np.array([2**62, 2**62], "int64"))

    assert ff.sum(large) == np.int64(-(2**63))
    assert ff.sum(ff.as_field([I], np.array([2**31 - 1] * 3, "int32"))) == 3 * (2**31 - 1)
    assert ff.sum(ff.as_field([I], np.array([True, False, True]))) == 2


def test_a_field_without_dimensions_has_one_element():
    assert ff.max(_field(np.array(3.0), domain=ff.Domain())) == 3.0


def test_numpy_reduces_fields_in_the_same_way():
    values = drawn((700, 801)).astype("float32")
    field = ff.as_field([I, K], values)

    assert np.sum(field) == ff.sum(field)
    assert np.sum(field).dtype == np.float64
    assert (np.max(field), np.min(field)) == (ff.max(field), ff.min(field))
    assert np.array_equal(np.sum(field, axis=0), values.sum(axis=0))
    assert np.max(field, axis=1).shape == (700,)


def test_mistakes_are_errors():
    field = ff.ones({I: 3})

    with pytest.raises(ArgumentError, match="'sum' takes a field, got an object of type 'list'"):
        ff.sum([1.0])
    with pytest.raises(DomainError, match="'max' of a field without points has no value"):
        ff.max(field, {I: (1, 1)})
    with pytest.raises(DomainError, match="'norm' over 'J'"):
        ff.norm(field, {J: 1})
    with pytest.raises(DomainError, match=r"'sum' over 1:4 along 'I' reaches .* covers 0:3"):
        ff.sum(field, {I: (1, 4)})


def test_a_star_import_leaves_the_names_of_python_alone():
    assert not {"sum", "max", "min"} & set(ff.__all__)
