"""Adjoints of programs whose `where` hides what lies outside of a field."""

import inspect

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import broadcast, float64, int32, minimum, where
from fieldforge.experimental import concat_where
from fieldforge.stages.ir.dataflow import Region

from ...derivative_cases import C2E, C2EDim, Cell, Edge, I, K, copied

Plane = ff.Field[ff.Dims[I, K], float64]
Line = ff.Field[ff.Dims[I], float64]
Cells = ff.Field[ff.Dims[Cell], float64]
Edges = ff.Field[ff.Dims[Edge], float64]
Mask = ff.Field[ff.Dims[I, K], bool]
BACKENDS = {"interpreted": None, "rows": "rows", "gpu-host": ff.gpu_host, "cpu": "cpu"}


@ff.field_operator(backend=None)
def scaled(u: Plane, factor: Line) -> Plane:
    return where(concat_where(I > 1, True, False), u * factor, 2.0 * factor)


@ff.program(backend=None)
def scale(u: Plane, factor: Line, out: Plane):
    scaled(u, factor, out=out)


@pytest.mark.parametrize("name", BACKENDS)
def test_a_sum_over_levels_reads_what_where_takes(name):
    rng = np.random.default_rng(1)
    given = {
        "u": ff.as_field({I: (2, 5), K: (0, 4)}, rng.normal(size=(3, 4))),  # none at I = 0, 1
        "factor": ff.as_field([I], rng.normal(size=5)),
        "out": ff.zeros({I: 5, K: 4}),
    }
    out_b = ff.as_field([I, K], rng.normal(size=(5, 4)))
    _, pull = ff.vjp(scale, given)
    expected = pull({"out": out_b})["factor"].asnumpy()
    factor_b = ff.full({I: 5}, np.nan)

    run = ff.adjoint(scale, wrt=("factor",)).with_backend(BACKENDS[name])
    run(given["u"], given["factor"], out_b, factor_b)

    np.testing.assert_allclose(factor_b.asnumpy(), expected, rtol=1e-13)


def test_kernels_of_adjoints_for_calls_beyond_fields_are_apart():
    forward = scale.with_backend(ff.gpu_host)
    made = [forward, ff.adjoint(forward, wrt=("factor",))]

    sources = [each.trace(until="codegen")["codegen"].artifact.source for each in made]

    assert ["within(" in each for each in sources] == [True, False]


@ff.field_operator(backend=None)
def around(u: Edges, v: Cells) -> Cells:
    return where(concat_where(Cell > 0, True, False), u(C2E[1]) * v, u(C2E[0]))


@ff.program(backend=None)
def go_around(u: Edges, v: Cells, out: Cells):
    around(u, v, out=out)


@pytest.mark.parametrize("name", BACKENDS)
def test_what_is_missing_in_another_slot_is_not_taken(name):
    entries = np.array([[0, 1], [1, 2], [2, 0]])
    mesh = {"C2E": ff.as_connectivity([Cell, C2EDim], Edge, entries)}
    rng = np.random.default_rng(2)
    given = {
        "u": ff.as_field([Edge], rng.normal(size=3)),
        "v": ff.as_field({Cell: (1, 3)}, rng.normal(size=2)),  # none at the first cell
        "out": ff.zeros({Cell: 3}),
    }
    out_b = ff.as_field([Cell], rng.normal(size=3))
    _, pull = ff.vjp(go_around, given, offset_provider=mesh)
    expected = pull({"out": out_b})["u"].asnumpy()
    u_b = ff.full({Edge: 3}, np.nan)

    run = ff.adjoint(go_around, wrt=("u",)).with_backend(BACKENDS[name])
    run(given["u"], given["v"], copied(out_b), u_b, offset_provider=mesh)

    np.testing.assert_allclose(u_b.asnumpy(), expected, rtol=1e-13)


