import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64, int32, maximum, where
from fieldforge.experimental import as_offset, concat_where
from fieldforge.runtime.process.errors import DomainError

from ..dimensions import I, K, Koff
from .executions import agree, all_values

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

    given = {
        "a": ff.as_field({K: (-3, 9)}, column),
        "by": by,
        "out": ff.zeros({I: 4, K: 6}),
        "other": ff.zeros({I: (0, 4), K: (-4, 9)}),
    }

    meant = agree(run, given)

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

    given = {
        "a": ff.as_field({I: (0, 6), K: (-1, 9)}, np.arange(60.0).reshape(6, 10)),
        "by": ff.as_field([K], np.array([0, 1, -1, 1, 0, 1, 1], np.int32)),
        "out": ff.zeros({I: (1, 6), K: (0, 7)}),
    }

    agree(operator, given)
    agree(operator, given, ff.cpu.with_options(arrays=all_values(operator, **given)))


def test_other_dimensions_of_what_is_displaced_must_exist():
    for backend in (None, ff.reference, ff.cpu):
        a, by = ff.zeros({I: 3, K: 9}), ff.zeros({K: 7}, int32)
        with pytest.raises(DomainError, match="along 'I'"):
            beside_a_number.with_backend(backend)(a, by, out=ff.zeros({I: (0, 6), K: (0, 7)}))


@ff.field_operator(backend=None)
def from_half_of_a_line(
    a: Field[Dims[I, K], float64], by: Field[Dims[K], int32]
) -> Field[Dims[I, K], float64]:
    return where(concat_where(I >= 2, True, False), 1.0, a)(as_offset(Koff, by))


def test_a_part_of_a_value_without_an_end_may_be_empty():
    """Embedded execution asked for the length of the empty part, which goes on for ever."""

    given = {
        "a": ff.as_field({I: (0, 2), K: (-2, 5)}, np.arange(14.0).reshape(2, 7)),
        "by": ff.as_field({K: (-1, 4)}, np.array([0, 1, -1, 1, 0], np.int32)),
        "out": ff.zeros({I: (0, 9), K: (-1, 4)}),
    }

    agree(from_half_of_a_line, given)


@ff.field_operator(backend=None)
def numbers_twice(one: Field[Dims[K], int32], two: Field[Dims[K], int32]):
    return concat_where(K >= 1, 1, 3)(as_offset(Koff, one))(as_offset(Koff, two))


def test_a_displaced_value_goes_as_far_as_its_distances():
    """The interpreter read the inner displacement only around the edge of the region."""

    first = np.array([5, -1, 2, 4, -3, 1, 0, -4, 3], np.int32)
    second = np.array([3, 7, 1, -1, 0, 3, -4, 1, -6], np.int32)

    given = {
        "one": ff.as_field({K: (-3, 6)}, first),
        "two": ff.as_field({K: (-3, 6)}, second),
        "out": ff.zeros({K: (-3, 6)}, int32),
    }

    meant = agree(numbers_twice, given)
    levels = np.arange(9) + second - 3
    np.testing.assert_array_equal(meant["out"], np.where(levels + first[levels + 3] >= 1, 1, 3))
    agree(
        numbers_twice,
        given,
        ff.cpu.with_options(arrays=all_values(numbers_twice, **given)),
    )


@ff.field_operator(backend=None)
def by_a_scalar(a: Field[Dims[K], float64], by: Field[Dims[K], int32], far: int32):
    value = concat_where(K >= 1, 1.0, 3.0)(as_offset(Koff, concat_where(K < 3, far, -far)))
    return concat_where(K < 2, value, a)(as_offset(Koff, by))


@ff.field_operator(backend=None)
def by_a_power(a: Field[Dims[K], float64], by: Field[Dims[K], int32], far: int32):
    reach = maximum(concat_where(K < 0, 2 * far, far), -far) - 1
    value = concat_where(K >= 1, 1.0, 3.0)(as_offset(Koff, reach))
    return concat_where((K < 2) & (K != -1), value * 2.0, a)(as_offset(Koff, by))


@pytest.mark.parametrize("far", [4, -4, 1, 0])
@pytest.mark.parametrize("operator", [by_a_scalar, by_a_power])
def test_distances_without_an_end_are_those_of_the_call(operator, far):
    """What the edges of a region mean for a displaced value depends on how far it is displaced."""

    given = {
        "a": ff.as_field({K: (-20, 20)}, np.arange(40.0)),
        "by": ff.as_field({K: (-4, 6)}, np.array([5, -8, 2, 4, -3, 1, 0, -4, 3, 7], np.int32)),
        "far": far,
        "out": ff.zeros({K: (-4, 6)}),
    }

    agree(operator, given)
    agree(operator, given, ff.cpu.with_options(arrays=all_values(operator, **given)))


@ff.field_operator(backend=None)
def in_steps(a: Field[Dims[K], float64], one: Field[Dims[K], int32], two: Field[Dims[K], int32]):
    return (a(as_offset(Koff, one)) + 1.0)(as_offset(Koff, two))


def test_distances_are_read_only_where_a_displacement_leads():
    """The interpreter asked for the distances of the inner one on the whole range of the field."""

    given = {
        "a": ff.as_field({K: (10, 30)}, np.arange(20.0)),
        "one": ff.as_field({K: (0, 7)}, np.array([12, 11, 14, 9, 10, 20, 7], np.int32)),
        "two": ff.as_field({K: (1, 6)}, np.array([1, -1, 0, -1, 1], np.int32)),
        "out": ff.zeros({K: (1, 6)}),
    }

    meant = agree(in_steps, given)
    assert meant["out"].tolist() == [7.0, 3.0, 3.0, 3.0, 4.0]


@ff.field_operator(backend=None)
def by_data_without_an_end(
    a: Field[Dims[I, K], float64], by: Field[Dims[I], int32], two: Field[Dims[I, K], int32]
) -> Field[Dims[I, K], float64]:
    return a(as_offset(Koff, broadcast(by, (I, K))))(as_offset(Koff, two))


def test_data_may_lead_a_displacement_without_an_end():
    given = {
        "a": ff.as_field({I: 3, K: (10, 30)}, np.arange(60.0).reshape(3, 20)),
        "by": ff.as_field([I], np.array([12, 14, 20], np.int32)),
        "two": ff.as_field({I: 3, K: 5}, np.arange(15, dtype=np.int32).reshape(3, 5) % 3 - 1),
        "out": ff.zeros({I: 3, K: 5}),
    }

    agree(by_data_without_an_end, given)
