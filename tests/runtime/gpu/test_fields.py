"""Fields on a GPU: made, filled, copied and handed over."""

import numpy as np
import pytest

from fieldforge.runtime import gpu
from fieldforge.runtime.fields.allocators.device import DeviceAllocator
from fieldforge.runtime.fields.constructors import (
    as_connectivity,
    as_field,
    empty,
    full,
    ones,
    zeros,
)
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.process.device import Device, DeviceType
from fieldforge.runtime.process.errors import DeviceError

from ...dimensions import Cell, I, J, K

TYPES = {"cuda": DeviceType.CUDA, "hip": DeviceType.ROCM, "null": DeviceType.NULL}


@pytest.fixture
def place(device):
    return Device(TYPES[device.platform], device.id)


def test_constructors(place):
    for field, value in (
        (zeros({Cell: 7, K: 5}, device=place), 0),
        (ones({Cell: 7, K: 5}, np.float32, device=place), 1),
        (full({Cell: 7, K: 5}, 2.5, device=place), 2.5),
    ):
        assert (field.device_type, field.device_id) == place
        assert (field.asnumpy() == value).all()
        assert field.strides == (128, field.ndarray.itemsize)  # levels are contiguous, rows aligned
        assert field.pointer % 128 == 0
    assert empty({Cell: 3}, device=place).shape == (3,)


def test_a_field_owns_a_buffer(place, is_null):
    field = zeros({Cell: 100}, device=place)
    if is_null:
        assert isinstance(field.ndarray, gpu.Array)
        assert isinstance(field.ndarray.owner, gpu.Buffer)
    ours = gpu.Array.from_any(field.ndarray)
    assert ours.ptr == field.pointer


def test_copies(place):
    data = np.random.default_rng(0).random((7, 5))
    field = as_field([Cell, K], data, device=place)
    assert (field.asnumpy() == data).all()
    again = as_field([Cell, K], field.ndarray, device=place)
    assert again.pointer != field.pointer
    assert (again.asnumpy() == data).all()
    halves = as_field([Cell, K], data, np.float32, device=place)
    assert (halves.asnumpy() == data.astype(np.float32)).all()


def test_copies_of_data_on_the_device_need_no_device(place):
    data = np.random.default_rng(1).random((7, 5))
    there = as_field([Cell, K], data, device=place).ndarray

    by_data = as_field([Cell, K], there)
    by_allocator = as_field([Cell, K], there, allocator=DeviceAllocator(place[0]))
    cast = as_field([Cell, K], there, np.float32)

    for field in (by_data, by_allocator):
        assert (field.device_type, field.device_id) == place
        assert field.pointer != gpu.Array.from_any(there).ptr
        assert (field.asnumpy() == data).all()
    assert (cast.asnumpy() == data.astype(np.float32)).all()
    part = as_field([Cell], gpu.Array.from_any(there)[:, 2])
    assert (part.asnumpy() == data[:, 2]).all()
    with pytest.raises(
        DeviceError, match=r"data lies on '\w+:0', and the field would lie on the host"
    ):
        as_field([Cell, K], there, device=Device(DeviceType.CPU))


def test_tables_of_data_on_the_device(place, device):
    Edge, E2C = Dimension("Edge"), Dimension("E2C", DimensionKind.LOCAL)
    data = np.array([[0, 1], [1, -1]], np.int32)
    there = gpu.Array.from_host(data, device=device)

    for given in ({}, {"allocator": DeviceAllocator(place[0])}):
        table = as_connectivity([Edge, E2C], Cell, there, **given)
        assert (table.device_type, table.skip_value) == (place[0], -1)
        assert (table.asnumpy() == data).all()
    on_host = as_connectivity([Edge, E2C], Cell, there, device=Device(DeviceType.CPU))
    assert (on_host.ndarray == data).all()


def test_aligned_index(place):
    field = zeros({Cell: (-2, 30), K: (0, 4)}, device=place, aligned_index=[Cell(0), K(0)])
    for cell in range(32):
        assert (field.pointer + cell * field.strides[0]) % 128 == 0
    on_a_grid = zeros({I: (-2, 30), J: 4}, device=place, aligned_index=[I(0), J(0)])
    for j in range(4):
        assert (on_a_grid.pointer + 2 * 8 + j * on_a_grid.strides[1]) % 128 == 0
    low = zeros({Cell: 5, K: (-3, 4)}, device=place)  # index 0 is aligned where nobody asks
    assert (low.pointer + 3 * 8) % 128 == 0


def test_compact_fields_are_dense(place):
    field = zeros({Cell: 7, K: 5}, device=place)
    assert gpu.Array.from_any(field.compact().ndarray).is_dense
    assert field.compact().domain == field.domain


def test_fields_speak_dlpack(place):
    field = full({Cell: 7, K: 5}, 3, np.int32, device=place)
    taken = gpu.Array.from_any(field)
    assert taken.ptr == field.pointer
    assert (taken.to_host() == 3).all()
    with pytest.raises(TypeError):
        field.__dlpack__(colour="red")


def test_devices_that_are_not_there_are_refused(place):
    with pytest.raises(DeviceError, match="no device 77"):
        zeros({Cell: 3}, device=Device(place.device_type, 77))
    if place.device_type != DeviceType.ROCM:
        with pytest.raises(DeviceError, match=r"libamdhip64|has no GPU"):
            zeros({Cell: 3}, device=Device(DeviceType.ROCM, 0))


def test_arrays_of_the_host_are_assigned_to_parts_of_a_field(place):
    made = zeros({Cell: 3, K: 4}, device=place)
    made[domain({Cell: (1, 3), K: (0, 2)})] = np.array([[1.0, 2.0], [3.0, 4.0]])
    made[domain({Cell: (0, 1), K: (0, 4)})] = np.arange(4)

    expected = np.zeros((3, 4))
    expected[1:3, 0:2] = [[1.0, 2.0], [3.0, 4.0]]
    expected[0] = np.arange(4)
    np.testing.assert_array_equal(made.asnumpy(), expected)
