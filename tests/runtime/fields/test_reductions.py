"""Reductions of fields: what they compute, in which type, and the same bits on any threads."""

import math

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.common import _field
from fieldforge.errors import ArgumentError, DomainError
from fieldforge.runtime import gpu
from fieldforge.runtime.fields.allocators.device import DeviceAllocator
from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.process.device import DeviceType

from ...dimensions import I, J, K

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

    with pytest.raises(
        ArgumentError, match="'sum' takes a field or an array, got an object of type 'list'"
    ):
        ff.sum([1.0])
    with pytest.raises(DomainError, match="'max' of a field without points has no value"):
        ff.max(field, {I: (1, 1)})
    with pytest.raises(DomainError, match="'norm' over 'J'"):
        ff.norm(field, {J: 1})
    with pytest.raises(DomainError, match=r"'sum' over 1:4 along 'I' reaches .* covers 0:3"):
        ff.sum(field, {I: (1, 4)})


def test_a_star_import_leaves_the_names_of_python_alone():
    assert not {"sum", "max", "min"} & set(ff.__all__)


def test_memory_of_a_device_is_copied_and_reduced_in_the_same_order():
    field = ff.as_field([I, K], drawn((50, 70)))
    expected = ff.sum(field), ff.max(field, {I: (3, 9)})

    class OnDevice:
        """An array that is no NumPy array, like those of a GPU."""

        __fieldforge_field__ = True

        def __init__(self, host):
            self.host, self.domain = host, host.domain
            self.ndarray = type("Array", (), {"size": host.ndarray.size})()

        def __getitem__(self, index):
            return OnDevice(self.host[index])

        def asnumpy(self):
            return self.host.asnumpy()

    device = OnDevice(field)
    assert (ff.sum(device), ff.max(device, {I: (3, 9)})) == expected


# --- of expressions -------------------------------------------------------------------------------

Slab = ff.Field[ff.Dims[I, K], ff.float64]


@ff.field_operator
def energy(u: Slab, v: Slab, by: float) -> Slab:
    return by * (u * u + v(I + 1) * v(I + 1))


@ff.field_operator
def both(u: Slab) -> tuple[Slab, Slab]:
    return u, u


@pytest.mark.parametrize(
    "backend", [None, "reference", pytest.param("cpu", marks=pytest.mark.needs_compiler),
                pytest.param("gpu-host", marks=pytest.mark.needs_compiler)]
)  # fmt: skip
def test_an_operator_is_reduced_as_the_field_that_it_writes(backend):
    u, v = (ff.as_field([I, K], drawn((40, 33), seed=seed)) for seed in (1, 2))
    operator = energy.with_backend(backend)
    out = ff.zeros({I: (3, 39), K: 33})
    operator(u, v, 0.5, out=out)

    for reduce in (ff.sum, ff.max, ff.min, ff.norm):
        for _ in range(2):  # the second call has the memory of the first
            found = reduce(operator, {I: (3, 39)}, u=u, v=v, by=0.5)
            assert found.tobytes() == reduce(out).tobytes()


@pytest.mark.needs_compiler
def test_threads_change_no_bit_of_an_expression():
    u, v = (ff.as_field([I, K], drawn((900, 700), seed=seed)) for seed in (1, 2))
    operator = energy.with_backend("cpu")

    def with_threads(count):
        with ff.threads(count):
            return ff.sum(operator, {I: (0, 899)}, u=u, v=v, by=0.5).tobytes()

    assert len({with_threads(count) for count in (1, 2, 3, 8)}) == 1


def test_mistakes_in_expressions_are_named():
    u = ff.ones({I: 4, K: 3})

    with pytest.raises(DomainError, match="'energy' has no dimension 'J'"):
        ff.sum(energy, {J: 3}, u=u, v=u, by=1.0)
    with pytest.raises(DomainError, match="'v'"):
        ff.sum(energy.with_backend("reference"), u=u, v=u, by=1.0)
    with pytest.raises(ArgumentError, match="only a single field can be reduced"):
        ff.sum(both, u=u)
    with pytest.raises(ArgumentError, match="'sum' of a field takes no argument 'by'"):
        ff.sum(u, by=1.0)


# --- on devices -----------------------------------------------------------------------------------


@pytest.fixture
def allocator():
    """Allocate on the simulated device, whose driver finds what a kernel does wrong."""
    with gpu.use_platform("null"):
        gpu.null.forget_problems()
        yield DeviceAllocator(DeviceType.NULL)
        assert gpu.null.problems() == []


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    "dtype",
    [
        dtype if dtype in ("float64", "bool") else pytest.param(dtype, marks=pytest.mark.in_full)
        for dtype in DTYPES
    ],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_devices_have_the_bits_of_the_host_for_equal_strides(shape, dtype, allocator, monkeypatch):
    monkeypatch.setattr(Field, "asnumpy", None)  # nothing but partial results is copied
    values = drawn(shape, dtype)
    field = ff.as_field([I, J, K], values, allocator=allocator)
    given = gpu.Array.from_any(field.ndarray)
    room = np.zeros(
        max(sum((n - 1) * s for n, s in zip(shape, given.strides, strict=True)), 0) + 8, "u1"
    )
    alike = np.ndarray(shape, dtype, room, strides=given.strides)
    alike[...] = values
    host = _field(alike, domain=field.domain)

    for reduce in (ff.sum, ff.max, ff.min, ff.norm):
        found, expected = reduce(field), reduce(host)
        assert found.tobytes() == expected.tobytes()
        assert found.dtype == expected.dtype
        assert reduce(field, {K: (0, 1)}).tobytes() == reduce(host, {K: (0, 1)}).tobytes()


@pytest.mark.needs_compiler
def test_nan_is_found_on_devices(allocator):
    values = drawn((3, 50, 200))
    values[1, 7, 133] = np.nan
    field = ff.as_field([I, J, K], values, allocator=allocator)

    for reduce in (ff.sum, ff.max, ff.min, ff.norm):
        assert np.isnan(reduce(field))
    assert not np.isnan(ff.max(field, {I: (0, 1)}))
    assert np.isnan(field.max())


@pytest.mark.needs_compiler
def test_fields_without_points_are_refused_on_devices_too(allocator):
    field = ff.zeros({I: 0, J: 3}, allocator=allocator)

    assert ff.sum(field) == 0.0
    with pytest.raises(DomainError, match="without points"):
        ff.max(field)
