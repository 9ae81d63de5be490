"""Fields of what others give: other fields, arrays that name their dimensions, DLPack alone."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.process.errors import ArgumentError, DomainError

from ...dimensions import I, J, K
from ..others import OnlyDLPack

C2E = ff.Dimension("C2E", kind=ff.DimensionKind.LOCAL)


class Named(np.ndarray):
    """An array of another library that names its dimensions, or its origin."""


def named(array, **attributes):
    made = np.asarray(array).view(Named)
    for name, value in attributes.items():
        setattr(made, f"__gt_{name}__", value)
    return made


@pytest.fixture
def field():
    return ff.as_field({I: (2, 5), J: (-1, 1)}, np.arange(6.0).reshape(3, 2))


def test_a_field_on_other_dimensions_is_refused(field):
    with pytest.raises(
        DomainError, match="The data have the dimensions 'I', 'J', expected 'I', 'K'"
    ):
        ff.as_field([I, K], field)
    with pytest.raises(DomainError, match="expected 'I'"):
        ff.as_field({I: 3}, field)


def test_fields_on_a_device_are_transposed_there(field):
    with gpu.use_platform("null"):
        made = ff.as_field([J, I], ff.as_field([I, J], field, allocator=ff.gpu))

        assert made.device_type != ff.DeviceType.CPU
        assert made.domain == domain({J: (-1, 1), I: (2, 5)})
        assert (made.asnumpy() == field.asnumpy().T).all()


def test_arrays_of_others_say_their_dimensions_and_origin():
    values = np.arange(6).reshape(2, 3)

    both = ff.as_field([I, K], named(values, dims=("K", "I"), origin=(0, 1)))
    only_origin = ff.as_field([I, J], named(values, origin=(1, 0)))

    assert both.domain == domain({I: (-1, 2), K: (0, 2)})
    assert (both.asnumpy() == values.T).all()
    assert only_origin.domain == domain({I: (-1, 1), J: (0, 3)})
    with pytest.raises(DomainError, match="one index for each axis: expected 2, got 3"):
        ff.as_field([I, J], named(values, origin=(1, 0, 0)))


def test_tables_are_read_by_their_names():
    values = np.array([[0, 1, 2], [1, 2, 0]])

    table = ff.as_connectivity([I, C2E], J, named(values, dims=("C2E", "I")))

    assert (table.asnumpy() == values.T).all()


def test_dlpack_of_a_device_alone_is_enough():
    with gpu.use_platform("null"):
        given = OnlyDLPack(gpu.Array.from_host(np.arange(4.0)))

        assert ff.as_field([I], given).device_type != ff.DeviceType.CPU
        assert ff.sum(given) == 6.0


def test_reductions_refuse_arrays_that_no_field_can_be_made_of():
    with pytest.raises(ArgumentError, match="'sum' takes no array of 'complex128'"):
        ff.sum(np.ones(2, complex))
    with pytest.raises(DomainError, match="'sum' of an array takes no domain"):
        ff.sum(np.ones(2), {I: 1})


def test_a_domain_with_nothing_a_number_or_a_function():
    assert ff.as_field({I: 3}, None, dtype="int32").dtype == np.int32
    assert ff.as_field({I: 3}, None).dtype == np.float64
    assert ff.as_field({I: (1, 3)}, 1.5).asnumpy().tolist() == [1.5, 1.5]
    assert ff.as_field({I: 2}, True).dtype == np.bool_
    assert ff.as_field([], 2.5).as_scalar() == 2.5
    made = ff.as_field({I: (1, 3), J: (-1, 2)}, lambda i, j: 10 * i + j, dtype=np.float32)
    assert made.asnumpy().tolist() == [[9, 10, 11], [19, 20, 21]]
    assert made.dtype == np.float32
    with pytest.raises(DomainError, match="one axis for each dimension: expected 1, got 0"):
        ff.as_field([I], 1.0)


@pytest.mark.parametrize("name", ["cpu", "dace_cpu", "reference", "gpu-host", "gpu"])
def test_the_allocator_of_a_backend_makes_fields(name):
    with gpu.use_platform("null"):
        allocator = ff.workflows.backends.backend.BACKENDS[name].allocator

        made = allocator.zeros({I: 3, J: 2}, dtype="int32")

        assert made.device_type == allocator.device_type
        assert made.asnumpy().tolist() == [[0, 0]] * 3
        assert allocator.as_field([I], [1.0, 2.0]).asnumpy().tolist() == [1, 2]
        assert allocator.full({I: 2}, 7).dtype == np.int64


JAX = """
def from_dlpack(external_array):
    return external_array.__dlpack__(stream=None)
"""


class Capsule:
    """Hands a capsule on, as the consumer of it sees it."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self):
        return self._capsule

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize(("shape", "shared"), [((5,), True), ((64, 3), True), ((5, 3), False)])
def test_jax_gets_a_copy_of_padded_rows_only(shape, shared):
    asked = {"__name__": "jax._src.dlpack"}
    exec(JAX, asked)
    values = np.arange(float(np.prod(shape))).reshape(shape)
    field = ff.as_field([I, J][: len(shape)], values)

    seen = np.from_dlpack(Capsule(asked["from_dlpack"](field)))

    assert (seen == values).all()
    assert seen.flags.forc
    assert np.shares_memory(seen, field.ndarray) == shared
    assert np.shares_memory(np.from_dlpack(field), field.ndarray)


def test_jax_takes_fields_that_cannot_be_written():
    asked = {"__name__": "jax._src.dlpack"}
    exec(JAX, asked)
    values = np.arange(3.0)
    values.flags.writeable = False

    seen = asked["from_dlpack"](ff.common._field(values, domain={I: 3}))

    assert np.from_dlpack(Capsule(seen)).tolist() == [0, 1, 2]


def test_jax_itself_takes_padded_fields():
    jax = pytest.importorskip("jax", reason="JAX is not installed: it is no dependency of tests")
    values = np.arange(15, dtype=np.float32).reshape(5, 3)

    assert (np.asarray(jax.dlpack.from_dlpack(ff.as_field([I, J], values))) == values).all()
