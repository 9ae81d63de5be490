"""Section 17: what programs that others wrote rely on, in all executions."""

# ruff: noqa: F821, UP037 - text inside annotations is what some tests are about

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import DomainError, FieldforgeError, OverlapError
from fieldforge.experimental import as_offset, concat_where

from ..dimensions import E2V, V2E, Cell, Column, E2VDim, Edge, I, K, Koff, Line, V2EDim, Vertex
from .support import (
    MESH,
    EdgeField,
    Slab,
    VertexField,
    as_connectivity,
    e2v,
    field,
    memory,
    numbers,
    on_memory,
    run,
    strided,
    v2e,
)

# --- 2: dtypes of embedded calls ----------------------------------------------------------------


@ff.field_operator
def tripled(a: Line, n: float) -> Line:
    return a * n + a


@ff.program
def tripled_into(a: Line, n: float, out: Line):
    tripled(a, n, out=out)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.int8, np.uint32])
def test_an_embedded_call_converts_what_loses_nothing_with_one_warning(dtype):
    out = ff.zeros({I: 3})
    with pytest.warns(UserWarning, match="Argument 'a' of 'tripled'") as seen:
        tripled.with_backend(None)(field(I, [1, 2, 3], dtype), 2.0, out=out)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(out.asnumpy(), [3.0, 6.0, 9.0])


def test_a_program_names_its_own_field_once():
    out = ff.zeros({I: 3})
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tripled_into.with_backend(None)(field(I, [1, 2, 3], np.float32), np.float32(2), out)
    told = [str(each.message) for each in seen if "converted" in str(each.message)]
    assert [text.partition(" is of")[0] for text in told] == [
        "Argument 'a' of 'tripled_into'",
        "Argument 'n' of 'tripled_into'",
    ]
    np.testing.assert_array_equal(out.asnumpy(), [3.0, 6.0, 9.0])


def test_what_may_lose_something_is_refused():
    with pytest.raises(TypeError, match="argument 'a' to be of type"):
        run(tripled, field(I, [1, 2], np.int64), 2.0, on={I: 2}, backend=None)


def test_an_output_is_not_converted():
    wrong = ff.zeros({I: 2}, dtype=np.float32)
    warnings.simplefilter("ignore")  # pytest puts the filters back
    with pytest.raises(TypeError, match="call to 'tripled_into'") as found:
        tripled_into.with_backend(None)(field(I, [1.0, 2.0]), 2.0, wrong)
    assert "Expected argument 'out' to be" in str(found.value)


def test_compiled_calls_convert_nothing(compiled):
    with pytest.raises(TypeError, match="argument 'a' to be of type"):
        run(tripled, field(I, [1, 2], np.int32), 2.0, on={I: 2}, backend=compiled)


# --- 3: states of collections -------------------------------------------------------------------


class Count(NamedTuple):
    total: ff.float32
    levels: ff.int64


class Nested(NamedTuple):
    count: Count
    pair: tuple[ff.float32, bool]


@ff.scan_operator(axis=K, forward=True, init=Nested(Count(0.0, 0), (1.0, True)))
def counted(state: Nested, x: ff.float32) -> Nested:
    total, levels = state.count.total + x, state.count.levels + ff.int64(1)
    return Nested(Count(total, levels), (state.pair[0] * x, not state.pair[1]))


Column32 = ff.Field[ff.Dims[K], ff.float32]


@ff.field_operator
def totals(x: Column32) -> tuple[Column32, ff.Field[ff.Dims[K], ff.int64], Column32]:
    found = counted(x)
    return found.count.total, found.count.levels, found.pair[0]


def test_the_first_state_takes_its_types_from_the_class(backend):
    x = field(K, [1, 2, 3], np.float32)
    out = tuple(ff.zeros({K: 3}, dtype=each) for each in (np.float32, np.int64, np.float32))
    totals.with_backend(backend)(x, out=out)
    found = [each.asnumpy().tolist() for each in out]
    assert found == [[1.0, 3.0, 6.0], [1, 2, 3], [1.0, 2.0, 6.0]]


@pytest.mark.parametrize("value", [0.5, np.float64(0.0), True])
def test_a_first_state_that_does_not_fit_the_class_is_refused(value):
    with pytest.raises(FieldforgeError, match="Argument 'init'"):

        @ff.scan_operator(axis=K, forward=True, init=Count(0.0, value))
        def wrong(state: Count, x: ff.float32) -> Count:
            return Count(state.total + x, state.levels)


# --- 4: strings inside annotations --------------------------------------------------------------


