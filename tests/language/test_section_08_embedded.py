"""Section 8: embedded execution is the meaning of the language."""

# ruff: noqa: SIM300 - in a condition on a dimension either side may be the number

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, int32
from fieldforge.experimental import concat_where

from ..dimensions import E2V, Edge, I, J, K, Line, Plane, Vertex
from ..sources import names_of
from .support import MESH, EdgeField, Slab, VertexField, e2v, field, random


def test_8_the_body_runs_in_python():
    calls = []

    @ff.field_operator(backend=None)
    def counted(u: Line) -> Line:
        return ff.abs(u)

    original = counted.definition
    calls.append(original.__name__)
    out = ff.zeros({I: 3})
    counted(field(I, [-1.0, 2.0, -3.0]), out=out)

    assert out.asnumpy().tolist() == [1.0, 2.0, 3.0]


def test_8_operators_inside_see_the_offset_provider():
    @ff.field_operator(backend=None)
    def inner(v: VertexField) -> EdgeField:
        return v(E2V[0])

    @ff.field_operator(backend=None)
    def outer(v: VertexField) -> EdgeField:
        return inner(v) + inner(v)

    v, out = random(6), ff.zeros({Edge: 9})
    outer(field(Vertex, v), out=out, offset_provider=MESH)

    np.testing.assert_array_equal(out.asnumpy(), v[e2v[:, 0]] * 2.0)


def test_8_outside_an_operator_nothing_is_kept_of_it():
    @ff.field_operator(backend=None)
    def inner(v: VertexField) -> EdgeField:
        return v(E2V[0])

    inner(field(Vertex, random(6)), out=ff.zeros({Edge: 9}), offset_provider=MESH)

    with pytest.raises(KeyError, match="E2V"):
        inner(field(Vertex, random(6)), out=ff.zeros({Edge: 9}))


