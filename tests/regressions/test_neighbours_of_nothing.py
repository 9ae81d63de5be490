"""Neighbours where there are none: found by generated programs."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64, min_over, neighbor_sum
from fieldforge.experimental import concat_where

from ..dimensions import C2C, C2E, E2C, C2CDim, C2EDim, Cell, E2CDim, Edge, K
from .executions import agree, all_values


@ff.field_operator
def unused(a: Field[Dims[Edge, K], float64]) -> Field[Dims[Cell, K], float64]:
    second = (a(C2E) * 2.0)[C2EDim(1)]  # noqa: F841 (that nobody uses it is the point)
    return broadcast(7.0, (Cell, K))


@pytest.mark.needs_compiler
def test_a_slot_that_nobody_uses_is_taken_of_a_field_that_has_no_whole_row():
    given = {"a": ff.ones({Edge: (2, 3), K: 2}), "out": ff.zeros({Cell: 2, K: 2})}

    data = np.array([[2, 0, 1], [0, 1, 3]], np.int32)
    tables = {"C2E": ff.as_connectivity({Cell: 2, C2EDim: 3}, Edge, data)}
    meant = agree(unused, given, tables=tables)
    np.testing.assert_array_equal(meant["out"], 7.0)


@ff.field_operator
def beside(a: Field[Dims[K], float64]) -> Field[Dims[Cell, K], float64]:
    quotient = a / (a + 1.0)
    chosen = concat_where(Cell == -1, quotient, broadcast(a, (Cell, K)))
    return neighbor_sum(chosen(C2C), axis=C2CDim)


@pytest.mark.needs_compiler
def test_a_skip_value_lies_in_no_region():
    data = np.array([[1, -1], [0, 1], [-1, -1]], np.int32)
    tables = {"C2C": ff.as_connectivity({Cell: 3, C2CDim: 2}, Cell, data, skip_value=-1)}
    a = ff.as_field({K: 4}, np.arange(4.0))
    meant, out = ff.zeros({Cell: 3, K: 4}), ff.zeros({Cell: 3, K: 4})
    beside.with_backend(None)(a, out=meant, offset_provider=tables)
    strict = beside.with_backend(ff.cpu.with_options(numerics="strict"))
    arrays = all_values(strict, a, out=out, offset_provider=tables)
    as_written = strict.backend.with_options(arrays=arrays, flags=("-O0",))

    strict.with_backend(as_written)(a, out=out, offset_provider=tables)  # this crashed

    np.testing.assert_array_equal(out.asnumpy(), meant.asnumpy())


@ff.field_operator
def never_used(
    a: Field[Dims[Edge, K], float64], b: Field[Dims[Cell, K], float64]
) -> Field[Dims[Cell], float64]:
    slots = broadcast(concat_where(Cell <= -1, 3.0, b), (Cell, C2EDim, K))
    apart = a(K + 1)(C2E) + slots
    alone = slots(K + 7) + slots
    first = alone[C2EDim(0)]  # noqa: F841 (that nobody uses it is the point)
    both = neighbor_sum(apart + alone, axis=C2EDim)  # noqa: F841
    return broadcast(7.0, (Cell,))


@pytest.mark.needs_compiler
def test_slots_without_end_of_fields_that_do_not_meet():
    """Embedded execution asked how many slots there are (seed 8300, 115/57)."""

    given = {
        "a": ff.ones({Edge: 4, K: 1}),
        "b": ff.ones({Cell: 2, K: 1}),
        "out": ff.zeros({Cell: 2}),
    }

    data = np.array([[2, 0, 1], [0, 1, 3]], np.int32)
    tables = {"C2E": ff.as_connectivity({Cell: 2, C2EDim: 3}, Edge, data)}
    agree(never_used, given, tables=tables)


@ff.field_operator
def least_beside(a: Field[Dims[Edge, K], float64]) -> Field[Dims[Edge, K], float64]:
    return min_over(a(C2E), axis=C2EDim)(E2C[0]) + a(K - 1)


@pytest.mark.needs_compiler
def test_where_all_neighbours_are_missing_other_levels_may_be_too():
    """No neighbour is read, so the field is read on the levels of the shift only."""
    tables = {
        "C2E": ff.as_connectivity([Cell, C2EDim], Edge, [[-1, 3], [-1, -1]]),
        "E2C": ff.as_connectivity([Edge, E2CDim], Cell, [[1, 0], [0, 1]]),
    }

    given = {"a": ff.full({Edge: 4, K: 4}, 2.0), "out": ff.zeros({Edge: 1, K: (1, 4)})}

    meant = agree(least_beside, given, tables=tables)
    np.testing.assert_array_equal(meant["out"], np.finfo(np.float64).max)
