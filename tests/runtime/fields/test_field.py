import copy
import operator
import pickle
import typing

import numpy as np
import pytest

from fieldforge.runtime._core import FieldView
from fieldforge.runtime.embedded.builtins import broadcast
from fieldforge.runtime.fields.constructors import as_field, zeros
from fieldforge.runtime.fields.field import Field, make, restricted
from fieldforge.runtime.language.annotations import Dims
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.language.dtype import DType
from fieldforge.runtime.process.errors import (
    ArgumentError,
    DomainError,
    EmbeddedExecutionError,
    IndexOutOfBounds,
    ReadOnlyError,
)

I, J, V = Dimension("I"), Dimension("J"), Dimension("V")
K = Dimension("K", DimensionKind.VERTICAL)


@pytest.fixture
def data():
    return np.random.default_rng(1).uniform(1.0, 2.0, (4, 3))


@pytest.fixture
def field(data):
    return as_field({I: (2, 6), J: (-1, 2)}, data)


def test_9_2_a_field_knows_its_domain_and_type(field, data):
    assert field.domain == domain({I: (2, 6), J: (-1, 2)})
    assert field.shape == (4, 3)
    assert field.dtype.scalar_type is np.float64
    assert field.codomain is np.float64
    assert field.array_ns is np
    assert np.array_equal(field.asnumpy(), data)
    assert field.asnumpy() is field.ndarray
    assert isinstance(field, FieldView)


def test_a_dtype_compares_with_what_means_the_same():
    dtype = DType(np.float32)

    assert dtype == np.float32
    assert dtype == np.dtype("float32")
    assert dtype == DType(np.float32)
    assert dtype != np.float64
    assert dtype in {DType(np.float32)}
    assert dtype.itemsize == 4
    assert DType(np.longlong) == DType(np.int64)  # two scalar types of NumPy
    assert DType(np.longlong) in {DType(np.int64)}


def test_9_2_the_gt_protocol(field):
    assert field.__gt_domain__ == field.domain
    assert field.__gt_dims__ == ("I", "J")
    assert field.__gt_origin__ == (-2, 1)
    info = field.__gt_buffer_info__
    assert info.pointer == field.ndarray.__array_interface__["data"][0]
    assert (info.shape, info.strides, info.device) == ((4, 3), field.ndarray.strides, (1, 0))


def test_9_2_str_shows_domain_and_dtype(field):
    assert str(field) == "Field(I=(2:6), J=(-1:2); float64)"


def test_9_2_a_field_has_no_truth_value_and_no_hash(field):
    with pytest.raises(TypeError, match="no truth value"):
        bool(field)
    with pytest.raises(TypeError):
        hash(field)


def test_9_2_as_scalar_takes_only_fields_without_dimensions(field):
    one = field[0, 0]
    assert one.as_scalar() == float(one) == field.asnumpy()[0, 0]
    assert int(one) == int(field.asnumpy()[0, 0])
    for scalar in (field.__class__.as_scalar, float):
        with pytest.raises(ValueError, match="without dimensions"):
            scalar(field)


def test_9_2_other_libraries_read_the_memory(field, data):
    assert np.array_equal(np.asarray(field), data)
    assert np.asarray(field, dtype=np.float32).dtype == np.float32
    assert np.shares_memory(np.from_dlpack(field), field.ndarray)
    assert field.__dlpack_device__() == (1, 0)
    assert memoryview(field.ndarray).shape == (4, 3)
    assert not np.shares_memory(np.array(field), field.ndarray)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_9_2_pickle_and_deepcopy_keep_everything_but_the_memory(field, clone):
    other = clone(field)

    assert other.domain == field.domain
    assert np.array_equal(other.asnumpy(), field.asnumpy())
    assert other.strides == field.strides
    assert not np.shares_memory(other.ndarray, field.ndarray)


def test_9_2_assignment_takes_scalars_arrays_and_fields_of_the_same_domain(field, data):
    other = zeros(field.domain)

    other[...] = field
    other[I(2)] = 5.0
    other[1:2, :] = np.full((1, 3), 6.0)

    assert np.array_equal(other.asnumpy()[2:], data[2:])
    assert np.array_equal(other.asnumpy()[:2], [[5.0] * 3, [6.0] * 3])