@ff.field_operator(backend=None)
def ends(a: Line, mask: Mask, b: Plane) -> Plane:
    return concat_where(I >= 2, a, where(mask, a, b))


@ff.program(backend=None)
def mask_ends(a: Line, mask: Mask, b: Plane, out: Plane):
    ends(a, mask, b, out=out)


@ff.field_operator(backend=None)
def squared(a: Line, mask: Mask, b: Plane) -> Plane:
    chosen = ends(a, mask, b)
    return chosen * chosen


@ff.program(backend=None)
def mask_squares(a: Line, mask: Mask, b: Plane, out: Plane):
    squared(a, mask, b, out=out)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("program", [mask_ends, mask_squares], ids=["linear", "squared"])
def test_sums_walk_apart_where_together_they_would_read_more(program, name):
    rng = np.random.default_rng(0)
    given = {
        "a": ff.as_field([I], rng.uniform(size=7)),
        "mask": ff.as_field([I, K], np.eye(2, 3) == 1.0),
        "b": ff.as_field([I, K], rng.uniform(size=(2, 3))),
        "out": ff.as_field([I, K], rng.uniform(size=(7, 3))),
    }
    _, pull = ff.vjp(program, given)
    meant = pull({"out": given["out"]})
    found = {each: ff.full(given[each].domain, np.nan) for each in "ab"}

    run = ff.adjoint(program, wrt=("a", "b")).with_backend(BACKENDS[name])
    places = {"out_b": given["out"], "a_b": found["a"], "b_b": found["b"]}
    run(
        **{each: {**given, **places}[each] for each in inspect.signature(run.definition).parameters}
    )

    for each in "ab":
        np.testing.assert_allclose(found[each].asnumpy(), meant[each].asnumpy(), rtol=1e-13)


INFINITE = float64("inf")


@ff.field_operator(backend=None)
def endless(u: Plane) -> Plane:
    return concat_where(K <= 1, ff.broadcast(1.0, (I, K)), u * INFINITE)


@ff.program(backend=None)
def never_end(u: Plane, out: Plane):
    endless(u, out=out)


@pytest.mark.parametrize("name", BACKENDS)
def test_an_infinite_factor_hands_on_nothing_where_it_is_not_taken(name):
    u_b = ff.full({I: 2, K: 4}, np.nan)

    run = ff.adjoint(never_end).with_backend(BACKENDS[name])
    run(ff.ones({I: 2, K: 4}), ff.ones({I: 2, K: 4}), u_b)

    np.testing.assert_array_equal(u_b.asnumpy(), [[0.0, 0.0, np.inf, np.inf]] * 2)


@ff.field_operator(backend=None)
def least(a: Line, level: int32) -> Plane:
    return concat_where(level == K, minimum(a(I - 3), a), broadcast(a, (I, K)))


@ff.program(backend=None)
def take_least(a: Line, level: int32, out: Plane):
    least(a, level, out=out)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize(("level", "beyond"), [(7, 0), (1, 3)], ids=["empty", "there"])
def test_a_sum_over_no_level_reads_nothing(name, level, beyond):
    a = ff.as_field({I: (1 - beyond, 8)}, np.arange(7.0 + beyond))
    given = {"a": a, "level": np.int32(level), "out": ff.zeros({I: (1, 8), K: 3})}
    out_b = ff.as_field({I: (1, 8), K: 3}, np.random.default_rng(3).normal(size=(7, 3)))
    _, pull = ff.vjp(take_least, given)
    expected = pull({"out": out_b})["a"].asnumpy()
    a_b = ff.full(a.domain, np.nan)

    run = ff.adjoint(take_least).with_backend(BACKENDS[name])
    run(a, given["level"], out_b, a_b)

    np.testing.assert_allclose(a_b.asnumpy(), expected, rtol=1e-13)


@ff.field_operator(backend=None)
def sum_across(q: Plane) -> Plane:
    return q(I - 1) + q(I + 1) + q(K - 1) + q(K + 1)


