"""Storages: strides, values, and what is refused."""

import numpy as np
import pytest

from fieldforge import storage
from fieldforge.cartesian.gtscript import IJ
from fieldforge.runtime.fields.layout import ALIGNMENT
from fieldforge.storage.cartesian.utils import asarray, cpu_copy

STRIDES = {
    "numpy": (20, 5, 1),
    "debug": (20, 5, 1),
    "gt:cpu_kfirst": (20, 5, 1),
    "dace:cpu_kfirst": (20, 5, 1),
    "gt:cpu_ifirst": (1, 3, 12),
    "dace:cpu_KJI": (1, 3, 12),
    "dace:cpu": (4, 1, 12),
}


def strides(array: np.ndarray) -> tuple[int, ...]:
    return tuple(stride // array.itemsize for stride in array.strides)


@pytest.mark.parametrize(("backend", "expected"), STRIDES.items())
def test_strides_are_those_of_the_preset(backend, expected):
    assert strides(storage.empty((3, 4, 5), backend=backend)) == expected


def test_own_layout_pads_rows_to_cache_lines():
    assert strides(storage.zeros((3, 4, 5), backend="cpu")) == (1, 8, 32)


@pytest.mark.parametrize("index", [(0, 0, 0), (1, 2, 0)])
def test_aligned_index_lies_on_a_cache_line(index):
    array = storage.zeros((5, 6, 7), backend="gt:cpu_ifirst", aligned_index=index)

    address = array.ctypes.data + sum(i * s for i, s in zip(index, array.strides, strict=True))
    assert address % ALIGNMENT == 0


def test_dimensions_choose_the_layout():
    assert strides(storage.zeros((4, 5), backend="dace:cpu", dimensions=("I", "K"))) == (1, 4)
    assert strides(storage.zeros((3, 4), backend="dace:cpu", dimensions=IJ)) == (4, 1)
    assert strides(storage.zeros((4, 5, 2), backend="numpy", dimensions=("J", "K", "0"))) == (
        5,
        1,
        20,
    )


def test_values_are_set():
    assert storage.zeros((2, 3), backend="numpy").tolist() == [[0.0] * 3] * 2
    assert storage.ones((2,), np.int32, backend="numpy").tolist() == [1, 1]
    assert storage.full((2,), 7, np.float32, backend="debug").dtype == np.float32
    assert storage.full((2,), 7, backend="debug").tolist() == [7.0, 7.0]


def test_from_array_takes_data_axes_from_the_dtype():
    made = storage.from_array(np.ones((3, 4, 5, 2)), (float, (2,)), backend="gt:cpu_ifirst")

    assert strides(made) == (1, 3, 12, 60)
    with pytest.raises(ValueError, match="do not end in the axes"):
        storage.from_array(np.ones((3, 4)), (float, (2,)), backend="numpy")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"backend": "nowhere"}, RuntimeError, "Storage preset 'nowhere' is not registered."),
        ({"shape": (3, 0, 2)}, ValueError, "non-positive"),
        ({"shape": (3.0, 1, 2)}, TypeError, "shape must be"),
        ({"shape": 3}, TypeError, "shape must be"),
        ({"aligned_index": (-1, 0, 0)}, ValueError, "negative"),
        ({"aligned_index": (1, 0)}, ValueError, "non-matching sizes"),
        ({"aligned_index": (0.5, 0, 0)}, TypeError, "aligned_index must be"),
        ({"dimensions": "IJ"}, ValueError, "non-matching sizes"),
        ({"dimensions": "IJX"}, ValueError, "Invalid dimensions definition"),
    ],
)
def test_requests_that_fit_no_array_are_refused(arguments, error, words):
    given = {"shape": (3, 4, 5), "backend": "numpy", **arguments}

    with pytest.raises(error, match=words):
        storage.empty(**given)


def test_presets_can_be_registered():
    info = storage.from_name("gt:cpu_ifirst")
    storage.register("of this test", info)
    try:
        assert strides(storage.zeros((3, 4, 5), backend="of this test")) == (1, 3, 12)
    finally:
        storage.register("of this test", None)
    with pytest.raises(RuntimeError, match="not registered"):
        storage.zeros((3,), backend="of this test")


@pytest.mark.parametrize(("backend", "is_good"), [("gt:cpu_kfirst", True), ("dace:cpu", False)])
def test_layouts_are_compared_with_strides(backend, is_good):
    array = np.zeros((3, 4, 5))

    assert storage.from_name(backend)["is_optimal_layout"](array, ("I", "J", "K")) is is_good


def test_arrays_come_from_whatever_lends_memory():
    class Lending:
        __array_interface__ = np.arange(3.0).__array_interface__

    class Holding:
        ndarray = np.ones(2)

    assert asarray(Lending()).tolist() == [0.0, 1.0, 2.0]
    assert asarray(Holding()) is Holding.ndarray
    assert asarray([1.0], device="cpu").tolist() == [1.0]
    with pytest.raises(TypeError, match="Cannot convert"):
        asarray(3)
    with pytest.raises(ValueError, match="Invalid device: tpu"):
        asarray(np.ones(1), device="tpu")


def test_cpu_copy_has_memory_of_its_own():
    array = np.zeros(2)
    copy = cpu_copy(array)
    array[0] = 1.0

    assert copy.tolist() == [0.0, 0.0]
