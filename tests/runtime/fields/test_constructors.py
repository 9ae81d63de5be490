import math

import numpy as np
import pytest

from fieldforge.runtime.fields.allocators.standard import CPU_ALLOCATOR, CPUAllocator
from fieldforge.runtime.fields.constructors import (
    as_connectivity,
    as_field,
    empty,
    zeros,
)
from fieldforge.runtime.fields.field_constructor import FieldConstructor
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.language.dtype import as_dtype
from fieldforge.runtime.language.types import ScalarType
from fieldforge.runtime.process.device import Device, DeviceType
from fieldforge.runtime.process.errors import ArgumentError, DeviceError, DomainError

from ...dimensions import I, J, K


class Recorder:
    """An allocator of the user that remembers what it was asked for."""

    __gt_device_type__ = DeviceType.CPU

    def __init__(self):
        self.asked = []

    def __gt_allocate__(self, domain, dtype, device_id=0, aligned_index=None):
        self.asked.append((domain, dtype, device_id, aligned_index))
        return np.full(domain.shape, 9, dtype.scalar_type)


class Backend:
    def __init__(self, allocator):
        self.__gt_allocator__ = allocator


@pytest.mark.parametrize("given", [np.int32, "int32", np.dtype("int32"), ScalarType("int32")])
def test_9_1_a_dtype_may_be_written_in_many_ways(given):
    assert zeros({I: 1}, given).dtype == np.int32
    assert as_dtype(int) == np.int64
    assert as_dtype(float) == np.float64


@pytest.mark.parametrize("given", [np.float16, complex, "nonsense", object(), ">f8"])
def test_9_1_other_dtypes_are_refused(given):
    with pytest.raises(ArgumentError):
        zeros({I: 1}, given)


def test_9_1_an_infinite_domain_is_refused():
    with pytest.raises(DomainError, match="finite domain"):
        zeros({I: None})


def test_9_1_layout_is_that_of_a_cpu():
    assert zeros({I: 3, J: 2, K: 4}).strides == (8, 64, 128)
    assert zeros({I: 3, K: 5}).strides == (64, 8)


def test_9_1_the_aligned_index_is_aligned():
    field = zeros({I: (-3, 20), J: 4}, aligned_index=[I(0)])

    assert field[I(0), J(2)].pointer % 64 == 0
    with pytest.raises(DomainError, match="aligned index"):
        zeros({I: 3}, aligned_index=[I(5)])


def test_9_1_as_field_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"expected \(3,\), got \(2,\)"):
        as_field({I: 3}, [1.0, 2.0])
    with pytest.raises(ValueError, match="one axis for each dimension"):
        as_field([I, J], [1.0, 2.0])
    with pytest.raises(ValueError, match="either a domain or 'origin'"):
        as_field({I: 2}, [1.0, 2.0], origin={I: 1})


def test_9_1_as_field_converts_and_takes_fields():
    field = as_field([I], [1.7, -1.7, 1e30], dtype=np.int32)

    assert field.asnumpy().tolist() == [1, -1, 2**31 - 1]
    assert as_field(field.domain, field, dtype=float).asnumpy().tolist() == [1, -1, 2.0**31 - 1]


def test_9_1_arguments_can_be_bound():
    recorder = Recorder()

    make = zeros.partial(allocator=recorder, dtype=np.int32)

    assert make({I: 2}).asnumpy().tolist() == [0, 0]
    assert len(recorder.asked) == 1


def test_9_1_an_allocator_or_whatever_offers_one_is_used():
    recorder = Recorder()

    field = empty({I: 2}, np.float32, allocator=Backend(recorder), aligned_index=[I(1)])

    assert field.asnumpy().tolist() == [9.0, 9.0]
    assert recorder.asked == [(domain({I: 2}), field.dtype, 0, [I(1)])]
    assert zeros({I: 2}, allocator=np).asnumpy().tolist() == [0.0, 0.0]
    assert zeros({I: 2}, allocator=CPU_ALLOCATOR, device=Device(DeviceType.CPU, 0)).shape == (2,)


def test_9_1_devices_that_are_not_there_are_refused():
    with pytest.raises(DeviceError, match="CUDA:0"):
        zeros({I: 2}, device=Device(DeviceType.CUDA, 0))
    with pytest.raises(DeviceError, match="makes memory on 'cpu'"):
        zeros({I: 2}, allocator=np, device=Device(DeviceType.CUDA, 0))
    with pytest.raises(DeviceError, match="namespace 'math'"):
        zeros({I: 2}, allocator=math)
    with pytest.raises(ArgumentError, match="'allocator'"):
        zeros({I: 2}, allocator=3)


def test_9_1_a_field_constructor_has_the_same_methods():
    recorder = Recorder()
    constructor = FieldConstructor(allocator=recorder)

    assert constructor.zeros({I: 2}).asnumpy().tolist() == [0.0, 0.0]
    assert constructor.ones({I: 2}, np.int32).asnumpy().tolist() == [1, 1]
    assert constructor.full({I: 2}, 3).dtype == np.int64
    assert constructor.empty({I: 2}).shape == (2,)
    assert constructor.as_field([I], [4.0], origin={I: 1}).domain == domain({I: (-1, 0)})
    assert len(recorder.asked) == 5


class Named:
    """Stands for an array of xarray: the names of its axes are strings."""

    def __init__(self, array, *dims):
        self.array = np.asarray(array)
        self.dims = dims

    def __array__(self, dtype=None, copy=None):
        return self.array


def test_an_origin_of_a_dimension_that_the_field_lacks_is_an_error():
    with pytest.raises(DomainError, match="'origin' names dimension 'J', but the field has 'I'"):
        as_field([I], [1.0], origin={J: 1})


def test_axes_with_other_names_or_another_order_are_errors_that_say_so():
    data = np.zeros((2, 3))

    assert as_field([I, J], Named(data, "I", "J")).shape == (2, 3)
    with pytest.raises(DomainError, match="named 'J', 'I', expected 'I', 'J'") as swapped:
        as_field([I, J], Named(data, "J", "I"))
    with pytest.raises(DomainError, match="named 'x', 'y', expected 'I', 'J'") as other:
        as_field({I: 2, J: 3}, Named(data, "x", "y"))

    assert "data.transpose('I', 'J')" in str(swapped.value)
    assert "data.values" in str(other.value)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"allocator": 3}, ArgumentError),
        ({"allocator": "numpy"}, ArgumentError),
        ({"device": "gpu"}, ArgumentError),
        ({"device": Device(DeviceType.CUDA)}, DeviceError),
        ({"device": Device(DeviceType.CPU, 1)}, DeviceError),
        ({"allocator": np, "device": Device(DeviceType.CUDA)}, DeviceError),
        ({"allocator": CPUAllocator(), "device": Device(DeviceType.ROCM)}, DeviceError),
    ],
)
def test_a_bad_allocator_or_device_is_an_error_at_once(options, kind):
    def unread():
        raise AssertionError("the data are not looked at")

    data = type("Data", (), {"__array__": lambda *_, **__: unread()})()
    for made in (
        lambda: zeros.partial(**options),
        lambda: FieldConstructor(**options),
        lambda: as_field([I], data, **options),
        lambda: as_connectivity([I, J], I, data, **options),
    ):
        with pytest.raises(kind):
            made()