@ff.field_operator(backend=None)
def crossed(a: Plane, b: Plane) -> Plane:
    return sum_across(a * b)


@ff.program(backend=None)
def cross(a: Plane, b: Plane, out: Plane):
    crossed(a, b, out=out, domain={I: (1, 4), K: (1, 4)})


@ff.field_operator(backend=None)
def parted(a: Plane, b: Plane) -> Plane:
    return concat_where(K < 2, a * b, concat_where(K >= 3, 3.0 * (a * b), a))


@ff.program(backend=None)
def part(a: Plane, b: Plane, out: Plane):
    parted(a, b, out=out)


@ff.field_operator(backend=None)
def squared_outside(a: Plane, b: Plane) -> Plane:
    product = a * b
    return concat_where((K < 2) | (K >= 3), product * product, a)


@ff.program(backend=None)
def square_outside(a: Plane, b: Plane, out: Plane):
    squared_outside(a, b, out=out)


CORNERS = np.pad(np.zeros((3, 3), bool), 1)
CORNERS[::4, ::4] = True
BETWEEN = np.broadcast_to(np.arange(5) == 2, (5, 5))


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("worst", [np.nan, np.inf], ids=["nan", "infinite"])
@pytest.mark.parametrize(
    ("program", "unread"), [(cross, CORNERS), (part, BETWEEN), (square_outside, BETWEEN)]
)
def test_what_lies_between_points_that_are_read_hands_on_nothing(program, unread, worst, name):
    rng = np.random.default_rng(4)
    a, b, out_b = rng.uniform(1.0, 2.0, (3, 5, 5))
    given = {"a": a, "b": np.where(unread, 1.0, b), "out": out_b}
    fields = {key: ff.as_field([I, K], each) for key, each in given.items()}
    _, pull = ff.vjp(program, fields)
    meant = pull({"out": fields["out"]})
    found = {key: ff.full({I: 5, K: 5}, np.nan) for key in "ab"}

    run = ff.adjoint(program, wrt=("a", "b")).with_backend(BACKENDS[name])
    spoilt = ff.as_field([I, K], np.where(unread, worst, b))
    run(a=fields["a"], b=spoilt, out_b=fields["out"], a_b=found["a"], b_b=found["b"])

    for key in "ab":
        np.testing.assert_allclose(found[key].asnumpy(), meant[key].asnumpy(), rtol=1e-13)


@ff.field_operator(backend=None)
def crossed_often(a: Plane, b: Plane) -> Plane:
    return sum_across(sum_across(sum_across(a * b)))


@ff.program(backend=None)
def cross_often(a: Plane, b: Plane, out: Plane):
    crossed_often(a, b, out=out, domain={I: (3, 6), K: (3, 6)})


def test_products_behind_many_shifts_are_derived_on_the_hull_of_all():
    rng = np.random.default_rng(6)
    given = {key: ff.as_field([I, K], rng.normal(size=(9, 9))) for key in ("a", "b", "out")}
    _, pull = ff.vjp(cross_often, given)
    meant = pull({"out": given["out"]})
    found = {key: ff.full({I: 9, K: 9}, np.nan) for key in "ab"}

    run = ff.adjoint(cross_often, wrt=("a", "b"))
    places = {"out_b": given["out"], "a_b": found["a"], "b_b": found["b"]}
    run(a=given["a"], b=given["b"], **places)

    for key in "ab":
        np.testing.assert_allclose(found[key].asnumpy(), meant[key].asnumpy(), rtol=1e-12)
    assert (conditions(cross), conditions(cross_often)) == (4, 0), "of boxes: sixteen are too many"


def conditions(program) -> int:
    derived = ff.adjoint(program, wrt=("a", "b")).trace(until="adjoint")["adjoint"].artifact
    return sum(isinstance(v, Region) and v.dtype == "bool" for v in derived.program.values)