@ff.field_operator
def of_strings(
    a: ff.Field[[I], "float64"],
    pair: tuple["Field[[I], float64]", "Line"],
    c: ff.Field[["I"], "ff.float64"],
) -> "Field[Dims[I], float64]":
    return a + pair[0] + pair[1] + c


def test_strings_inside_annotations_are_looked_up(gives):
    a = field(I, [1.0, 2.0])
    gives([4.0, 8.0], of_strings, a, (a, a), a)


def test_a_string_that_names_nothing_is_an_error_of_its_own():
    with pytest.raises(FieldforgeError, match="Invalid type annotation"):

        @ff.field_operator
        def wrong(a: ff.Field[[I], "flaot64"]) -> Line:
            return a


# --- 5: one slot of a table ---------------------------------------------------------------------


@ff.field_operator
def first_vertex(x: VertexField) -> EdgeField:
    return x(E2V[0])


@ff.field_operator
def first_of_all(x: VertexField) -> EdgeField:
    return (2.0 * x(E2V))[E2VDim(0)]


@ff.field_operator
def first_of_sum(x: VertexField) -> EdgeField:
    return (x + 1.0)(E2V[0]) - x(E2V[0])


@ff.field_operator
def first_and_third(x: EdgeField) -> VertexField:
    return x(V2E)[V2EDim(0)] + 10.0 * x(V2E[2])


@pytest.mark.parametrize(
    ("operator", "factor", "more"),
    [(first_vertex, 1.0, 0.0), (first_of_all, 2.0, 0.0), (first_of_sum, 0.0, 1.0)],
)
def test_one_slot_asks_for_what_it_names_only(gives, operator, factor, more):
    x = field({Vertex: 5}, np.arange(5.0))  # slot 1 names vertex 5, too
    gives(factor * e2v[:, 0] + more, operator, x)


def test_what_the_slot_itself_names_is_still_asked_for(backend):
    x = field({Vertex: 2}, np.arange(2.0))
    with pytest.raises((DomainError, IndexError)):
        run(first_vertex, x, on={Edge: 9}, backend=backend, offset_provider=MESH)


def test_two_slots_do_not_ask_for_the_one_between(gives):
    table = {"V2E": as_connectivity([Vertex, V2EDim], codomain=Edge, data=[[0, 9, 1], [2, 9, 0]])}
    x = field({Edge: 3}, [1.0, 2.0, 3.0])
    gives([21.0, 13.0], first_and_third, x, offset_provider=table)


def test_a_slot_without_neighbours_asks_for_nothing(gives):
    table = {"V2E": as_connectivity([Vertex, V2EDim], codomain=Edge, data=[[5, 0, -1], [6, 0, -1]])}
    x = field({Edge: (5, 7)}, [1.0, 2.0])

    @ff.field_operator
    def chosen(x: EdgeField) -> VertexField:
        return ff.where(x(V2E[0]) > 0.0, x(V2E[0]), x(V2E[2]))

    gives([1.0, 2.0], chosen, x, offset_provider=table)


@ff.field_operator
def summed(x: EdgeField) -> VertexField:
    return ff.neighbor_sum(x(V2E), axis=V2EDim)


def test_a_reduction_asks_for_all_slots(backend):
    x = field({Edge: 8}, np.ones(8))
    with pytest.raises((DomainError, IndexError)):
        run(summed, x, on={Vertex: 6}, backend=backend, offset_provider=MESH)


# --- 6 and 17: outputs that share memory --------------------------------------------------------


@ff.field_operator
def two(x: Line) -> tuple[Line, Line]:
    return x, x + 10.0


@ff.field_operator
def copied(x: Line) -> Line:
    return x


@ff.program
def two_into(x: Line, one: Line, other: Line):
    two(x, out=(one, other))


@ff.program
def twice_into(x: Line, one: Line):
    two(x, out=(one, one))


@ff.program
def parts_into(x: Line, one: Line):
    two(x, out=(one[0:2], one[1:3]))


@ff.program
def one_after_the_other(x: Line, y: Line, one: Line, other: Line):
    copied(x, out=one)
    copied(y, out=other)


def test_one_field_twice_among_the_outputs_has_the_last_value(backend):
    x = field(I, [1.0, 2.0, 3.0])
    for call in (
        lambda out: two.with_backend(backend)(x, out=(out, out)),
        lambda out: two_into.with_backend(backend)(x, out, out),
        lambda out: two_into.with_backend(backend)(x, out, on_memory(out.ndarray)),
        lambda out: twice_into.with_backend(backend)(x, out),
    ):
        out = ff.zeros({I: 3})
        call(out)
        np.testing.assert_array_equal(out.asnumpy(), [11.0, 12.0, 13.0])


