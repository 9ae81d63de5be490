"""Section 7: programs, their calls, domains, slices, aliases, and domain inference."""

# ruff: noqa: SIM300 - in a condition on a dimension either side may be the number

from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, int32, maximum, minimum
from fieldforge.experimental import concat_where

from ..dimensions import C2E, E2V, V2E, C2EDim, Cell, Edge, I, J, K, Line, Plane, V2EDim, Vertex
from ..sources import names_of
from .support import (
    MESH,
    CellField,
    EdgeField,
    Slab,
    VertexField,
    c2e,
    e2v,
    field,
    random,
    scaled,
    v2e,
)


@ff.field_operator(backend=None)
def parts(u: Plane) -> tuple[Plane, Plane]:
    return minimum(u, 0.0), maximum(u, 0.0)


@ff.field_operator(backend=None)
def parts_of_parts(u: Line) -> tuple[Line, tuple[Line, Line]]:
    return u, (u + 1.0, u + 2.0)


@ff.field_operator(backend=None)
def moved(u: Line) -> Line:
    return u(I + 1)


@ff.field_operator(backend=None)
def copied(u: Line) -> Line:
    return u


class Split(NamedTuple):
    low: Plane
    high: Plane


@ff.field_operator(backend=None)
def split(u: Plane) -> Split:
    return Split(minimum(u, 0.0), maximum(u, 0.0))


def called(program, backend, *args, **kwargs):
    program.with_backend(backend)(*args, **{"offset_provider": {}, **kwargs})


class TestStatements:
    def test_7_statements_run_in_order_and_see_earlier_writes(self, backend):
        @ff.program(backend=None)
        def sequence(u: Line, a: Line, b: Line):
            """Three steps."""
            scaled(u, 2.0, out=a)
            scaled(a, by=3.0, out=b)
            scaled(u=b, by=-1.0, out=a)

        u, a, b = random(4), ff.zeros({I: 4}), ff.zeros({I: 4})
        called(sequence, backend, field(I, u), a, b)

        np.testing.assert_array_equal(b.asnumpy(), u * 2.0 * 3.0)
        np.testing.assert_array_equal(a.asnumpy(), -(u * 2.0 * 3.0))

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("s", 3.0), ("-1.0", -1.0), ("s * 2.0 + t", 6.5), ("s / t - 1.0", 5.0),
            ("s ** 2.0", 9.0), ("s // 2.0", 1.0), ("minimum(s, t)", 0.5), ("maximum(s, t)", 3.0),
            ("pair[1]", 7.0),
        ],
    )  # fmt: skip
    def test_7_arguments_are_scalar_expressions(self, backend, expression, expected):
        program = program_of(
            "def p(u: Line, s: float64, t: float64, pair: tuple[float64, float64], out: Line):\n"
            f"    scaled(u, {expression}, out=out)\n"
        )
        u, out = random(4), ff.zeros({I: 4})
        called(program, backend, field(I, u), 3.0, 0.5, (1.0, 7.0), out)

        np.testing.assert_allclose(out.asnumpy(), u * expected, rtol=1e-15)

    def test_7_tuples_are_arguments(self, backend):
        @ff.field_operator(backend=None)
        def summed(x: tuple[Line, tuple[Line, float64]]) -> Line:
            return x[0] + x[1][0] * x[1][1]

        @ff.program(backend=None)
        def program(u: Line, v: tuple[Line, Line], out: Line):
            summed((u, (v[1], 2.0)), out=out)

        u, v, out = random(4), random(4, seed=2), ff.zeros({I: 4})
        called(program, backend, field(I, u), (field(I, u), field(I, v)), out)

        np.testing.assert_array_equal(out.asnumpy(), u + v * 2.0)


def program_of(text: str, **names: object):
    """Decorate a program that is written as text."""
    return ff.program(names_of(text, **{**globals(), **names})["p"], backend=None)


