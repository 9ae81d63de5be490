"""A missing neighbour that is read by number has no value: embedded, no statement may write it."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import (
    astype,
    broadcast,
    field_operator,
    float64,
    int32,
    max_over,
    neighbor_sum,
    scan_operator,
    where,
)
from fieldforge.experimental import as_offset, concat_where

from ..dimensions import C2E, E2C, C2EDim, Cell, E2CDim, Edge, K, Koff

CELLS = np.array([[0, 1], [1, -1], [2, 0], [2, 1]])
TABLES = {
    "E2C": ff.as_connectivity([Edge, E2CDim], codomain=Cell, data=CELLS),
    "C2E": ff.as_connectivity([Cell, C2EDim], codomain=Edge, data=[[0, 2], [3, 1], [2, 3]]),
}
Cells = ff.Field[ff.Dims[Cell, K], float64]
Edges = ff.Field[ff.Dims[Edge, K], float64]
Mask = ff.Field[ff.Dims[Edge], bool]
Sparse = ff.Field[ff.Dims[Edge, E2CDim], float64]
VALUES = np.arange(9.0).reshape(3, 3) + 1


def run(operator, *args, dims=(Edge, K), dtype=float64, **call):
    sizes = {Edge: 4, Cell: 3, E2CDim: 2, K: 3}
    out = ff.full({dim: sizes[dim] for dim in dims}, -1, dtype)
    operator(ff.as_field([Cell, K], VALUES), *args, out=out, offset_provider=TABLES, **call)
    return out.asnumpy()


@field_operator
def by_number(q: Cells) -> Edges:
    return q(E2C[1])


@field_operator
def by_slot(q: Cells) -> Edges:
    return (q(E2C) * 2.0)[E2CDim(1)]


@field_operator
def of_integers(q: Cells) -> ff.Field[ff.Dims[Edge, K], int32]:
    return astype(q, int32)(E2C[1]) + 1


@field_operator
def above(q: Cells) -> Edges:
    return q(E2C[1])(K + 1) - q(E2C[0])


@field_operator
def in_one_side(q: Cells, mask: Mask) -> Edges:
    return where(mask, q(E2C[1]), 0.0) + 1.0


@scan_operator(axis=K, forward=True, init=0.0)
def total(state: float64, x: float64) -> float64:
    return state + x


@field_operator
def in_a_scan(q: Cells) -> Edges:
    return total(q(E2C[1]))


@field_operator
def as_a_shift(q: Cells) -> Edges:
    return q(E2C[0])(as_offset(Koff, astype(q(E2C[1]) * 0.0, int32)))


@pytest.mark.parametrize(
    ("operator", "dtype", "stop"),
    [
        (by_number, float64, 3),
        (by_slot, float64, 3),
        (of_integers, int32, 3),
        (above, float64, 2),
        (in_a_scan, float64, 3),
        (as_a_shift, float64, 3),
    ],
)
def test_a_written_point_without_a_neighbour_is_refused(operator, dtype, stop):
    with pytest.raises(ff.errors.IndexOutOfBounds) as caught:
        run(operator, dtype=dtype, domain={Edge: (0, 4), K: (0, stop)})
    assert (
        "does not exist at Edge=1, K=0: table 'E2C' has no neighbour in slot 1 of Edge=1 (line"
        in (caught.value.message)
    )
    found = run(operator, dtype=dtype, domain={Edge: (2, 4), K: (0, stop)})
    compiled = run(operator.with_backend(ff.cpu), dtype=dtype, domain={Edge: (2, 4), K: (0, stop)})
    np.testing.assert_array_equal(found, compiled)


def test_a_mask_that_takes_the_other_side_hides_it():
    mask = CELLS[:, 1] >= 0
    found = run(in_one_side, ff.as_field([Edge], mask))
    np.testing.assert_array_equal(found, np.where(mask[:, None], VALUES[CELLS[:, 1]], 0.0) + 1.0)
    with pytest.raises(ff.errors.IndexOutOfBounds, match=r"at Edge=1, K=0: .* slot 1 of Edge=1"):
        run(in_one_side, ff.as_field([Edge], np.ones(4, bool)))


@field_operator
def in_a_region(q: Cells) -> Edges:
    return concat_where(Edge == 1, 5.0, q(E2C[1]))


@scan_operator(axis=K, forward=True, init=0.0)
def total_of_some(state: float64, x: float64, is_there: bool) -> float64:
    return state + (x if is_there else 1.0)


@field_operator
def in_a_scan_of_some(q: Cells, is_there: Mask) -> Edges:
    return total_of_some(q(E2C[1]), broadcast(is_there, (Edge, K)))


@scan_operator(axis=K, forward=True, init=0.0)
def count_large(state: float64, x: float64, is_there: bool) -> float64:
    return state + (1.0 if x > 4.0 else 0.0)


@scan_operator(axis=K, forward=True, init=0.0)
def count_large_of_some(state: float64, x: float64, is_there: bool) -> float64:
    large = 1.0 if x > 4.0 else 0.0
    small = 1.0
    if x < 2.0:
        small = 2.0
    return state + (large * small if is_there else 7.0)


@scan_operator(axis=K, forward=True, init=0.0)
def five_conditions(state: float64, x: float64, is_there: bool) -> float64:
    low = (1.0 if x > 1.0 else 0.0) + (1.0 if x > 2.0 else 0.0) + (1.0 if x > 3.0 else 0.0)
    return state + low + (1.0 if x > 4.0 else 0.0) + (1.0 if x > 5.0 else 0.0)


@field_operator
def counted(q: Cells, is_there: Mask) -> Edges:
    return count_large(q(E2C[1]), broadcast(is_there, (Edge, K)))


@field_operator
def counted_of_some(q: Cells, is_there: Mask) -> Edges:
    return count_large_of_some(q(E2C[1]), broadcast(is_there, (Edge, K)))


@field_operator
def counted_by_five(q: Cells, is_there: Mask) -> Edges:
    return five_conditions(q(E2C[1]), broadcast(is_there, (Edge, K)))


@pytest.mark.parametrize("operator", [counted, counted_by_five])
def test_a_condition_of_a_scan_has_no_value_either(operator):
    mask = ff.as_field([Edge], CELLS[:, 1] >= 0)
    with pytest.raises(ff.errors.IndexOutOfBounds, match=r"at Edge=1, K=0: .* slot 1 of Edge=1"):
        run(operator, mask)
    inside = {"domain": {Edge: (2, 4), K: (0, 3)}}
    compiled = run(operator.with_backend(ff.cpu), mask, **inside)
    np.testing.assert_array_equal(run(operator, mask, **inside), compiled)


def test_a_condition_that_changes_nothing_is_no_error():
    mask = ff.as_field([Edge], CELLS[:, 1] >= 0)
    compiled = run(counted_of_some.with_backend(ff.cpu), mask)
    np.testing.assert_array_equal(run(counted_of_some, mask), compiled)


def test_regions_and_scans_hide_it_too():
    assert run(in_a_region)[1].tolist() == [5.0] * 3
    assert run(in_a_scan_of_some, ff.as_field([Edge], CELLS[:, 1] >= 0))[1].tolist() == [1, 2, 3]
    with pytest.raises(ff.errors.IndexOutOfBounds, match="slot 1 of Edge=1"):
        run(in_a_scan_of_some, ff.as_field([Edge], np.ones(4, bool)))


@field_operator
def sums(q: Cells) -> Edges:
    return neighbor_sum(q(E2C) * 2.0, axis=E2CDim) + max_over(q(E2C), axis=E2CDim)


@field_operator
def slots(q: Cells) -> ff.Field[ff.Dims[Edge, E2CDim, K], float64]:
    return q(E2C) + 1.0


def test_reductions_skip_it_and_slots_without_a_neighbour_are_undefined():
    assert run(sums)[1].tolist() == (VALUES[1] * 3).tolist()
    found = run(slots, dims=(Edge, E2CDim, K))
    np.testing.assert_array_equal(found[CELLS >= 0], VALUES[CELLS[CELLS >= 0]] + 1.0)


@field_operator
def slots_of_some(q: Cells, w: Sparse) -> ff.Field[ff.Dims[Edge, E2CDim, K], float64]:
    return concat_where(Edge < 4, q(E2C), w)


def test_rows_that_no_table_has_are_written_beside_slots_without_a_neighbour():
    w = ff.full({Edge: 6, E2CDim: 2}, 7.0)
    out = ff.zeros({Edge: 6, E2CDim: 2, K: 3})
    q = ff.as_field([Cell, K], VALUES)
    slots_of_some(q, w, out=out, offset_provider=TABLES)
    assert (out.asnumpy()[4:] == 7.0).all()


@field_operator
def of_edges_of_cells(q: Cells) -> Cells:
    return q(E2C[1])(C2E[1])


def test_the_element_that_misses_its_neighbour_is_named_wherever_it_is_read():
    words = "at Cell=1, K=0: table 'E2C' has no neighbour in slot 1 of Edge=1 "
    with pytest.raises(ff.errors.IndexOutOfBounds, match=words):
        run(of_edges_of_cells, dims=(Cell, K))


@pytest.mark.parametrize("backend", [None, ff.cpu])
def test_a_checked_call_reports_it_as_a_number_that_is_not_finite(backend):
    with pytest.raises(ff.errors.CheckError, match="neighbour that is missing"):
        run(by_number.with_backend(backend).checked)