def test_an_input_may_be_the_output_that_occurs_twice(backend):
    out = field(I, [1.0, 2.0, 3.0])
    two.with_backend(backend)(out, out=(out, out))
    np.testing.assert_array_equal(out.asnumpy(), [11.0, 12.0, 13.0])


@pytest.mark.parametrize("shift", [1, 2])
def test_other_overlaps_of_outputs_of_a_statement_are_refused(backend, shift):
    all_of_it = memory(np.zeros(6))
    x, one, other = (
        field(I, [1.0, 2.0, 3.0]), on_memory(all_of_it[:3]), on_memory(all_of_it[shift:][:3]),
    )  # fmt: skip
    with pytest.raises(OverlapError):
        two.with_backend(backend)(x, out=(one, other))
    with pytest.raises(OverlapError):
        two_into.with_backend(backend)(x, one, other)
    with pytest.raises(OverlapError):
        parts_into.with_backend(backend)(x, one)
    assert not numbers(all_of_it).any()


def test_parts_of_one_memory_that_do_not_meet_are_two_outputs(backend):
    x = field(I, [1.0, 2.0, 3.0])
    domains = ({I: (0, 1)}, {I: (1, 3)})
    out = ff.zeros({I: 3})
    two.with_backend(backend)(x, out=(out, out), domain=domains)
    np.testing.assert_array_equal(out.asnumpy(), [1.0, 12.0, 13.0])


def test_an_output_whose_own_elements_overlap_is_refused(backend):
    for strides in ((0,), (4,)):
        all_of_it = memory(np.zeros(4))
        out = strided(all_of_it, (3,), strides)
        with pytest.raises((OverlapError, TypeError)):
            copied.with_backend(backend)(field(I, [1.0, 2.0, 3.0]), out=out)
        assert not numbers(all_of_it).any()


def test_between_statements_the_order_decides(backend):
    all_of_it = memory(np.zeros(4))
    one, other = on_memory(all_of_it[1:]), on_memory(all_of_it[:3])
    x, y = field(I, [1.0, 2.0, 3.0]), field(I, [7.0, 8.0, 9.0])
    one_after_the_other.with_backend(backend)(x, y, one, other)
    np.testing.assert_array_equal(numbers(all_of_it), [7.0, 8.0, 9.0, 3.0])


def test_a_later_statement_reads_what_an_earlier_one_left(backend):
    all_of_it = memory(np.arange(4.0))
    one, other = on_memory(all_of_it[1:]), on_memory(all_of_it[:3])
    x, out = field(I, [5.0, 6.0, 7.0]), ff.zeros({I: 3})
    one_after_the_other.with_backend(backend)(x, one, other, out)
    np.testing.assert_array_equal(out.asnumpy(), [6.0, 7.0, 3.0])


# --- 7: local fields as outputs -----------------------------------------------------------------

Spokes = ff.Field[ff.Dims[Vertex, V2EDim], ff.float64]
Slots = ff.Field[ff.Dims[Vertex, V2EDim, K], ff.float64]


@ff.field_operator
def spokes(x: EdgeField, w: Spokes) -> Spokes:
    return x(V2E) * w


@ff.field_operator
def with_levels(x: ff.Field[ff.Dims[Edge, K], ff.float64]) -> Slots:
    return x(V2E) + 1.0


def test_a_local_field_is_written_for_every_slot(backend):
    x, w = field(Edge, np.arange(9.0)), field((Vertex, V2EDim), np.arange(24.0).reshape(6, 4))
    found = run(spokes, x, w, on={Vertex: 6, V2EDim: 4}, backend=backend, offset_provider=MESH)
    there = v2e >= 0  # a missing neighbour leaves an undefined value
    np.testing.assert_array_equal(found[there], (v2e * w.asnumpy())[there])


def test_a_local_field_with_levels_and_a_domain_is_written(backend):
    x = field((Edge, K), np.arange(18.0).reshape(9, 2))
    out = ff.full({Vertex: 6, V2EDim: 4, K: 2}, -5.0)
    domain = {Vertex: (1, 4), V2EDim: (0, 2), K: (0, 2)}
    with_levels.with_backend(backend)(x, out=out, domain=domain, offset_provider=MESH)
    meant = np.full((6, 4, 2), -5.0)
    meant[1:4, :2] = x.asnumpy()[v2e[1:4, :2]] + 1.0
    np.testing.assert_array_equal(out.asnumpy(), meant)


# --- 13: tables and workspaces ------------------------------------------------------------------


@ff.field_operator
def sums(x: VertexField) -> EdgeField:
    return ff.neighbor_sum(x(E2V), axis=E2VDim)