class TestTargets:
    def test_7_a_tuple_of_names(self, backend):
        @ff.program(backend=None)
        def program(u: Plane, a: Plane, b: Plane):
            parts(u, out=(a, b))

        u, a, b = random(3, 4), ff.zeros({I: 3, J: 4}), ff.zeros({I: 3, J: 4})
        called(program, backend, field((I, J), u), a, b)

        np.testing.assert_array_equal(a.asnumpy(), np.minimum(u, 0.0))
        np.testing.assert_array_equal(b.asnumpy(), np.maximum(u, 0.0))

    def test_7_tuples_nest(self, backend):
        @ff.program(backend=None)
        def program(u: Line, a: Line, b: Line, c: Line):
            parts_of_parts(u, out=(a, (b, c)))

        u, outs = random(3), [ff.zeros({I: 3}) for _ in range(3)]
        called(program, backend, field(I, u), *outs)

        for number, out in enumerate(outs):
            np.testing.assert_array_equal(out.asnumpy(), u + number)

    def test_7_a_tuple_parameter(self, backend):
        @ff.program(backend=None)
        def program(u: Line, out: tuple[Line, tuple[Line, Line]]):
            parts_of_parts(u, out=out)

        u, out = random(3), (ff.zeros({I: 3}), (ff.zeros({I: 3}), ff.zeros({I: 3})))
        called(program, backend, field(I, u), out)

        np.testing.assert_array_equal(out[1][1].asnumpy(), u + 2.0)

    @pytest.mark.parametrize(
        ("slices", "where"),
        [
            ("1:-1, :", np.s_[1:-1, :]),
            ("1:, :2", np.s_[1:, :2]),
            ("-3:-1, 1:3", np.s_[-3:-1, 1:3]),
            (":, :", np.s_[:, :]),
        ],
    )
    def test_7_slices_are_relative_to_the_output(self, backend, slices, where):
        program = program_of(
            f"def p(u: Plane, a: Plane, b: Plane):\n    parts(u, out=(a[{slices}], b[:, :]))\n"
        )
        u = random(5, 4)
        a, b = ff.full({I: (2, 7), J: 4}, 9.0), ff.zeros({I: (2, 7), J: 4})
        called(program, backend, field({I: (2, 7), J: 4}, u), a, b)

        expected = np.full((5, 4), 9.0)
        expected[where] = np.minimum(u, 0.0)[where]
        np.testing.assert_array_equal(a.asnumpy(), expected)
        np.testing.assert_array_equal(b.asnumpy(), np.maximum(u, 0.0))

    def test_7_a_collection_is_a_target_whole_or_in_parts(self, backend):
        @ff.program(backend=None)
        def whole(u: Plane, out: Split):
            split(u, out=out)

        u, out = random(3, 4), Split(ff.zeros({I: 3, J: 4}), ff.zeros({I: 3, J: 4}))
        called(whole, backend, field((I, J), u), out)

        np.testing.assert_array_equal(out.low.asnumpy(), np.minimum(u, 0.0))
        np.testing.assert_array_equal(out.high.asnumpy(), np.maximum(u, 0.0))


class TestDomains:
    @pytest.mark.parametrize(
        ("bounds", "start", "stop"),
        [
            ("(0, n)", 0, 4), ("(n - 3, n)", 1, 4), ("(1, n + 1)", 1, 5),
            ("(n // 3, 2 * n - 3)", 1, 5),
            ("(minimum(n, 2), maximum(n, 5))", 2, 5), ("(n, n)", 0, 0), ("(n, 1)", 0, 0),
            ("(pair[0], pair[1])", 2, 3),
        ],
    )  # fmt: skip
    def test_7_bounds_are_integer_expressions(self, backend, bounds, start, stop):
        program = program_of(
            "def p(u: Line, out: Line, n: int32, pair: tuple[int32, int32]):\n"
            f"    copied(u, out=out, domain={{I: {bounds}}})\n"
        )
        u, out = random(6), ff.full({I: 6}, 9.0)
        called(program, backend, field(I, u), out, 4, (2, 3))

        expected = np.full(6, 9.0)
        expected[start:stop] = u[start:stop]
        np.testing.assert_array_equal(out.asnumpy(), expected)

    def test_7_a_domain_for_each_output(self, backend):
        @ff.program(backend=None)
        def program(u: Plane, a: Plane, b: Plane, n: int32):
            parts(u, out=(a, b), domain=({I: (0, n), J: (0, 4)}, {I: (1, 3), J: (n, 4)}))

        u, a, b = random(3, 4), ff.full({I: 3, J: 4}, 9.0), ff.full({I: 3, J: 4}, 9.0)
        called(program, backend, field((I, J), u), a, b, 2)

        expected = np.full((3, 4), 9.0), np.full((3, 4), 9.0)
        expected[0][:2], expected[1][1:3, 2:] = np.minimum(u, 0)[:2], np.maximum(u, 0)[1:3, 2:]
        np.testing.assert_array_equal(a.asnumpy(), expected[0])
        np.testing.assert_array_equal(b.asnumpy(), expected[1])

    def test_7_domains_nest_like_outputs(self, backend):
        @ff.program(backend=None)
        def program(u: Line, a: Line, b: Line, c: Line):
            parts_of_parts(u, out=(a, (b, c)), domain=({I: (0, 1)}, ({I: (1, 2)}, {I: (2, 3)})))

        u, outs = random(3), [ff.zeros({I: 3}) for _ in range(3)]
        called(program, backend, field(I, u), *outs)

        for number, out in enumerate(outs):
            expected = np.zeros(3)
            expected[number] = u[number] + number
            np.testing.assert_array_equal(out.asnumpy(), expected)

    def test_7_without_a_domain_outputs_may_differ_even_in_dimensions(self, backend):
        @ff.field_operator(backend=None)
        def both(u: Line, v: Slab) -> tuple[Line, Slab]:
            return u * 2.0, v + 1.0

        @ff.program(backend=None)
        def program(u: Line, v: Slab, a: Line, b: Slab):
            both(u, v, out=(a, b))

        u, v = random(5), random(3, 2)
        a, b = ff.zeros({I: (1, 4)}), ff.zeros({I: 3, K: 2})
        called(program, backend, field(I, u), field((I, K), v), a, b)

        np.testing.assert_array_equal(a.asnumpy(), u[1:4] * 2.0)
        np.testing.assert_array_equal(b.asnumpy(), v + 1.0)


