"""Section 6: scan operators."""

# ruff: noqa: SIM300 - in a condition on a dimension either side may be the number

from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, int32, where
from fieldforge.experimental import concat_where

from ..dimensions import E2V, I, J, K, Line, Vertex
from ..sources import names_of
from .support import EdgeK, Slab, VertexK, e2v, field, random, run


@ff.scan_operator(axis=K, forward=True, init=0.0, backend=None)
def total(state: float64, x: float64) -> float64:
    return state + x


@ff.scan_operator(axis=K, forward=False, init=1.0, backend=None)
def decay(state: float64, x: float64, rate: float64) -> float64:
    return state * rate + x


@ff.scan_operator(axis=K, forward=True, init=(0.0, 1.0), backend=None)
def pair(state: tuple[float64, float64], x: float64) -> tuple[float64, float64]:
    a, b = state
    return a + x, b * x


@ff.scan_operator(axis=K, forward=True, init=(0, (0.0, True)), backend=None)
def nested(
    state: tuple[int32, tuple[float64, bool]], x: float64
) -> tuple[int32, tuple[float64, bool]]:
    count, inner = state
    best, first = inner
    return count + 1, (x if first else (x if x > best else best), False)


class Parcel(NamedTuple):
    mass: float64
    level: int32


class Parcels(NamedTuple):
    upper: Parcel
    lower: float64


@ff.scan_operator(axis=K, forward=True, init=Parcel(mass=0.0, level=0), backend=None)
def lifted(state: Parcel, x: float64) -> Parcel:
    return Parcel(mass=state.mass + x, level=state.level + 1)


@ff.scan_operator(
    axis=K, forward=True, init=Parcels(upper=Parcel(mass=0.0, level=0), lower=2.0), backend=None
)
def layered(state: Parcels, x: float64) -> Parcels:
    return Parcels(
        upper=Parcel(mass=state.upper.mass + state.lower, level=state.upper.level + 1),
        lower=state.lower * 0.5 + x,
    )


class TestMeaning:
    def test_6_a_forward_scan_goes_up(self, gives):
        u = random(3, 5)

        gives(
            np.cumsum(u, axis=1), total, field((I, K), u), on={I: 3, K: 5}, rtol=1e-13, atol=1e-15
        )

    def test_6_a_backward_scan_goes_down(self, backend):
        u = random(3, 5)
        out = run(decay, field((I, K), u), 0.5, on={I: 3, K: 5}, backend=backend)

        expected, state = np.empty_like(u), np.ones(3)
        for k in reversed(range(5)):
            state = state * 0.5 + u[:, k]
            expected[:, k] = state
        np.testing.assert_allclose(out, expected, rtol=1e-14)

    def test_6_a_part_of_the_column_starts_again(self, gives):
        u = random(3, 6)

        expected = np.zeros((3, 6))
        expected[:, 2:5] = np.cumsum(u[:, 2:5], axis=1)
        gives(
            expected, total, field((I, K), u), on={I: 3, K: 6}, domain={I: (0, 3), K: (2, 5)},
            rtol=1e-13,
        )  # fmt: skip

    def test_6_states_are_tuples(self, gives):
        u = random(3, 5)

        gives(
            (np.cumsum(u, axis=1), np.cumprod(u, axis=1)), pair, field((I, K), u), on={I: 3, K: 5},
            rtol=1e-13,
        )  # fmt: skip

    def test_6_states_nest_and_mix_types(self, backend):
        u = random(2, 5)
        box = {I: 2, K: 5}
        out = ff.zeros(box, dtype=int32), (ff.zeros(box), ff.zeros(box, dtype=bool))
        nested.with_backend(backend)(field((I, K), u), out=out)

        np.testing.assert_array_equal(out[0].asnumpy(), np.tile(np.arange(1, 6), (2, 1)))
        np.testing.assert_array_equal(out[1][0].asnumpy(), np.maximum.accumulate(u, axis=1))
        assert not out[1][1].asnumpy().any()

    def test_6_states_are_collections(self, backend):
        u = random(2, 4)
        box = {I: 2, K: 4}
        out = Parcel(ff.zeros(box), ff.zeros(box, dtype=int32))
        lifted.with_backend(backend)(field((I, K), u), out=out)

        np.testing.assert_allclose(out.mass.asnumpy(), np.cumsum(u, axis=1), rtol=1e-13)
        np.testing.assert_array_equal(out.level.asnumpy(), np.tile(np.arange(1, 5), (2, 1)))

    def test_6_collections_nest(self, backend):
        u = random(2, 4)
        box = {I: 2, K: 4}
        out = Parcels(Parcel(ff.zeros(box), ff.zeros(box, dtype=int32)), ff.zeros(box))
        layered.with_backend(backend)(field((I, K), u), out=out)

        mass, lower = np.zeros(2), np.full(2, 2.0)
        for k in range(4):
            mass, lower = mass + lower, lower * 0.5 + u[:, k]
            np.testing.assert_allclose(out.upper.mass.asnumpy()[:, k], mass, rtol=1e-14)
            np.testing.assert_allclose(out.lower.asnumpy()[:, k], lower, rtol=1e-14)

    def test_6_a_state_may_have_many_elements(self, backend):
        n = 28
        names = [f"s{i}" for i in range(n)]
        types = ", ".join(["float64"] * n)
        updated = ", ".join(f"{name} + {i}.0 * x" for i, name in enumerate(names))
        text = (
            f"def wide(state: tuple[{types}], x: float64) -> tuple[{types}]:\n"
            f"    {', '.join(names)} = state\n"
            f"    return {updated}\n"
        )
        made = names_of(text, float64=float64)["wide"]
        init = tuple(float(i) for i in range(n))
        wide = ff.scan_operator(made, axis=K, forward=True, init=init, backend=None)

        u = random(2, 3)
        out = tuple(ff.zeros({I: 2, K: 3}) for _ in range(n))
        wide.with_backend(backend)(field((I, K), u), out=out)

        for i, found in enumerate(out):
            np.testing.assert_allclose(
                found.asnumpy(), i + i * np.cumsum(u, axis=1), rtol=1e-12, atol=1e-14
            )


