"""Section 17: a read that only one side of `where` uses may lead beyond a field."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import broadcast, float64, int32, max_over, neighbor_sum, where
from fieldforge.experimental import as_offset, concat_where

from ..dimensions import C2E, E2C, C2EDim, Cell, Column, Edge, I, J, K, Koff, Line, Plane
from .conftest import STRICT
from .support import (
    CellField,
    CellK,
    EdgeField,
    EdgeK,
    Slab,
    c2e,
    field,
    random,
    run,
)

Levels = ff.Field[ff.Dims[K], int32]
Indices = ff.Field[ff.Dims[I], int32]
LEVELS = np.arange(8, dtype=np.int32)


def levels() -> ff.Field:
    return field(K, LEVELS)


@ff.field_operator(backend=None)
def above(a: Column, k: Levels, n: int32) -> Column:
    return where(k < n, a(K + 1), -1.0)


@ff.field_operator(backend=None)
def below(a: Column, k: Levels) -> Column:
    return where(k > 0, a(K - 1), -1.0)


@ff.field_operator(backend=None)
def other_side(a: Column, k: Levels, n: int32) -> Column:
    return where(k >= n, -1.0, a(K + 2) * 2.0)


def test_a_call_inside_the_field_is_as_before(gives):
    a = random(10)
    gives(a[1:9], above, field(K, a), levels(), 9)


@pytest.mark.parametrize("execution", [None, "reference"])
def test_a_missing_value_that_is_written_is_refused(execution):
    a, backend = field(K, random(8)), STRICT.get(execution)
    out = ff.zeros({K: 8})
    with pytest.raises(ff.errors.IndexOutOfBounds, match=r"(?s)K=7.*a.*"):
        above.with_backend(backend)(a, levels(), 8, out=out, offset_provider={})
    assert not out.asnumpy().any()


def test_embedded_names_operand_index_and_line():
    out = ff.zeros({K: 8})
    with pytest.raises(ff.errors.IndexOutOfBounds, match=r"K=7: in 'where' of 'above'") as caught:
        above(field(K, random(8)), levels(), 8, out=out, offset_provider={})
    assert "'a(K + 1)' lives on K=(-1:7)" in str(caught.value)
    assert "line " in str(caught.value)


def test_a_missing_value_at_a_point_that_is_not_written_is_fine(backend):
    a = random(8)
    out = run(above, field(K, a), levels(), 8, on={K: 8}, domain={K: (0, 7)}, backend=backend)
    assert np.array_equal(out, [*a[1:], 0.0])


@pytest.mark.needs_compiler
def test_unchecked_compiled_calls_read_inside_the_field():
    memory = np.full(12, np.nan)
    memory[2:10] = random(8)
    a = ff.as_field({K: (0, 8)}, memory[2:10])  # NaN around it in memory
    out = run(above, a, levels(), 8, on={K: 8}, backend=STRICT["cpu"])
    assert np.array_equal(out[:7], memory[3:10])
    assert out[7] in memory[2:10]


@pytest.mark.needs_compiler
def test_checked_calls():
    program = above.with_backend(STRICT["cpu"])
    a, out = random(8), ff.zeros({K: 8})
    program.checked(field(K, a), levels(), 7, out=out, offset_provider={})
    assert np.array_equal(out.asnumpy(), [*a[1:], -1.0])
    with pytest.raises(ff.errors.IndexOutOfBounds, match="K=7"):
        program.checked(field(K, a), levels(), 8, out=out, offset_provider={})
    assert np.array_equal(out.asnumpy(), [*a[1:], -1.0])


IntColumn = ff.Field[ff.Dims[K], int32]


@ff.field_operator(backend=None)
def of_integers(a: IntColumn, k: Levels, n: int32) -> IntColumn:
    return where(k < n, a(K + 1), 0)


def test_integers(backend):
    a = np.arange(1, 9, dtype=np.int32)
    out = run(of_integers, field(K, a), levels(), 7, on={K: 8}, backend=backend, dtype=np.int32)
    assert np.array_equal(out, [*a[1:], 0])


@pytest.mark.needs_compiler
def test_checked_calls_test_the_index_so_that_integers_count():
    a, out = field(K, LEVELS + 1), ff.zeros({K: 8}, dtype=np.int32)
    with pytest.raises(ff.errors.IndexOutOfBounds, match="K=7"):
        of_integers.with_backend(STRICT["cpu"]).checked(a, levels(), 8, out=out, offset_provider={})
    assert not out.asnumpy().any()


@ff.field_operator(backend=None)
def east(a: Plane, i: Indices, n: int32) -> Plane:
    return where(i < n, a(I + 1), a)


def test_horizontal_shift_and_a_hard_read_of_the_same_field(backend):
    a, i = random(5, 4), np.arange(5, dtype=np.int32)
    out = run(east, field((I, J), a), field(I, i), 4, on={I: 5, J: 4}, backend=backend)
    assert np.array_equal(out, np.concatenate([a[1:], a[-1:]]))


@ff.field_operator(backend=None)
def corner(a: Plane, i: Indices, n: int32) -> Plane:
    return where(i < n, a(I + 1)(J - 1), 0.0)


def test_two_dimensions_at_once(backend):
    a, i = random(5, 4), np.arange(5, dtype=np.int32)
    fields = field((I, J), a), field(I, i)
    out = run(corner, *fields, 0, on={I: 5, J: 4}, backend=backend)
    assert not out.any()
    out = run(corner, *fields, 4, on={I: (0, 5), J: (1, 5)}, backend=backend)
    assert np.array_equal(out, np.concatenate([a[1:], np.zeros((1, 4))]))


@ff.field_operator(backend=None)
def nested(a: Column, b: Column, k: Levels, n: int32) -> Column:
    return where(k < n, where(k > 0, a(K - 1) + a(K + 1), a(K + 1)), where(k > n, b(K - 8), b))


@ff.field_operator(backend=None)
def chained(a: Column, k: Levels, n: int32) -> Column:
    chosen = where(k < n, 2.0 * (a(K + 1) - a) + 1.0, 0.0)
    return chosen * chosen + a


@ff.field_operator(backend=None)
def under_a_shift(a: Column, k: Levels, n: int32) -> Column:
    chosen = where(k < n, a(K + 1), 0.0)
    return chosen(K - 1) + chosen(K + 1)


def test_under_a_shift(backend):
    a, k = random(8), np.arange(-1, 9, dtype=np.int32)
    at = field({K: (-1, 9)}, k)
    out = run(under_a_shift, field(K, a), at, 7, on={K: 8}, backend=backend)
    chosen = np.array([*a, 0.0, 0.0])  # at -1, 0, ...
    assert np.array_equal(out, chosen[:8] + chosen[2:])


Bool = ff.Field[ff.Dims[K], bool]


@ff.field_operator(backend=None)
def masks(a: Column, b: Column, k: Levels, n: int32) -> Column:
    low = k < n
    return where(where(low, a(K + 1) > 0.0, k < 0), b, -b)


@ff.field_operator(backend=None)
def tuples(a: Column, b: Column, k: Levels, n: int32) -> tuple[Column, Column]:
    return where(k < n, (a(K + 1), b), (b, a(K - 7)))


def test_tuples(backend):
    a, b = random(8), random(8, seed=2)
    first, second = ff.zeros({K: 8}), ff.zeros({K: 8})
    given = field(K, a), field(K, b), levels(), 7
    tuples.with_backend(backend)(*given, out=(first, second), offset_provider={})
    assert np.array_equal(first.asnumpy(), [*a[1:], b[7]])
    assert np.array_equal(second.asnumpy(), [*b[:7], a[0]])


def squares(a):
    chosen = np.array([*(2.0 * (a[1:] - a[:-1]) + 1.0), 0.0])
    return chosen * chosen + a


CHOSEN = {
    "one level up": (above, 7, lambda a: [*a[1:], -1.0]),
    "one level down": (below, None, lambda a: [-1.0, *a[:-1]]),
    "the other side": (other_side, 6, lambda a: [*(a[2:] * 2.0), -1.0, -1.0]),
    "inside a pointwise chain": (chained, 7, squares),
    "nested": (nested, 7, lambda a, b: [a[1], *(a[:-2] + a[2:]), b[7]]),
    "as a mask": (masks, 7, lambda a, b: np.where([*(a[1:] > 0.0), False], b, -b)),
}


@pytest.mark.parametrize(("operator", "n", "expected"), CHOSEN.values(), ids=CHOSEN)
def test_one_side_is_read_where_it_is_chosen(gives, operator, n, expected):
    given = [random(8), random(8, seed=2)][: expected.__code__.co_argcount]
    rest = [] if n is None else [n]
    fields = [field(K, each) for each in given]
    gives(expected(*given), operator, *fields, levels(), *rest)


# --- neighbours -----------------------------------------------------------------------------------


@ff.field_operator(backend=None)
def gathered(e: EdgeK, k: Levels, n: int32) -> CellK:
    return where(k < n, e(C2E[1])(K + 1), 0.0)


@ff.field_operator(backend=None)
def summed(e: EdgeK, k: Levels, n: int32) -> CellK:
    return where(k < n, neighbor_sum(e(K + 1)(C2E), axis=C2EDim), 0.0)


@ff.field_operator(backend=None)
def sum_of_chosen(e: EdgeK, k: Levels, n: int32) -> CellK:
    chosen = where(k < n, e(K + 1), 0.5)
    return neighbor_sum(chosen(C2E), axis=C2EDim) + max_over(chosen(C2E), axis=C2EDim)


def reduced(e):
    chosen = np.pad(e[:, 1:], ((0, 0), (0, 1)), constant_values=0.5)
    one, two, three = (chosen[c2e[:, slot]] for slot in range(3))
    return one + two + three + np.maximum(np.maximum(one, two), three)


def above_of_cells(e, *slots):
    return np.pad(sum(e[c2e[:, slot], 1:] for slot in slots), ((0, 0), (0, 1)))


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (gathered, lambda e: above_of_cells(e, 1)),
        (summed, lambda e: above_of_cells(e, 0, 1, 2)),
        (sum_of_chosen, reduced),
    ],
    ids=["a gather", "a reduction below where", "where below a reduction"],
)
def test_neighbours_on_one_side(gives, operator, expected):
    e = random(9, 8)
    gives(expected(e), operator, field((Edge, K), e), levels(), 7)


Inside = ff.Field[ff.Dims[Edge], bool]


@ff.field_operator(backend=None)
def missing_neighbours(c: CellField, inner: Inside) -> EdgeField:
    return where(inner, c(E2C[1]) - c(E2C[0]), 0.0)


def test_a_field_with_fewer_cells_than_the_table_names(gives):
    c = random(3)  # cell 3 is a neighbour of edges 1, 7 and 8
    inner = np.array([0, 0, 0, 0, 0, 1, 1, 0, 0], bool)
    gives(
        [0, 0, 0, 0, 0, c[1] - c[0], c[2] - c[1], 0, 0], missing_neighbours, field(Cell, c),
        field(Edge, inner),
    )  # fmt: skip


# --- what stays hard ------------------------------------------------------------------------------


@ff.field_operator(backend=None)
def hard_elsewhere(a: Column, k: Levels, n: int32) -> Column:
    return where(k < n, a(K + 1), 0.0) + a(K + 1)


@ff.field_operator(backend=None)
def on_both_sides(a: Column, k: Levels, n: int32) -> Column:
    return where(a(K + 1) > 0.0, where(k < n, 1.0, 2.0), 0.0)


@ff.scan_operator(axis=K, forward=True, init=0.0, backend=None)
def running(state: float64, x: float64) -> float64:
    return state + x


@ff.field_operator(backend=None)
def in_a_scan(a: Column, k: Levels, n: int32) -> Column:
    return running(where(k < n, a(K + 1), 0.0))


@ff.field_operator(backend=None)
def scan_in_where(a: Column, k: Levels, n: int32) -> Column:
    return where(k < n, running(a(K + 1)), 0.0)


@ff.field_operator(backend=None)
def in_an_index(a: Column, by: Levels, k: Levels, n: int32) -> Column:
    return a(as_offset(Koff, where(k < n, by(K + 1), 0)))


@pytest.mark.parametrize("operator", [hard_elsewhere, on_both_sides, in_a_scan, scan_in_where])
def test_hard_reads_are_refused(backend, operator):
    with pytest.raises(ValueError, match=r"K|levels"):
        run(operator, field(K, random(8)), levels(), 7, on={K: 8}, backend=backend)
    run(operator, field(K, random(9)), levels(), 7, on={K: 8}, backend=backend)


def test_the_index_of_as_offset_is_hard(backend, gives):
    a, by = field(K, random(8)), np.zeros(9, np.int32)
    given = {"on": {K: 8}, "backend": backend, "offset_provider": {"Koff": K}}
    with pytest.raises(ValueError, match="K"):
        run(in_an_index, a, field(K, by[:8]), levels(), 7, **given)
    gives(a.asnumpy(), in_an_index, a, field(K, by), levels(), 7, **given)


@ff.field_operator(backend=None)
def displaced(a: Column, by: Levels, k: Levels, n: int32) -> Column:
    return where(k < n, a(as_offset(Koff, by(K + 1))), 0.0)


def test_an_index_below_where_is_hard_too(compiled):  # embedded execution does not need it
    given = {"on": {K: 8}, "backend": compiled, "offset_provider": {"Koff": K}}
    with pytest.raises(ValueError, match="K"):
        run(displaced, field(K, random(8)), levels(), levels(), 7, **given)


@ff.field_operator(backend=None)
def result_of_a_scan(a: Column, k: Levels, n: int32) -> Column:
    sums = running(a)
    return where(k > n, sums - sums(K - 1), sums)


def test_levels_below_a_scan(gives):
    a = np.arange(1.0, 9.0)
    gives(a, result_of_a_scan, field(K, a), levels(), 0)


@ff.field_operator(backend=None)
def with_concat_where(a: Column) -> Column:
    return concat_where(K < 7, a(K + 1), 0.0)


@ff.field_operator(backend=None)
def too_far_in_concat_where(a: Column) -> Column:
    return concat_where(K < 8, a(K + 1), 0.0)


def test_concat_where_is_exact(backend, gives):
    a = random(8)
    gives([*a[1:], 0.0], with_concat_where, field(K, a))
    with pytest.raises(ValueError, match="K"):
        run(too_far_in_concat_where, field(K, a), on={K: 8}, backend=backend)


@ff.field_operator(backend=None)
def where_in_a_region(a: Slab, k: Levels, n: int32) -> Slab:
    return concat_where(K > 0, where(k < n, a(K + 1) - a(K - 1), 0.0), a)


def test_where_in_a_region(backend):
    a = random(3, 8)
    out = run(where_in_a_region, field((I, K), a), levels(), 7, on={I: 3, K: 8}, backend=backend)
    inner = a[:, 2:] - a[:, :-2]
    assert np.array_equal(out, np.concatenate([a[:, :1], inner, np.zeros((3, 1))], axis=1))


@ff.field_operator(backend=None)
def smaller_fields(mask: Bool, a: Column, b: Column) -> Column:
    return where(mask, a, b)


def test_each_side_may_cover_its_own_points_only(backend):
    a, b = random(4), random(4, seed=2)
    mask = field(K, np.arange(8) < 4)
    out = run(smaller_fields, mask, field(K, a), field({K: (4, 8)}, b), on={K: 8}, backend=backend)
    assert np.array_equal(out, [*a, *b])


@ff.field_operator(backend=None)
def broadcast_side(mask: Bool, a: Line) -> Slab:
    return where(mask, broadcast(a, (I, K)), 0.0)


def test_a_side_that_is_shorter_along_another_dimension(backend):
    a, mask = random(3), np.zeros(4, bool)
    out = run(broadcast_side, field(K, mask), field(I, a), on={I: 5, K: 4}, backend=backend)
    assert not out.any()


def test_a_field_without_elements_is_refused(compiled):
    with pytest.raises(ValueError, match="too small"):
        run(above, ff.zeros({K: 0}), levels(), 0, on={K: 8}, backend=compiled)


# --- programs, variants, bound and recorded calls ------------------------------------------------


@ff.program(backend=None)
def stepped(a: Column, k: Levels, n: int32, b: Column, c: Column):
    above(a, k, n, out=b)
    chained(b, k, n, out=c, domain={K: (0, n + 1)})


def test_two_statements(backend):
    a, b, c = random(8), ff.zeros({K: 8}), ff.zeros({K: 8})
    stepped.with_backend(backend)(field(K, a), levels(), 7, b, c, offset_provider={})
    first = np.array([*a[1:], -1.0])
    chosen = np.array([*(2.0 * (first[1:] - first[:-1]) + 1.0), 0.0])
    assert np.array_equal(b.asnumpy(), first)
    assert np.array_equal(c.asnumpy(), chosen * chosen + first)


def test_in_place(backend):
    a = field(K, random(8))
    before = a.asnumpy().copy()
    above.with_backend(backend)(a, levels(), 7, out=a, offset_provider={})
    assert np.array_equal(a.asnumpy(), [*before[1:], -1.0])


@pytest.mark.needs_compiler
def test_static_domains():
    program = stepped.with_backend(STRICT["cpu"]).with_compilation_options(static_domains=True)
    a, b, c = random(8), ff.zeros({K: 8}), ff.zeros({K: 8})
    program(field(K, a), levels(), 7, b, c, offset_provider={})
    assert np.array_equal(b.asnumpy(), [*a[1:], -1.0])


@pytest.mark.needs_compiler
def test_the_call_picks_and_nothing_compiles():
    program = above.with_backend(STRICT["cpu"])
    out = ff.zeros({K: 8})
    program(field(K, random(9)), levels(), 7, out=out, offset_provider={}, enable_jit=True)
    a = random(8)
    program(field(K, a), levels(), 7, out=out, offset_provider={}, enable_jit=False)
    assert np.array_equal(out.asnumpy(), [*a[1:], -1.0])


@pytest.mark.needs_compiler
def test_large_tiled_fields():
    a, k = random(300, 300), np.arange(300, dtype=np.int32)
    given = field((I, J), a), field(I, k), 299
    out = run(east, *given, on={I: 300, J: 300}, backend=STRICT["cpu"])
    assert np.array_equal(out, np.concatenate([a[1:], a[-1:]]))


@pytest.mark.needs_compiler
def test_bound_and_recorded_calls():
    program = stepped.with_backend(STRICT["cpu"])
    a, b, c = field(K, random(8)), ff.zeros({K: 8}), ff.zeros({K: 8})
    first = np.array([*a.asnumpy()[1:], -1.0])
    bound = program.bind(a=a, k=levels(), n=7, b=b, c=c)
    bound.call()
    assert np.array_equal(b.asnumpy(), first)
    with ff.record(a=a, b=b) as step:
        program(a, levels(), 7, b, c, offset_provider={})
    for given in (a, field(K, random(8, seed=3)), field(K, random(9))):
        out = ff.zeros({K: 8})
        step(a=given, b=out)
        inner = given.asnumpy()[1:8]
        assert np.array_equal(out.asnumpy(), [*inner, -1.0])
