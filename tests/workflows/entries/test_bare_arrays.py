"""Arrays in the place of fields, in calls of every kind and under every backend."""

import array
import ctypes
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.language.dimension import flip_staggered
from fieldforge.runtime.process.errors import (
    ArgumentError,
    DeviceError,
    DomainError,
    IndexOutOfBounds,
    OverlapError,
    ReadOnlyError,
)

from ...dimensions import E2V, Column, E2VDim, Edge, I, K, Line, Vertex

Plane = ff.Field[ff.Dims[I, K], ff.float64]
Point = ff.Field[ff.Dims[()], ff.float64]


Below = ff.Field[ff.Dims[flip_staggered(I)], ff.float64]
OnVertices = ff.Field[ff.Dims[Vertex], ff.float64]
Weights = ff.Field[ff.Dims[Edge, E2VDim], ff.float64]
OnEdges = ff.Field[ff.Dims[Edge], ff.float64]


class Both(NamedTuple):
    line: Line
    plane: Plane


@ff.field_operator(backend=None)
def scaled(u: Line, by: ff.float64) -> Line:
    return u * by


@ff.field_operator(backend=None)
def differences(u: Line) -> Line:
    return u(I + 1) - u


@ff.field_operator(backend=None)
def grown(both: Both) -> Both:
    return Both(both.line + 1.0, both.plane * 2.0)


@ff.field_operator(backend=None)
def shifted_by(u: Line, much: Point) -> Line:
    return u + much


@ff.field_operator(backend=None)
def below(u: Below) -> Line:
    return u(I + 0.5)


@ff.field_operator(backend=None)
def weighted(u: OnVertices, weights: Weights) -> OnEdges:
    return ff.neighbor_sum(u(E2V) * weights, axis=E2VDim)


@ff.field_operator(backend=None)
def heights(u: Column) -> Column:
    return u + 1.0


@ff.program(backend=None)
def scale(u: Line, by: ff.float64, out: Line):
    scaled(u, by, out=out)


@ff.program(backend=None)
def differ(u: Line, out: Line):
    differences(u, out=out)


class ByDLPack:
    """What a tensor of another library is to us."""

    def __init__(self, inner, device=(1, 0)):
        self.inner, self.device = inner, device

    def __dlpack__(self, **options):
        return self.inner.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    pass


Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [
    ("version", Version),
    ("context", ctypes.c_void_p),
    ("deleter", Deleter),
    ("flags", ctypes.c_uint64),
    ("tensor", Tensor),
]
Export = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Managed)))


class Exchange(ctypes.Structure):
    _fields_ = [
        ("version", Version),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("export", Export),
    ]


LENT = []  # what was handed out, until it is given back


@Deleter
def take_back(managed):
    LENT.pop()


@Export
def export(array, out):
    shape = (ctypes.c_int64 * 1)(len(array.inner))
    memory = array.inner.ctypes.data
    tensor = Tensor(memory - 8, *array.device, 1, 2, 64, 1, shape, None, 8)
    managed = Managed(Version(1, 3), None, take_back, array.flags, tensor)
    LENT.append((managed, shape))
    out[0] = ctypes.pointer(managed)
    return 0


TABLE = Exchange(Version(1, 3), None, None, export)
NEWER = Exchange(Version(2, 0), ctypes.addressof(TABLE), None, Export())
TABLE_NAME = b"dlpack_exchange_api"  # a capsule does not keep its name
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class ByExchange(ByDLPack):
    """A tensor of a library that has a table of C functions for DLPack, too."""

    __dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(NEWER), TABLE_NAME, None)

    def __init__(self, inner, device=(1, 0), flags=0):
        super().__init__(inner, device)
        self.flags = flags


class ByInterface:
    def __init__(self, inner):
        self.__array_interface__ = inner.__array_interface__
        self.inner = inner


@pytest.fixture(params=[None, ff.cpu, ff.reference], ids=["embedded", "cpu", "reference"])
def backend(request):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Program .* runs embedded")
        yield request.param


@pytest.fixture
def scale_by(backend):
    return scale.with_backend(backend)


def numbers(count=4):
    return np.arange(float(count))


