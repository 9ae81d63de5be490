"""Section 9: constructors, and the field object: members, indexing, arithmetic, premap."""

import copy
import operator
import pickle

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import constructors
from fieldforge._core.definitions import is_scalar_type
from fieldforge.common import NamedRange

from .support import (
    E2V,
    MESH,
    Edge,
    I,
    J,
    K,
    Vertex,
    e2v,
    field,
    random,
)


class TestConstructors:
    """9.1."""

    @pytest.mark.parametrize(
        "domain",
        [{I: 3, J: (1, 3)}, ff.domain({I: 3, J: (1, 3)}), ((I, 3), (J, (1, 3)))],
        ids=["dict", "domain", "pairs"],
    )
    @pytest.mark.parametrize(("make", "value"), [(ff.zeros, 0.0), (ff.ones, 1.0)])
    def test_9_1_a_domain_is_anything_that_domain_takes(self, domain, make, value):
        made = make(domain)

        assert made.domain == ff.domain({I: 3, J: (1, 3)})
        assert made.dtype == np.float64
        assert (made.asnumpy() == value).all()

    def test_9_1_empty_has_a_shape_and_a_dtype(self):
        made = ff.empty({I: 3}, dtype=ff.int32)

        assert (made.shape, made.dtype.scalar_type) == ((3,), np.int32)

    @pytest.mark.parametrize(
        ("value", "dtype", "expected"),
        [(5, None, "int64"), (5.0, None, "float64"), (True, None, "bool"),
         (np.float32(5), None, "float32"), (5, ff.float32, "float32")],
    )  # fmt: skip
    def test_9_1_full_has_the_dtype_of_its_value(self, value, dtype, expected):
        made = ff.full({I: 3}, value, dtype)

        assert str(made.dtype) == expected
        assert (made.asnumpy() == value).all()

    def test_9_1_as_field_copies(self):
        data = random(3)
        made = ff.as_field([I], data)
        data[0] = 100.0

        assert made.asnumpy()[0] != 100.0

    def test_9_1_indices_start_at_zero_or_at_minus_the_origin(self):
        data = random(3, 4)

        assert ff.as_field([I, J], data).domain == ff.domain({I: 3, J: 4})
        shifted = ff.as_field([I, J], data, origin={I: 1})
        assert shifted.domain == ff.domain({I: (-1, 2), J: 4})

    def test_9_1_what_does_not_fit_is_a_value_error(self):
        with pytest.raises(ValueError, match="shape"):
            ff.as_field({I: 4}, random(3))
        with pytest.raises(ValueError, match="origin"):
            ff.as_field({I: 3}, random(3), origin={I: 1})

    def test_9_1_constructors_take_arguments_in_advance(self):
        single = constructors.zeros.partial(dtype=ff.float32)

        assert single({I: 3}).dtype == np.float32
        assert constructors.as_field.partial(dtype=ff.int32)([I], [1, 2]).dtype == np.int32

    def test_9_1_a_field_constructor_has_the_same_methods(self):
        make = ff.FieldConstructor(allocator=ff.cpu)

        assert make.zeros({I: 2}).asnumpy().tolist() == [0.0, 0.0]
        assert make.ones({I: 2}).asnumpy().tolist() == [1.0, 1.0]
        assert make.full({I: 2}, 3.0).asnumpy().tolist() == [3.0, 3.0]
        assert make.as_field([I], [1.0, 2.0]).asnumpy().tolist() == [1.0, 2.0]
        assert make.empty({I: 2}).shape == (2,)

    @pytest.mark.parametrize("allocator", [None, np, ff.cpu, ff.cpu.allocator])
    def test_9_1_allocators_are_namespaces_backends_and_allocators(self, allocator):
        assert ff.ones({I: 3}, allocator=allocator).asnumpy().tolist() == [1.0] * 3

    def test_9_1_a_device_may_be_named(self):
        assert ff.ones({I: 3}, device=ff.Device(ff.DeviceType.CPU, 0)).shape == (3,)

    def test_9_1_memory_is_aligned(self):
        for shape in ({I: 3, J: 5, K: 7}, {I: 1}, {K: 13}):
            assert ff.zeros(shape).ndarray.ctypes.data % 64 == 0

    def test_9_1_device_types_are_those_of_dlpack(self):
        assert [(kind.name, int(kind)) for kind in ff.DeviceType] == [
            ("CPU", 1), ("CUDA", 2), ("ROCM", 10),
            ("NULL", 12),  # the number that DLPack leaves to extensions
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("value", "expected"),
        [(1, True), (1.0, True), (np.int32(1), True), (True, True), ("1", False), ([1], False)],
    )
    def test_9_1_scalars_are_recognised(self, value, expected):
        assert is_scalar_type(value) is expected

    def test_9_1_integers_of_every_width_are_fields(self):
        for name in ("int8", "uint8", "int16", "uint16", "uint32", "uint64", "bool"):
            assert str(ff.zeros({I: 1}, dtype=getattr(ff, name)).dtype) == name


