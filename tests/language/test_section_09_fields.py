"""Section 9: constructors, and the field object: members, indexing, arithmetic, premap."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge._core.definitions import is_scalar_type

from ..dimensions import E2V, Edge, I, K, Vertex
from .support import MESH, e2v, field, random


class TestConstructors:
    """9.1."""

    @pytest.mark.parametrize("allocator", [None, np, ff.cpu, ff.cpu.allocator])
    def test_9_1_allocators_are_namespaces_backends_and_allocators(self, allocator):
        assert ff.ones({I: 3}, allocator=allocator).asnumpy().tolist() == [1.0] * 3

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

    def test_9_2_rule_fields_are_arrays_to_numpy_and_dlpack(self):
        f = field(I, random(3))

        np.testing.assert_array_equal(np.asarray(f), f.asnumpy())
        np.testing.assert_array_equal(np.from_dlpack(f), f.asnumpy())
        np.testing.assert_array_equal(np.frombuffer(memoryview(f)), f.asnumpy())


class TestPremap:
    """9.2, premap: the generalised gather."""

    def test_9_2_a_table_of_one_dimension_keeps_the_others(self):
        v = random(6, 3)

        found = field((Vertex, K), v).premap(MESH["E2V"])

        assert found.domain.dims == (Edge, E2V.target[1], K)
        np.testing.assert_array_equal(found.asnumpy(), v[e2v])