@pytest.mark.parametrize("lend", [np.asarray, memoryview, ByDLPack, ByExchange, ByInterface])
def test_whatever_lends_its_memory_is_an_array(scale_by, lend):
    u, out = numbers(), np.zeros(4)

    scale_by(lend(u), 2.0, lend(out))

    assert out.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_arrays_of_the_standard_library_are_arrays(scale_by):
    out = array.array("d", [0.0] * 4)

    scale_by(array.array("d", [1.0, 2.0, 3.0, 4.0]), 2.0, out=out)

    assert list(out) == [2.0, 4.0, 6.0, 8.0]


def test_indices_of_an_array_begin_at_0(backend):
    out = ff.zeros({I: (-1, 5)})

    with pytest.raises((DomainError, IndexOutOfBounds)):
        scale.with_backend(backend)(numbers(6), 2.0, out)
    scale.with_backend(backend)(numbers(6), 2.0, out[I(0) : I(5)])

    assert out.asnumpy().tolist() == [0.0, 0.0, 2.0, 4.0, 6.0, 8.0]


def test_fields_and_arrays_may_be_mixed(scale_by):
    out = np.zeros(4)

    scale_by(ff.as_field([I], numbers()), 2.0, out)

    assert out.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_an_operator_takes_arrays_and_writes_to_one(backend):
    out = np.zeros(4)

    scaled.with_backend(backend)(numbers(), 2.0, out=out)
    scaled.with_backend(backend)(numbers(), 5.0, out=out, domain={I: (1, 2)})

    assert out.tolist() == [0.0, 5.0, 4.0, 6.0]


def test_collections_hold_arrays(backend):
    given = Both(numbers(), np.ones((4, 2)))
    out = Both(np.zeros(4), np.zeros((2, 4)).T)

    grown.with_backend(backend)(given, out=out)

    assert out.line.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert out.plane.tolist() == [[2.0, 2.0]] * 4


def test_an_array_without_axes_is_a_field_without_dimensions(backend):
    out = np.zeros(4)

    shifted_by.with_backend(backend)(numbers(), np.array(3.0), out=out)

    assert out.tolist() == [3.0, 4.0, 5.0, 6.0]


def test_strides_may_be_negative_or_wide(scale_by):
    memory = np.zeros(8)

    scale_by(numbers()[::-1], 2.0, memory[::2])

    assert memory.tolist() == [6.0, 0.0, 4.0, 0.0, 2.0, 0.0, 0.0, 0.0]


def test_an_axis_may_be_of_a_staggered_dimension(backend):
    out = np.zeros(3)

    below.with_backend(backend)(numbers(), out=out)

    assert out.tolist() == [1.0, 2.0, 3.0]


def test_an_axis_may_count_neighbours(backend):
    table = ff.as_connectivity([Edge, E2VDim], Vertex, np.array([[0, 1], [1, 2]], np.int32))
    out = np.zeros(2)

    weighted.with_backend(backend)(
        numbers(3), np.array([[1.0, 2.0], [3.0, 4.0]]), out=out, offset_provider={"E2V": table}
    )

    assert out.tolist() == [2.0, 11.0]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (np.zeros((4, 1)), "array with 2 axes of float64"),
        (np.zeros(4, np.float32), "array with 1 axis of float32"),
        (np.zeros(4, ">f8"), "array with 1 axis of float64 in another byte order"),
        (np.ma.zeros(4), "masked array with 1 axis of float64"),
        (np.zeros(4, "S8"), "array with 1 axis of bytes64"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(scale_by, wrong, reason):
    with pytest.raises(ArgumentError, match=f"got '{reason}'") as e:
        scale_by(wrong, 2.0, np.zeros(4))

    assert e.value.hints


def test_an_array_is_no_number(scale_by):
    with pytest.raises(ArgumentError, match="'by' to be of type 'float64'"):
        scale_by(numbers(), np.array(2.0), np.zeros(4))


def test_what_is_read_only_is_not_written(scale_by):
    out = np.zeros(4)
    out.flags.writeable = False

    for lent in (out, memoryview(out), ByDLPack(out)):
        with pytest.raises(ReadOnlyError, match="read-only"):
            scale_by(numbers(), 2.0, lent)
    scale_by(out, 2.0, np.ones(4))


def test_an_array_that_is_too_small_is_refused(backend):
    with pytest.raises((DomainError, IndexOutOfBounds), match="'u'"):
        differ.with_backend(backend)(numbers(), np.zeros(4))


def test_an_array_on_another_device_is_not_read(scale_by):
    with pytest.raises(ArgumentError, match="'as_field'"):
        scale_by(OnGPU(), 2.0, np.zeros(4))


class OnGPU:
    """An array whose memory nobody here can reach."""

    def __init__(self):
        place = {"data": (4096, False), "shape": (4,), "typestr": "<f8", "version": 3}
        self.__cuda_array_interface__ = place


# --- compiled calls ----------------------------------------------------------------------------


def test_a_table_of_c_functions_is_used_and_its_memory_given_back(compiled):
    out = np.zeros(4)

    compiled(ByExchange(numbers()), 2.0, ByExchange(out))
    step = compiled.bind(u=ByExchange(numbers()), by=3.0)
    step(out=ByExchange(out))

    assert out.tolist() == [0.0, 3.0, 6.0, 9.0]
    assert LENT == []


def test_what_a_table_says_of_an_array_counts(compiled):
    with pytest.raises(DeviceError, match="'u' lies on device CUDA:1"):
        compiled(ByExchange(numbers(), device=(2, 1)), 2.0, np.zeros(4))
    for flag in (1, 2):  # read-only, a copy
        with pytest.raises(ReadOnlyError, match="'out'"):
            compiled(numbers(), 2.0, ByExchange(np.zeros(4), flags=flag))


@pytest.fixture
def compiled():
    return scale.with_backend(ff.cpu)


def test_elements_that_are_not_aligned_are_refused(compiled):
    odd = np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64)

    with pytest.raises(ArgumentError, match="not aligned"):
        compiled(odd, 2.0, np.zeros(4))