def test_a_table_of_another_codomain_is_refused(backend):
    table = {"E2V": as_connectivity([Edge, E2VDim], codomain=Cell, data=e2v)}
    with pytest.raises(FieldforgeError, match="Cell"):
        run(sums, field(Vertex, np.ones(6)), on={Edge: 9}, backend=backend, offset_provider=table)


def test_nobody_makes_a_table_writable():
    table = as_connectivity([Edge, E2VDim], codomain=Vertex, data=e2v)
    array = table.ndarray
    while isinstance(array, np.ndarray):
        with pytest.raises(ValueError, match="WRITEABLE flag"):
            array.flags.writeable = True
        array = array.base


# --- 17: the rest -------------------------------------------------------------------------------


@ff.field_operator
def above(a: Column, by: ff.Field[ff.Dims[K], ff.int32]) -> Column:
    return concat_where(K > 2, a, 0.0)(as_offset(Koff, by))


@ff.field_operator
def between(a: Slab, by: ff.Field[ff.Dims[I, K], ff.int32]) -> Slab:
    return concat_where((K > 0) & (K < 3), a, 1.0)(as_offset(Koff, by))


@ff.field_operator
def shifted_between(a: Slab, by: ff.Field[ff.Dims[I, K], ff.int32]) -> Slab:
    return concat_where((K > 0) & (K < 3), a, 1.0)(K + 1)(as_offset(Koff, by))


def test_a_region_without_ends_may_be_displaced(gives):
    a, by = field({K: (3, 6)}, [1.0, 2.0, 3.0]), field({K: 6}, [1, 1, -1, 0, 1, 0], np.int32)
    gives([0.0, 0.0, 0.0, 1.0, 3.0, 3.0], above, a, by)


def test_a_region_of_joined_conditions_asks_for_what_its_branches_read(gives):
    a = field({I: 1, K: (1, 3)}, [[5.0, 6.0]])
    by = field({I: 1, K: 4}, [[1, 1, -1, 0]], np.int32)
    on = {I: 1, K: 4}
    gives([[5, 6, 5, 1]], between, a, by, on=on)
    gives([[6, 1, 6, 1]], shifted_between, a, by, on=on)


@ff.field_operator
def by_a_line(a: Slab, by: ff.Field[ff.Dims[I], ff.int32]) -> Slab:
    return a(as_offset(Koff, ff.broadcast(by, (I, K))))


def test_offsets_may_be_constant_along_their_dimension(gives):
    a, by = field({I: 2, K: 4}, np.arange(8.0).reshape(2, 4)), field(I, [1, -1], np.int32)
    gives([[2.0, 3.0], [4.0, 5.0]], by_a_line, a, by, on={I: 2, K: (1, 3)})


@ff.field_operator
def plus(a: Line, n: ff.Field[[], ff.float64]) -> Line:
    return a + n


@ff.program
def plus_into(a: Line, n: ff.Field[[], ff.float64], out: Line):
    plus(a, n, out=out)


@pytest.mark.parametrize("number", [3.0, np.float64(3.0), np.array(3.0)])
def test_a_number_is_a_field_without_dimensions(backend, gives, number):
    a, out = field(I, [1.0, 2.0]), ff.zeros({I: 2})
    gives([4.0, 5.0], plus, a, number)
    plus_into.with_backend(backend)(a, number, out)
    np.testing.assert_array_equal(out.asnumpy(), [4.0, 5.0])


def test_a_number_of_another_type_is_refused(backend):
    with pytest.raises(TypeError):
        run(plus, field(I, [1.0]), "3.0", on={I: 1}, backend=backend)
    with pytest.raises(TypeError):
        run(plus, field(I, [1.0]), 2**53 + 1, on={I: 1}, backend=backend)  # no float64


@pytest.mark.parametrize("reduction", ["neighbor_sum", "max_over", "min_over"])
def test_a_table_of_width_0_has_no_neighbours(gives, reduction):
    reduce = {"neighbor_sum": ff.neighbor_sum, "max_over": ff.max_over, "min_over": ff.min_over}
    over = reduce[reduction]

    @ff.field_operator
    def reduced(x: VertexField) -> EdgeField:
        return over(2.0 * x(E2V), axis=E2VDim)

    table = as_connectivity([Edge, E2VDim], codomain=Vertex, data=np.zeros((3, 0), np.int32))
    most = np.finfo(np.float64).max
    nothing = {"neighbor_sum": 0.0, "max_over": -most, "min_over": most}
    gives([nothing[reduction]] * 3, reduced, field(Vertex, [1.0]), offset_provider={"E2V": table})


def test_neighbours_are_counted_from_0():
    with pytest.raises(DomainError, match="counted from 0"):
        as_connectivity({Edge: 9, E2VDim: (1, 3)}, codomain=Vertex, data=e2v)