class TestArguments:
    def test_6_constants_along_the_column(self, backend):
        @ff.scan_operator(axis=K, forward=True, init=0.0, backend=None)
        def weighted(state: float64, x: float64, w: float64, s: float64) -> float64:
            return state * w + x * s

        u, w = random(3, 4), random(3)
        out = run(weighted, field((I, K), u), field(I, w), 2.0, on={I: 3, K: 4}, backend=backend)

        state = np.zeros(3)
        for k in range(4):
            state = state * w + u[:, k] * 2.0
            np.testing.assert_allclose(out[:, k], state, rtol=1e-14)

    def test_6_the_result_has_all_dimensions_and_the_axis(self, gives):
        @ff.scan_operator(axis=K, forward=True, init=0.0, backend=None)
        def product(state: float64, x: float64, y: float64, z: float64) -> float64:
            return state + x * y * z

        x, y, z = random(2), random(3), random(4)

        expected = np.cumsum(x[:, None, None] * y[:, None] * z, axis=2)
        gives(
            expected, product, field(I, x), field(J, y), field(K, z), on={I: 2, J: 3, K: 4},
            rtol=1e-13, atol=1e-15,
        )  # fmt: skip

    def test_6_tuples_match_the_parameters(self, gives):
        @ff.scan_operator(axis=K, forward=True, init=0.0, backend=None)
        def dotted(state: float64, x: tuple[float64, tuple[float64, float64]]) -> float64:
            return state + x[0] * x[1][0] - x[1][1]

        x, y, z = (random(2, 3, seed=seed) for seed in range(3))

        gives(
            np.cumsum(x * y - z, axis=1), dotted,
            (field((I, K), x), (field((I, K), y), field((I, K), z))), on={I: 2, K: 3}, rtol=1e-13,
            atol=1e-14,
        )  # fmt: skip

    def test_6_parameters_may_be_unused(self, gives):
        @ff.scan_operator(axis=K, forward=True, init=0, backend=None)
        def counted(state: int32, x: float64) -> int32:
            return state + 1

        gives([[1, 2, 3]] * 2, counted, field((I, K), random(2, 3)), on={I: 2, K: 3})

    def test_6_without_a_field_the_output_says_where(self, gives):
        @ff.scan_operator(axis=K, forward=True, init=1.0, backend=None)
        def powers(state: float64, s: float64) -> float64:
            return state * s

        gives([2.0, 4.0, 8.0, 16.0], powers, 2.0, on={K: (3, 7)})

    def test_6_dtypes_are_those_of_the_parameters(self, backend):
        with pytest.raises(ff.errors.FieldforgeError):
            run(total, field((I, K), [[1, 2, 3]], np.int64), on={I: 1, K: 3}, backend=backend)


@ff.field_operator(backend=None)
def clipped(x: float64, low: float64) -> float64:
    return x if x > low else low


@ff.scan_operator(axis=K, forward=True, init=(0.0, True), backend=None)
def branching(state: tuple[float64, bool], x: float64, low: float64) -> tuple[float64, bool]:
    value, first = state
    if first:
        value = clipped(x, low)
    elif x > value:
        value = value * 0.5 + x
    else:
        value = value - 1.0
    return value, False