def test_a_field_of_other_dimensions_and_layout_is_refused_by_name():
    with pytest.raises(ArgumentError, match=r"'out' .* got 'Field\[\[I, K\], float64\]'"):
        heights.with_backend(ff.cpu)(ff.ones({K: 4}), out=ff.zeros({I: 3, K: 4}))


def test_layouts_of_arrays_choose_the_variant(compiled):
    program = scale.with_backend(ff.cpu)

    for u in (numbers(), numbers(8)[::2], numbers(), numbers()[::-1]):
        out = np.zeros(4)
        program(u, 2.0, out)
        assert out.tolist() == (2.0 * u).tolist()

    assert program.variants.count("\n") == 2
    assert "another layout of u" in program.variants


def test_overlapping_arrays_are_told_from_their_memory():
    memory = numbers(5)
    expected = np.diff(memory)

    differ.with_backend(ff.cpu)(memory, memory[:4])

    assert memory[:4].tolist() == expected.tolist()


def test_outputs_that_overlap_are_refused():
    plane = np.zeros((4, 4))

    with pytest.raises(OverlapError):
        grown.with_backend(ff.cpu)(Both(numbers(), np.ones((4, 4))), out=Both(plane[0], plane))


def test_bound_arrays_are_held(compiled):
    u, out = numbers(), np.zeros(4)
    bound = compiled.bind(u=u, by=3.0, out=out)
    bound()
    u *= 2.0
    with pytest.raises(ValueError, match="resize"):
        u.resize(100)

    del u
    bound.call()

    assert out.tolist() == [0.0, 6.0, 12.0, 18.0]


def test_recorded_arrays_are_held(compiled):
    u, out = numbers(), np.zeros(4)
    with ff.record() as step:
        compiled(u, 3.0, out)
    seen = memoryview(out)
    del u

    out[:] = 0.0
    step()
    step()

    assert seen.tolist() == [0.0, 3.0, 6.0, 9.0]


def test_a_slot_is_a_field(compiled):
    u = numbers()

    with pytest.raises(ArgumentError, match="Slot 'u' must be a field"), ff.record(u=u):
        compiled(u, 3.0, np.zeros(4))


def test_an_array_behind_a_slot_is_another_view(compiled):
    u, out = ff.ones({I: 4}), np.zeros(4)

    def calls():
        compiled(u, 3.0, out)
        compiled(u.ndarray, 3.0, out)

    with pytest.raises(ArgumentError, match="another view of the memory"), ff.record(u=u):
        calls()


def test_the_memory_of_an_array_is_given_back_after_the_call(compiled):
    exporter = bytearray(numbers().tobytes())
    u = memoryview(exporter).cast("d")

    compiled(u, 2.0, np.zeros(4))
    u.release()
    exporter.extend(b"more")  # refused while somebody looks at the memory

    assert len(exporter) == 36


def test_checked_calls_take_arrays(compiled):
    out = np.zeros(4)

    compiled.checked(numbers(), 2.0, out)

    assert out.tolist() == [0.0, 2.0, 4.0, 6.0]