class TestField:
    """9.2."""

    def test_9_2_members(self):
        array = random(3, 4)
        f = field({I: (1, 4), J: 4}, array)

        assert isinstance(f, ff.Field)
        assert f.domain == ff.domain({I: (1, 4), J: 4})
        assert (f.shape, f.dims) == ((3, 4), (I, J))
        assert f.dtype.scalar_type is np.float64
        assert f.codomain is np.float64
        assert f.array_ns is np
        np.testing.assert_array_equal(f.ndarray, array)

    def test_9_2_the_array_is_live_and_not_copied(self):
        f = ff.zeros({I: 3})
        f.ndarray[...] = 2.0

        assert f.asnumpy().tolist() == [2.0] * 3
        assert np.shares_memory(f.asnumpy(), f.ndarray)

    def test_9_2_the_raw_interface(self):
        f = ff.as_field([I, J], random(3, 4), origin={I: 1, J: 0})

        assert tuple(f.__gt_origin__) == (1, 0)
        assert f.__gt_domain__ == f.domain
        assert tuple(f.__gt_dims__) == ("I", "J")
        assert f.__gt_buffer_info__ is not None

    def test_9_2_one_value_is_a_scalar(self):
        assert ff.as_field(ff.domain({}), np.asarray(2.5)).as_scalar() == 2.5
        with pytest.raises(ValueError, match="without dimensions"):
            field(I, random(1)).as_scalar()

    def test_9_2_a_field_has_no_truth(self):
        with pytest.raises(TypeError):
            bool(field(I, random(3)))

    def test_9_2_text_shows_domain_and_dtype(self):
        assert "float64" in str(field({I: (1, 3)}, random(2)))
        assert "(1:3)" in str(field({I: (1, 3)}, random(2)))

    def test_9_2_rule_fields_are_arrays_to_numpy_and_dlpack(self):
        f = field(I, random(3))

        np.testing.assert_array_equal(np.asarray(f), f.asnumpy())
        np.testing.assert_array_equal(np.from_dlpack(f), f.asnumpy())
        np.testing.assert_array_equal(np.frombuffer(memoryview(f)), f.asnumpy())

    def test_9_2_copies_and_pickles(self):
        f = field({I: (2, 5)}, random(3))
        for again in (copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
            again.ndarray[...] += 1.0
            assert again.domain == f.domain
            np.testing.assert_array_equal(again.asnumpy(), f.asnumpy() + 1.0)


class TestIndexing:
    """9.2, indexing."""

    @pytest.mark.parametrize(
        ("index", "expected", "domain"),
        [
            (1, np.s_[1], {J: 4}),
            (-1, np.s_[-1], {J: 4}),
            (np.s_[1:], np.s_[1:], {I: (3, 5), J: 4}),
            (np.s_[:, 1:3], np.s_[:, 1:3], {I: (2, 5), J: (1, 3)}),
            (np.s_[..., -1], np.s_[..., -1], {I: (2, 5)}),
            (np.s_[-2:, :-1], np.s_[-2:, :-1], {I: (3, 5), J: 3}),
            (I(3), np.s_[1], {J: 4}),
            ((I(3), J(2)), np.s_[1, 2], {}),
            (slice(I(3), I(5)), np.s_[1:3], {I: (3, 5), J: 4}),
            (NamedRange(J, ff.UnitRange(1, 3)), np.s_[:, 1:3], {I: (2, 5), J: (1, 3)}),
            (ff.domain({J: (1, 3)}), np.s_[:, 1:3], {I: (2, 5), J: (1, 3)}),
            ((slice(I(3), None), J(0)), np.s_[1:, 0], {I: (3, 5)}),
        ],
        ids=str,
    )
    def test_9_2_relative_and_absolute_indices(self, index, expected, domain):
        array = random(3, 4)
        f = field({I: (2, 5), J: 4}, array)

        part = f[index]

        assert part.domain == ff.domain(domain)
        np.testing.assert_array_equal(part.asnumpy(), array[expected])
        assert np.shares_memory(part.ndarray, f.ndarray)

    @pytest.mark.parametrize(
        "index", [3, -4, np.s_[0:4], np.s_[-4:], I(1), I(5), slice(I(2), I(6)), np.s_[:, :, 0],
                  ff.domain({I: (1, 3)})], ids=str,
    )  # fmt: skip
    def test_9_2_nothing_is_clipped(self, index):
        with pytest.raises(IndexError):
            _ = field({I: (2, 5), J: 4}, random(3, 4))[index]

    def test_9_2_steps_are_refused(self):
        with pytest.raises((IndexError, ValueError, TypeError)):
            _ = field(I, random(4))[::2]

    def test_9_2_assignment_takes_numbers_arrays_and_fields(self):
        f, array = ff.zeros({I: 4}), np.zeros(4)
        f[1:3] = 2.0
        f[I(0)] = -1.0
        f[3:] = np.array([7.0])
        f[ff.domain({I: (1, 2)})] = field({I: (1, 2)}, [5.0])
        array[:] = [-1.0, 5.0, 2.0, 7.0]

        np.testing.assert_array_equal(f.asnumpy(), array)

    def test_9_2_an_assigned_field_has_the_domain_of_its_place(self):
        f = ff.zeros({I: 4})

        with pytest.raises(ValueError, match="Incompatible 'Domain' in assignment"):
            f[1:3] = field({I: 2}, random(2))


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


class TestArithmetic:
    """9.2, arithmetic outside operators."""

    @pytest.mark.parametrize("name", [*BINARY, *COMPARISONS])
    def test_9_2_operators_work_on_fields_and_numbers(self, name):
        a, b = np.abs(random(4)) + 0.5, np.abs(random(4, seed=2)) + 0.5
        compute = getattr(operator, name)

        both = compute(field(I, a), field(I, b))
        right = compute(field(I, a), 2.0)

        np.testing.assert_allclose(both.asnumpy(), compute(a, b), rtol=1e-15)
        np.testing.assert_allclose(right.asnumpy(), compute(a, 2.0), rtol=1e-15)
        if name != "pow":
            left = compute(2.0, field(I, a))
            np.testing.assert_allclose(left.asnumpy(), compute(2.0, a), rtol=1e-15)

    def test_9_2_a_power_is_not_reflected(self):
        with pytest.raises(TypeError):
            _ = 2.0 ** field(I, random(3))

    @pytest.mark.parametrize("name", ["and_", "or_", "xor"])
    def test_9_2_logic_is_for_truth_values(self, name):
        a, b = random(4) > 0, random(4, seed=2) > 0
        compute = getattr(operator, name)

        np.testing.assert_array_equal(compute(field(I, a), field(I, b)).asnumpy(), compute(a, b))
        np.testing.assert_array_equal((~field(I, a)).asnumpy(), ~a)
        with pytest.raises(NotImplementedError):
            compute(field(I, random(4)), field(I, random(4)))

    def test_9_2_signs_and_absolute_values(self):
        u = random(4)
        f = field(I, u)

        for compute in (operator.neg, operator.pos, abs):
            np.testing.assert_array_equal(compute(f).asnumpy(), compute(u))

    def test_9_2_dtypes_follow_numpy(self):
        single, double = field(I, random(3), np.float32), field(I, random(3))
        integer = field(I, [1, 2, 3], np.int32)

        assert (single + double).dtype == np.float64
        assert (single + 1.0).dtype == np.float32
        assert (integer / integer).dtype == np.float64
        assert (integer + 1).dtype == np.int32

    def test_9_2_domains_meet_and_dimensions_are_promoted(self):
        a, b = field({J: (0, 3)}, random(3)), field({I: 2, J: (1, 5)}, random(2, 4))

        found = a + b

        assert found.domain == ff.domain({I: 2, J: (1, 3)})
        np.testing.assert_array_equal(found.asnumpy(), a.asnumpy()[None, 1:] + b.asnumpy()[:, :2])


class TestPremap:
    """9.2, premap: the generalised gather."""

    def test_9_2_a_shift(self):
        f = field({I: (2, 7)}, random(5))

        assert f.premap(I + 1).domain == f(I + 1).domain == ff.domain({I: (1, 6)})

    def test_9_2_a_table(self):
        v = random(6)

        found = field(Vertex, v).premap(MESH["E2V"])

        np.testing.assert_array_equal(found.asnumpy(), v[e2v])
        assert found.domain.dims == (Edge, E2V.target[1])

    def test_9_2_a_table_of_one_dimension_keeps_the_others(self):
        v = random(6, 3)

        found = field((Vertex, K), v).premap(MESH["E2V"])

        assert found.domain.dims == (Edge, E2V.target[1], K)
        np.testing.assert_array_equal(found.asnumpy(), v[e2v])

    def test_9_2_codomains_are_distinct_and_there(self):
        f = field((I, J), random(4, 4))

        assert f.premap(I + 1, J - 1).domain == ff.domain({I: (-1, 3), J: (1, 5)})
        with pytest.raises((ValueError, TypeError, NotImplementedError, ff.errors.FieldforgeError)):
            f.premap(K + 1)