class TestConcatWhere:
    """Rule: the limits of embedded `concat_where` are lifted; all executions agree."""

    def test_8_rule_disjoint_parts(self, backend):
        @ff.field_operator(backend=None)
        def ends(u: Line, v: Line, n: int32) -> Line:
            return concat_where((I == 0) | (I == n), u, v)

        u, v, out = random(5), random(5, seed=2), ff.zeros({I: 5})
        ends.with_backend(backend)(field(I, u), field(I, v), 4, out=out)

        np.testing.assert_array_equal(out.asnumpy(), [u[0], *v[1:4], u[4]])

    def test_8_rule_scalars_reach_to_infinity(self, backend):
        @ff.field_operator(backend=None)
        def padded(u: Line) -> Line:
            return concat_where(I < 2, 0.0, concat_where(I >= 4, 1.0, u))

        u, out = random(2), ff.zeros({I: (-2, 7)})
        padded.with_backend(backend)(field({I: (2, 4)}, u), out=out)

        np.testing.assert_array_equal(out.asnumpy(), [0.0] * 4 + [*u] + [1.0] * 3)

    def test_8_rule_several_dimensions(self, backend):
        @ff.field_operator(backend=None)
        def inside(u: Plane, v: Plane) -> Plane:
            return concat_where((I >= 1) & (I < 3) & (J > 0), u, v)

        u, v, out = random(4, 3), random(4, 3, seed=2), ff.zeros({I: 4, J: 3})
        inside.with_backend(backend)(field((I, J), u), field((I, J), v), out=out)

        expected = v.copy()
        expected[1:3, 1:] = u[1:3, 1:]
        np.testing.assert_array_equal(out.asnumpy(), expected)

    def test_8_rule_unequal(self, compiled):
        @ff.field_operator(backend=None)
        def elsewhere(u: Line, v: Line) -> Line:
            return concat_where(I != 2, u, v)

        u, v, out = random(5), random(5, seed=2), ff.zeros({I: 5})
        elsewhere.with_backend(compiled)(field(I, u), field(I, v), out=out)

        np.testing.assert_array_equal(out.asnumpy(), np.where(np.arange(5) != 2, u, v))

    @pytest.mark.parametrize(
        ("condition", "mask"),
        [
            ("K < n", lambda k, i: k < 3),
            ("K > 0", lambda k, i: k > 0),
            ("0 < K", lambda k, i: k > 0),
            ("1 <= K", lambda k, i: k >= 1),
            ("K == n", lambda k, i: k == 3),
            ("K >= n + 1", lambda k, i: k >= 4),
            ("K < n - 1", lambda k, i: k < 2),
            ("(1 <= K) & (K < n)", lambda k, i: (k >= 1) & (k < 3)),
            ("(K == 1) | (K == n)", lambda k, i: (k == 1) | (k == 3)),
            ("I >= n - 2", lambda k, i: i >= 1),
            ("(n - 2 <= I) & (I < n)", lambda k, i: (i >= 1) & (i < 3)),
            (
                "(0 < K) & (K < n) & (1 <= I) & (I < 3)",
                lambda k, i: (k > 0) & (k < 3) & (i >= 1) & (i < 3),
            ),
            (
                "(ff.maximum(2, n - 2) <= K) & (K < n + 1)",
                lambda k, i: (k >= 2) & (k < 4),
            ),
            (
                "(K < 1) | ((K > 2) & (I == 1)) | (I == 3)",
                lambda k, i: (k < 1) | ((k > 2) & (i == 1)) | (i == 3),
            ),
            ("K < -5", lambda k, i: k < -5),
            ("K > 50", lambda k, i: k > 50),
        ],
    )
    def test_8_every_condition_of_models(self, backend, condition, mask):
        text = (
            "def chosen(u: Slab, v: Slab, n: int32) -> Slab:\n"
            f"    return concat_where({condition}, u, v)\n"
        )
        chosen = names_of(text, **globals())["chosen"]
        u, v, out = random(4, 5), random(4, 5, seed=2), ff.zeros({I: 4, K: 5})

        operator = ff.field_operator(chosen, backend=backend)
        operator(field((I, K), u), field((I, K), v), 3, out=out)

        i, k = np.indices((4, 5))
        np.testing.assert_array_equal(out.asnumpy(), np.where(mask(k, i), u, v))

    def test_8_tuples_are_chosen(self, backend):
        @ff.field_operator(backend=None)
        def both(u: Slab, v: Slab) -> tuple[Slab, tuple[Slab, Slab]]:
            return concat_where(K < 2, (u, (v, 0.0)), (v, (u, u)))

        u, v = random(2, 4), random(2, 4, seed=2)
        out = tuple(ff.zeros({I: 2, K: 4}) for _ in range(3))
        both.with_backend(backend)(
            field((I, K), u), field((I, K), v), out=(out[0], (out[1], out[2]))
        )

        low = np.arange(4) < 2
        np.testing.assert_array_equal(out[0].asnumpy(), np.where(low, u, v))
        np.testing.assert_array_equal(out[1].asnumpy(), np.where(low, v, u))
        np.testing.assert_array_equal(out[2].asnumpy(), np.where(low, 0.0, u))

    def test_8_fields_of_fewer_dimensions_are_broadcast(self, backend):
        @ff.field_operator(backend=None)
        def surface(u: Slab, s: Line) -> Slab:
            return concat_where(K == 0, s, u(K - 1))

        u, s, out = random(3, 3), random(3), ff.zeros({I: 3, K: 4})
        surface.with_backend(backend)(field((I, K), u), field(I, s), out=out)

        np.testing.assert_array_equal(out.asnumpy(), np.concatenate([s[:, None], u], axis=1))

    def test_8_conditions_on_a_dimension_that_the_values_lack(self, backend):
        @ff.field_operator(backend=None)
        def layered(a: Line, b: Line) -> Slab:
            return concat_where(K < 2, a, b)

        a, b, out = random(3), random(3, seed=2), ff.zeros({I: 3, K: 4})
        layered.with_backend(backend)(field(I, a), field(I, b), out=out)

        np.testing.assert_array_equal(
            out.asnumpy(), np.where(np.arange(4) < 2, a[:, None], b[:, None])
        )

    def test_8_results_are_shifted_and_computed_with(self, backend):
        @ff.field_operator(backend=None)
        def slope(u: Slab) -> Slab:
            padded = concat_where(K < 1, 0.0, u(K - 1))
            return padded(K + 1) - padded * 2.0

        u, out = random(2, 4), ff.zeros({I: 2, K: 4})
        slope.with_backend(backend)(field((I, K), u), out=out)

        padded = np.concatenate([np.zeros((2, 1)), u], axis=1)
        np.testing.assert_array_equal(out.asnumpy(), padded[:, 1:] - padded[:, :-1] * 2.0)

    def test_8_both_sides_may_be_numbers(self, gives):
        @ff.field_operator(backend=None)
        def steps(x: float64) -> ff.Field[ff.Dims[K], float64]:
            return concat_where(K < 2, x, 1.0)

        gives([3.0, 3.0, 1.0, 1.0], steps, 3.0)