class TestInsideOperators:
    def test_6_the_body_branches_and_calls_scalar_operators(self, backend):
        u = random(3, 6)
        out = ff.zeros({I: 3, K: 6}), ff.zeros({I: 3, K: 6}, dtype=bool)
        branching.with_backend(backend)(field((I, K), u), 0.25, out=out)

        value = np.maximum(u[:, 0], 0.25)
        for k in range(6):
            if k:
                value = np.where(u[:, k] > value, value * 0.5 + u[:, k], value - 1.0)
            np.testing.assert_allclose(out[0].asnumpy()[:, k], value, rtol=1e-13)

    def test_6_pointwise_code_stands_before_and_after(self, gives):
        @ff.field_operator(backend=None)
        def heated(u: Slab, w: Line) -> Slab:
            summed = total(u * 2.0 + w)
            return where(summed > 0.0, summed, 0.0) + u

        u, w = random(3, 5), random(3)

        summed = np.cumsum(u * 2.0 + w[:, None], axis=1)
        gives(
            np.maximum(summed, 0.0) + u, heated, field((I, K), u), field(I, w), rtol=1e-12,
            atol=1e-13,
        )  # fmt: skip

    def test_6_results_are_shifted(self, gives):
        @ff.field_operator(backend=None)
        def difference(u: Slab) -> Slab:
            summed = total(u)
            return summed(I + 1) - summed

        u = random(4, 5)

        summed = np.cumsum(u, axis=1)
        gives(summed[1:] - summed[:-1], difference, field((I, K), u), rtol=1e-12, atol=1e-13)

    def test_6_a_two_pass_solver(self, backend):
        @ff.scan_operator(axis=K, forward=True, init=(0.0, 0.0), backend=None)
        def sweep(
            state: tuple[float64, float64], a: float64, b: float64, c: float64, d: float64
        ) -> tuple[float64, float64]:
            cp, dp = state
            norm = 1.0 / (b - a * cp)
            return c * norm, (d - a * dp) * norm

        @ff.scan_operator(axis=K, forward=False, init=0.0, backend=None)
        def substitute(x: float64, cp: float64, dp: float64) -> float64:
            return dp - cp * x

        @ff.field_operator(backend=None)
        def solve(a: Slab, b: Slab, c: Slab, d: Slab) -> Slab:
            cp, dp = sweep(a, b, c, d)
            return substitute(cp, dp)

        n = 6
        a, c = (random(3, n, seed=seed) * 0.2 for seed in (1, 2))
        b, d = 2.0 + np.abs(random(3, n, seed=3)), random(3, n, seed=4)
        out = run(
            solve, *(field((I, K), x) for x in (a, b, c, d)), on={I: 3, K: n}, backend=backend
        )

        for i in range(3):
            matrix = np.diag(b[i]) + np.diag(a[i, 1:], -1) + np.diag(c[i, :-1], 1)
            np.testing.assert_allclose(out[i], np.linalg.solve(matrix, d[i]), rtol=1e-12)

    def test_6_several_scans_run_both_ways(self, backend):
        @ff.field_operator(backend=None)
        def both(u: Slab) -> tuple[Slab, Slab]:
            return total(u), decay(u, 0.5)

        u = random(2, 4)
        out = ff.zeros({I: 2, K: 4}), ff.zeros({I: 2, K: 4})
        both.with_backend(backend)(field((I, K), u), out=out)

        np.testing.assert_allclose(out[0].asnumpy(), np.cumsum(u, axis=1), rtol=1e-13)
        state = np.ones(2)
        for k in reversed(range(4)):
            state = state * 0.5 + u[:, k]
            np.testing.assert_allclose(out[1].asnumpy()[:, k], state, rtol=1e-14)

    def test_6_collections_of_fields_are_read_by_name(self, gives):
        @ff.field_operator(backend=None)
        def mean(u: Slab) -> Slab:
            parcels = lifted(u)
            return parcels.mass / ff.astype(parcels.level, float64)

        u = random(2, 4)

        gives(
            np.cumsum(u, axis=1) / np.arange(1, 5), mean, field((I, K), u), rtol=1e-13, atol=1e-15
        )

    def test_6_scans_meet_neighbours(self, gives):
        @ff.field_operator(backend=None)
        def thickness(v: VertexK) -> EdgeK:
            height = total(v)
            return height(E2V[0]) + total(v(E2V[1]))

        v = random(6, 4)

        height = np.cumsum(v, axis=1)
        gives(height[e2v[:, 0]] + height[e2v[:, 1]], thickness, field((Vertex, K), v), rtol=1e-12)

    def test_6_scans_meet_regions(self, gives):
        @ff.field_operator(backend=None)
        def bounded(u: Slab, n: int32) -> Slab:
            return concat_where(K < n, 0.0, total(concat_where(K == 3, 1.0, u)))

        u = random(2, 5)

        inner = u.copy()
        inner[:, 3] = 1.0
        inner[:, :2] = 0.0  # the walk begins where its branch does
        expected = np.cumsum(inner, axis=1)
        gives(expected, bounded, field((I, K), u), 2, rtol=1e-13)


class TestPrograms:
    def test_6_programs_call_scans(self, backend):
        @ff.program(backend=None)
        def columns(u: Slab, out: Slab, k0: int32, k1: int32):
            total(u, out=out, domain={I: (0, 3), K: (k0, k1)})

        u, out = random(3, 6), ff.zeros({I: 3, K: 6})
        columns.with_backend(backend)(field((I, K), u), out, 1, 5, offset_provider={})

        expected = np.zeros((3, 6))
        expected[:, 1:5] = np.cumsum(u[:, 1:5], axis=1)
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-13)

    def test_6_an_output_may_be_an_input(self, backend):
        u = random(3, 5)
        f = field((I, K), u)
        total.with_backend(backend)(f, out=f)

        np.testing.assert_allclose(f.asnumpy(), np.cumsum(u, axis=1), rtol=1e-13)