def test_9_2_assignment_of_another_domain_is_refused(field):
    with pytest.raises(ValueError, match="Incompatible 'Domain' in assignment"):
        field[1:] = field[:-1]


def test_assignment_to_read_only_memory_is_refused():
    array = np.zeros(3)
    array.flags.writeable = False
    field = make(array, domain({I: 3}))

    with pytest.raises(ReadOnlyError, match="read-only"):
        field[0] = 1.0


def test_5_a_shift_along_a_missing_dimension_is_refused(field):
    with pytest.raises(DomainError, match="Incompatible offset can not shift field"):
        field(K + 1)
    with pytest.raises(ArgumentError, match="can be applied to offsets"):
        field(3)


OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("op", [*OPERATORS, operator.pow], ids=lambda op: op.__name__)
def test_9_2_operators_work_on_the_intersection(op, field, data):
    other = as_field({I: (3, 8), J: (0, 3)}, np.arange(1.0, 16.0).reshape(5, 3))

    result = op(field, other)

    expected = op(data[1:, 1:], other.asnumpy()[:3, :2])
    assert result.domain == domain({I: (3, 6), J: (0, 2)})
    assert np.array_equal(result.asnumpy(), expected)
    assert result.asnumpy().dtype == expected.dtype


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("number", [2, 2.5, np.float32(3), np.int64(2)])
def test_9_2_operators_take_numbers_on_both_sides(op, number, field, data):
    assert np.array_equal(op(field, number).asnumpy(), op(data, number))
    assert np.array_equal(op(number, field).asnumpy(), op(number, data))


@pytest.mark.parametrize("left", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("right", [np.int32, np.float32, np.float64, 3, 0.5])
@pytest.mark.parametrize("op", [operator.add, operator.truediv, operator.mul])
def test_9_2_dtypes_follow_numpy_outside_of_operators(op, left, right):
    a = np.array([1, 2, 3], left)
    b = np.array([4, 5, 6], right) if isinstance(right, type) else right
    other = as_field([I], b) if isinstance(right, type) else right

    result = op(as_field([I], a), other)

    np.testing.assert_allclose(result.asnumpy(), op(a, b), rtol=1e-6)
    assert result.dtype == op(a, b).dtype


def test_9_2_unary_operators(field, data):
    assert np.array_equal((-field).asnumpy(), -data)
    assert np.array_equal((+field).asnumpy(), data)
    assert np.array_equal(abs(-field).asnumpy(), data)


def test_9_2_logic_needs_bool():
    a = as_field([I], [True, True, False])
    b = as_field([I], [True, False, False])

    assert (a & b).asnumpy().tolist() == [True, False, False]
    assert (a | b).asnumpy().tolist() == [True, True, False]
    assert (a ^ b).asnumpy().tolist() == [False, True, False]
    assert (~a).asnumpy().tolist() == [False, False, True]
    assert (True & b).asnumpy().tolist() == [True, False, False]
    with pytest.raises(NotImplementedError, match="works on fields of bool"):
        a & as_field([I], [1, 2, 3])
    with pytest.raises(NotImplementedError):
        ~as_field([I], [1, 2, 3])


def test_an_unbounded_field_has_no_array_but_can_be_restricted():
    spread = broadcast(as_field({K: 2}, [1, 2]), (I, K))

    with pytest.raises(EmbeddedExecutionError, match="infinite domain"):
        _ = spread.ndarray
    with pytest.raises(EmbeddedExecutionError, match="'Domain'"):
        spread[3]
    part = spread[domain({I: (7, 9)})]
    assert isinstance(part, Field)
    assert part.domain == domain({I: (7, 9), K: (0, 2)})
    assert part.asnumpy().tolist() == [[1, 2], [1, 2]]
    with pytest.raises(IndexOutOfBounds):
        restricted(spread, domain({I: (0, 2), K: (0, 3)}))


def test_2_2_a_field_is_also_an_annotation():
    assert typing.get_args(Field[Dims[I, K], np.float64]) == (Dims[I, K], np.float64)
    assert typing.get_origin(Field[[I], float]) is Field
