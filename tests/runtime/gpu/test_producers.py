"""Arrays of NumPy and CuPy, which are read without a protocol."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from fieldforge.runtime import gpu

from ...processes import python

BENCH = Path(__file__).parents[3] / "bench"
KINDS = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", "F", "D"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number_is_wrapped(kind):
    array = np.arange(24).reshape(2, 3, 4).astype(kind)
    wrapped = gpu.Array.from_any(array)

    assert (wrapped.ptr, wrapped.shape, wrapped.strides, wrapped.dtype) == (
        array.ctypes.data, array.shape, array.strides, array.dtype
    )  # fmt: skip
    assert wrapped.owner is array
    assert np.array_equal(np.asarray(wrapped), array)


@pytest.mark.parametrize(
    "part", [np.s_[::-1, :, 1:3], np.s_[0, 0, 0:0], np.s_[..., None, 2], np.s_[1:1]]
)
def test_parts_keep_their_strides(part):
    array = np.arange(24.0).reshape(2, 3, 4)[part]
    wrapped = gpu.Array.from_any(array)

    assert (wrapped.shape, wrapped.strides) == (array.shape, array.strides)
    assert np.array_equal(np.asarray(wrapped), array)


def test_read_only_stays_read_only():
    array = np.arange(3.0)
    array.flags.writeable = False

    assert gpu.Array.from_any(array).readonly
    with pytest.raises(ValueError, match="read-only"):
        gpu.Array.from_any(array, writable=True)


@pytest.mark.parametrize("kind", [">f8", ">i4", "U3", "O", "M8[s]", "f8,i4"])
def test_elements_that_programs_do_not_have_are_refused(kind):
    with pytest.raises((TypeError, ValueError, BufferError)):
        gpu.Array.from_any(np.zeros(3, kind))


def test_the_memory_lives_as_long_as_the_array():
    array = np.arange(1000.0)
    wrapped = gpu.Array.from_any(array)
    del array

    assert np.asarray(wrapped)[-1] == 999.0


# Arrays as CuPy's are seen from outside: attributes, and a function for the current stream.
CUPY = """
import sys, types
import numpy as np


class ndarray:
    def __init__(self, shape, strides, kind, ptr, mem):
        self.shape, self.strides, self.dtype = shape, strides, np.dtype(kind)
        self.data = types.SimpleNamespace(ptr=ptr, device_id=0, mem=mem)

    def __dlpack_device__(self):
        raise RuntimeError("asked by DLPack")

    __dlpack__ = __dlpack_device__


class ManagedMemory:
    pass


asked = []


def get_current_stream():
    asked.append(1)
    return types.SimpleNamespace(ptr=77)


cupy, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
cupy.ndarray, cupy.cuda, cuda.runtime = ndarray, cuda, types.SimpleNamespace(is_hip=False)
cuda.stream = types.ModuleType("cupy.cuda.stream")
cuda.stream.get_current_stream = get_current_stream
sys.modules.update({"cupy": cupy, "cupy.cuda": cuda, "cupy.cuda.stream": cuda.stream})

from fieldforge.runtime import gpu

gpu.set_platform("cuda")
made = ndarray((3, 4), (64, 8), "f4", 0x7000, object())
array = gpu.Array.from_any(made, order_after=False)
assert (array.ptr, array.shape, array.strides) == (0x7000, (3, 4), (64, 8)), array
assert (array.dtype, array.owner, array.device.platform) == (np.float32, made, "cuda")
assert not array.readonly
assert not asked
gpu.Array.from_any(made)
assert asked == [1]
try:
    gpu.Array.from_any(ndarray((3,), (8,), "f8", 0x7000, ManagedMemory()))
except RuntimeError as error:
    assert str(error) == "asked by DLPack"
else:
    raise AssertionError("managed memory has a type of its own in DLPack")
print("all right")
"""


@pytest.mark.needs_compiler
def test_arrays_of_cupy_are_read_by_their_attributes(tmp_path):
    """On a driver that does nothing: real ones are in test_device_interop.py."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler for the driver that does nothing")
    source, library = BENCH / "gpu" / "stub.cpp", tmp_path / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)

    done = python("-c", CUPY, env={"LD_LIBRARY_PATH": str(tmp_path)})

    assert done.stdout == "all right\n", done.stderr[-2000:]