class TestAliases:
    @pytest.mark.parametrize("view", [None, slice(0, 4)], ids=["the same field", "a view"])
    def test_7_rule_inputs_are_read_before_anything_is_written(self, view, backend):
        @ff.program(backend=None)
        def program(u: Line, out: Line):
            moved(u, out=out, domain={I: (0, 4)})

        u = random(5)
        f = field(I, u)
        called(program, backend, f, f if view is None else f[view])

        np.testing.assert_array_equal(f.asnumpy(), [*u[1:], u[-1]])

    def test_7_rule_two_outputs_may_be_each_others_inputs(self, backend):
        @ff.field_operator(backend=None)
        def swapped(a: Line, b: Line) -> tuple[Line, Line]:
            return b, a

        @ff.program(backend=None)
        def program(a: Line, b: Line):
            swapped(a, b, out=(a, b))

        a, b = random(4), random(4, seed=2)
        f, g = field(I, a), field(I, b)
        called(program, backend, f, g)

        np.testing.assert_array_equal(f.asnumpy(), b)
        np.testing.assert_array_equal(g.asnumpy(), a)

    def test_7_rule_neighbours_of_an_output_are_read_first(self, backend):
        @ff.field_operator(backend=None)
        def smoothed(v: VertexField) -> VertexField:
            at_edges = v(E2V[0]) + v(E2V[1])
            return ff.neighbor_sum(at_edges(V2E), axis=V2EDim)

        v = random(6)
        f = field(Vertex, v)
        smoothed.with_backend(backend)(f, out=f, offset_provider=MESH)

        at_edges = v[e2v[:, 0]] + v[e2v[:, 1]]
        expected = np.where(v2e >= 0, at_edges[v2e], 0.0).sum(axis=1)
        np.testing.assert_allclose(f.asnumpy(), expected, rtol=1e-13)


@ff.program(backend=None)
def doubling(u: Line, by: float64, out: Line):
    scaled(u, by, out=out)


class TestCalling:
    @pytest.mark.parametrize("kwargs", [{}, {"offset_provider": None}, {"offset_provider": {}}])
    def test_7_arguments_come_by_position_or_name(self, backend, kwargs):
        u, out = random(3), ff.zeros({I: 3})
        doubling.with_backend(backend)(field(I, u), out=out, by=2.0, **kwargs)

        np.testing.assert_array_equal(out.asnumpy(), u * 2.0)


class TestInference:
    """7.1."""

    def test_7_1_intermediates_are_computed_where_they_are_read(self, gives):
        @ff.field_operator(backend=None)
        def chained(u: Line) -> Line:
            difference = u(I + 1) - u
            return difference(I + 1) + difference(I - 2)

        u = random(8)

        difference = u[1:] - u[:-1]  # lives on -2:5
        gives(difference[3:7] + difference[0:4], chained, field({I: (-2, 6)}, u), on={I: (0, 4)})

    def test_7_1_each_side_of_a_region_is_inferred_alone(self, gives):
        @ff.field_operator(backend=None)
        def edges(u: Line, n: int32) -> Line:
            return concat_where(
                I < 1, u(I + 1), concat_where(I < n - 1, u(I + 1) - u(I - 1), u(I - 1))
            )

        u = random(6)

        gives([u[1], *(u[2:] - u[:-2]), u[-2]], edges, field(I, u), 6)

    def test_7_1_neighbours_are_inferred_from_the_table(self, gives):
        @ff.field_operator(backend=None)
        def around(v: VertexField) -> CellField:
            return ff.neighbor_sum((v(E2V[0]) * v(E2V[1]))(C2E), axis=C2EDim)

        v = random(6)

        at_edges = v[e2v[:, 0]] * v[e2v[:, 1]]
        gives(
            at_edges[c2e].sum(axis=1)[1:3], around, field(Vertex, v), on={Cell: (1, 3)}, rtol=1e-13
        )

    def test_7_1_rule_a_short_input_is_an_error_that_names_it(self, compiled):
        out = ff.full({I: 5}, 7.0)

        with pytest.raises(ff.errors.DomainError, match=r"'u' .*'I'.* 1:6.* 0:5") as caught:
            moved.with_backend(compiled)(field(I, random(5)), out=out)

        assert isinstance(caught.value, IndexError)
        assert (out.asnumpy() == 7.0).all()

    def test_7_1_rule_a_short_gathered_input_is_an_error(self, compiled):
        @ff.field_operator(backend=None)
        def gathered(e: EdgeField) -> CellField:
            return ff.neighbor_sum(e(C2E), axis=C2EDim)

        out = ff.full({Cell: 4}, 7.0)
        with pytest.raises(ff.errors.DomainError, match=r"'e' .*'Edge'"):
            gathered.with_backend(compiled)(field(Edge, random(8)), out=out, offset_provider=MESH)

        assert (out.asnumpy() == 7.0).all()
