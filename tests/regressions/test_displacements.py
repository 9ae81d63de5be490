from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64, int32, where
from fieldforge.experimental import as_offset, concat_where
from fieldforge.runtime.process.errors import DomainError

from .executions import agree, all_values

I = ff.Dimension("I")
K = ff.Dimension("K", ff.DimensionKind.VERTICAL)
Koff = ff.FieldOffset("Koff", source=K, target=(K,))

pytestmark = pytest.mark.needs_compiler


@ff.field_operator(backend=None)
def from_regions(a: Field[Dims[K], float64], by: int32) -> Field[Dims[I, K], float64]:
    value = concat_where(I >= 2, a, where(concat_where(K >= 4, True, False), 7.0, a))
    return broadcast(value(as_offset(Koff, concat_where(K == 2, by, -by))), (I, K))


@ff.field_operator(backend=None)
def from_a_number(by: int32) -> Field[Dims[I, K], float64]:
    value = concat_where((I >= 2) & (K > 3), 1.0, 2.0)
    return value(as_offset(Koff, concat_where(I == 1, by, 0) + concat_where(K < 3, 0, 1)))


@pytest.mark.parametrize("by", [1, -1, 2])
def test_neither_offsets_nor_values_need_an_end(by):
    """Regions that reach to infinity, displaced by regions of numbers."""

    @ff.program(backend=None)
    def run(
        a: Field[Dims[K], float64], by: int32,
        out: Field[Dims[I, K], float64], other: Field[Dims[I, K], float64],
    ):  # fmt: skip
        from_regions(a, by, out=out, domain={I: (0, 4), K: (0, 6)})
        from_a_number(by, out=other)

    column = np.arange(10.0, 22.0)

    def arguments():
        return {
            "a": ff.as_field({K: (-3, 9)}, column),
            "by": by,
            "out": ff.zeros({I: 4, K: 6}),
            "other": ff.zeros({I: (0, 4), K: (-4, 9)}),
        }

    meant = agree(run, arguments)

    levels = np.arange(6) + np.where(np.arange(6) == 2, by, -by)
    near = np.broadcast_to(column[levels + 3], (4, 6)).copy()
    near[:2, levels >= 4] = 7.0
    np.testing.assert_array_equal(meant["out"], near)
    rows, places = np.arange(4)[:, None], np.arange(-4, 9)[None, :]
    places = places + np.where(rows == 1, by, 0) + np.where(places < 3, 0, 1)
    np.testing.assert_array_equal(meant["other"], np.where((rows >= 2) & (places > 3), 1.0, 2.0))


@ff.field_operator(backend=None)
def beside_a_number(a: Field[Dims[I, K], float64], by: Field[Dims[K], int32]):
    return concat_where((K < 0) | (I != 3), a, 3.25)(as_offset(Koff, by))


@ff.field_operator(backend=None)
def far_away(a: Field[Dims[I, K], float64], by: Field[Dims[K], int32]):
    return concat_where(K != 100, 1.5, a)(as_offset(Koff, by)) + 0.0 * a


@ff.field_operator(backend=None)
def in_two_regions(a: Field[Dims[I, K], float64], by: Field[Dims[K], int32]):
    value = concat_where(I != 3, a, concat_where(K < 20, 1.0, 2.0)) * 2.0
    return value(as_offset(Koff, by)) + a(K - 1)


@pytest.mark.parametrize("operator", [beside_a_number, far_away, in_two_regions])
def test_a_displaced_region_asks_for_no_index_that_no_offset_leads_to(operator):
    """The interpreter asked each branch for the whole range of the other."""

    @ff.program(backend=None)
    def run(
        a: Field[Dims[I, K], float64], by: Field[Dims[K], int32], out: Field[Dims[I, K], float64]
    ):
        operator(a, by, out=out)

    def arguments():
        return {
            "a": ff.as_field({I: (0, 6), K: (-1, 9)}, np.arange(60.0).reshape(6, 10)),
            "by": ff.as_field([K], np.array([0, 1, -1, 1, 0, 1, 1], np.int32)),
            "out": ff.zeros({I: (1, 6), K: (0, 7)}),
        }

    agree(run, arguments)
    agree(run, arguments, ff.cpu.with_options(arrays=all_values(run, **arguments())))


def test_other_dimensions_of_what_is_displaced_must_exist():
    @ff.program(backend=None)
    def run(
        a: Field[Dims[I, K], float64], by: Field[Dims[K], int32], out: Field[Dims[I, K], float64]
    ):
        beside_a_number(a, by, out=out)

    for backend in (None, ff.reference, ff.cpu):
        a, by = ff.zeros({I: 3, K: 9}), ff.zeros({K: 7}, int32)
        with pytest.raises(DomainError, match="along 'I'"):
            run.with_backend(backend)(a, by, ff.zeros({I: (0, 6), K: (0, 7)}))


@ff.field_operator(backend=None)
def from_half_of_a_line(
    a: Field[Dims[I, K], float64], by: Field[Dims[K], int32]
) -> Field[Dims[I, K], float64]:
    return where(concat_where(I >= 2, True, False), 1.0, a)(as_offset(Koff, by))


def test_a_part_of_a_value_without_an_end_may_be_empty():
    """Embedded execution asked for the length of the empty part, which goes on for ever."""

    @ff.program(backend=None)
    def run(
        a: Field[Dims[I, K], float64], by: Field[Dims[K], int32], out: Field[Dims[I, K], float64]
    ):
        from_half_of_a_line(a, by, out=out)

    def arguments():
        return {
            "a": ff.as_field({I: (0, 2), K: (-2, 5)}, np.arange(14.0).reshape(2, 7)),
            "by": ff.as_field({K: (-1, 4)}, np.array([0, 1, -1, 1, 0], np.int32)),
            "out": ff.zeros({I: (0, 9), K: (-1, 4)}),
        }

    agree(run, arguments)
