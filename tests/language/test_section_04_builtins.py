"""Section 4: the builtins, one test for each and for each type that it takes."""

# ruff: noqa: SIM300 - in a condition on a dimension either side may be the number

import math
from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float32, float64, int32, int64
from fieldforge.experimental import as_offset, concat_where

from ..dimensions import V2E, C2EDim, Cell, Edge, I, J, K, Koff, Line, Plane, V2EDim, Vertex
from ..sources import names_of
from .support import (
    MESH,
    Bools,
    CellField,
    EdgeField,
    EdgeK,
    Ints,
    Line32,
    Slab,
    VertexField,
    VertexK,
    field,
    random,
    run,
    v2e,
)

NAMES = """
bool float float32 float64 int int8 int16 int32 int64 tuple uint8 uint16 uint32 uint64 IndexType
neighbor_sum max_over min_over where broadcast astype minimum maximum power fmod abs neg sqrt exp
log sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh cbrt gamma floor ceil
trunc isfinite isinf isnan
"""


def test_4_there_are_fifty_names():
    from fieldforge.ffront import fbuiltins

    assert len(NAMES.split()) == 50
    assert [name for name in NAMES.split() if not hasattr(ff, name)] == []
    assert [name for name in NAMES.split() if not hasattr(fbuiltins, name)] == []


# --- reductions -------------------------------------------------------------------------------


@ff.field_operator(backend=None)
def summed(e: EdgeField) -> VertexField:
    return ff.neighbor_sum(e(V2E), axis=V2EDim)


@ff.field_operator(backend=None)
def largest(e: EdgeField) -> VertexField:
    return ff.max_over(e(V2E), axis=V2EDim)


@ff.field_operator(backend=None)
def smallest(e: EdgeField) -> VertexField:
    return ff.min_over(e(V2E), axis=V2EDim)


@ff.field_operator(backend=None)
def summed_levels(e: EdgeK) -> VertexK:
    return ff.neighbor_sum(e(V2E) * 2.0, axis=V2EDim)


EdgeInts = ff.Field[ff.Dims[Edge], ff.int32]
VertexInts = ff.Field[ff.Dims[Vertex], ff.int32]


@ff.field_operator(backend=None)
def counts(e: EdgeInts) -> tuple[VertexInts, VertexInts, VertexInts]:
    return (
        ff.neighbor_sum(e(V2E), axis=V2EDim),
        ff.max_over(e(V2E), axis=V2EDim),
        ff.min_over(e(V2E), axis=V2EDim),
    )


class TestReductions:
    @pytest.mark.parametrize(
        ("operator", "reduce", "empty"),
        [(summed, np.sum, 0.0), (largest, np.max, -np.inf), (smallest, np.min, np.inf)],
        ids=["neighbor_sum", "max_over", "min_over"],
    )
    def test_4_missing_neighbours_are_left_out(self, gives, operator, reduce, empty):
        e = random(9)

        gathered = np.where(v2e >= 0, e[v2e], empty)
        gives(reduce(gathered, axis=1), operator, field(Edge, e), rtol=1e-15)

    def test_4_integers_are_reduced_too(self, backend):
        e = np.arange(9, dtype=np.int32) * 3 - 11
        out = tuple(ff.zeros({Vertex: 6}, dtype=int32) for _ in range(3))
        counts.with_backend(backend)(field(Edge, e), out=out, offset_provider=MESH)

        rows = [e[row[row >= 0]] for row in v2e]
        for found, reduce in zip(out, (np.sum, np.max, np.min), strict=True):
            assert found.asnumpy().tolist() == [reduce(row) for row in rows]

    def test_4_rule_nothing_valid_gives_the_bounds_of_the_dtype(self, backend):
        from fieldforge.constructors import as_connectivity

        table = as_connectivity([Vertex, V2EDim], codomain=Edge, data=np.array([[0, -1], [-1, -1]]))
        e = field(Edge, np.array([5.0]))
        found = {
            operator.__name__: run(
                operator, e, on={Vertex: 2}, backend=backend, offset_provider={"V2E": table}
            )
            for operator in (summed, largest, smallest)
        }

        bounds = np.finfo(np.float64)
        assert found["summed"].tolist() == [5.0, 0.0]
        assert found["largest"].tolist() == [5.0, bounds.min]
        assert found["smallest"].tolist() == [5.0, bounds.max]

    def test_4_levels_are_kept(self, gives):
        e = random(9, 3)

        gathered = np.where((v2e >= 0)[:, :, None], e[v2e] * 2.0, 0.0)
        gives(gathered.sum(axis=1), summed_levels, field((Edge, K), e), rtol=1e-14)


# --- where, broadcast, astype -----------------------------------------------------------------


class Two(NamedTuple):
    a: Line
    b: Line


@ff.field_operator(backend=None)
def where_tuples(m: Bools, u: Line, v: Line) -> tuple[Line, tuple[Line, Line]]:
    return ff.where(m, (u, (v, 1.0)), (v, (u, 2.0)))


@ff.field_operator(backend=None)
def where_collections(m: Bools, x: Two, y: Two) -> Two:
    return ff.where(m, x, y)


@ff.field_operator(backend=None)
def where_spread(m: Bools, u: ff.Field[ff.Dims[K], float64]) -> Slab:
    return ff.where(m, u, 3.0)


@ff.field_operator(backend=None)
def where_nested(u: Line) -> Line:
    return ff.where(u < -0.5, -1.0, ff.where(u < 0.5, 0.0, 1.0))


class TestChoice:
    def test_4_where_goes_into_tuples(self, gives):
        m, u, v = random(5) > 0, random(5, seed=2), random(5, seed=3)

        gives(
            (np.where(m, u, v), (np.where(m, v, u), np.where(m, 1.0, 2.0))), where_tuples,
            field(I, m), field(I, u), field(I, v),
        )  # fmt: skip

    def test_4_where_goes_into_collections(self, backend):
        m, arrays = random(5) > 0, [random(5, seed=seed) for seed in range(4)]
        a, b, c, d = (field(I, array) for array in arrays)
        out = Two(ff.zeros({I: 5}), ff.zeros({I: 5}))
        where_collections.with_backend(backend)(field(I, m), Two(a, b), Two(c, d), out=out)

        np.testing.assert_array_equal(out.a.asnumpy(), np.where(m, arrays[0], arrays[2]))
        np.testing.assert_array_equal(out.b.asnumpy(), np.where(m, arrays[1], arrays[3]))

    def test_4_where_broadcasts_mask_and_values(self, gives):
        m, u = random(5) > 0, random(3)

        gives(np.where(m[:, None], u[None, :], 3.0), where_spread, field(I, m), field(K, u))

    def test_4_where_nests(self, gives):
        u = random(9)

        gives(np.where(u < -0.5, -1.0, np.where(u < 0.5, 0.0, 1.0)), where_nested, field(I, u))

    def test_4_values_not_chosen_may_be_anything(self, gives):
        @ff.field_operator(backend=None)
        def safe(u: Line) -> Line:
            return ff.where(u > 0.0, ff.log(u), u)

        u = np.array([-1.0, 0.0, 1.0, 4.0])

        gives([-1.0, 0.0, 0.0, math.log(4.0)], safe, field(I, u), rtol=1e-15)


class TestConcatWhere:
    @pytest.mark.parametrize("n", [0, 2, 5])
    def test_4_each_side_has_its_own_values(self, gives, n):
        @ff.field_operator(backend=None)
        def joined(u: Line, v: Line, n: int32) -> Line:
            return concat_where(I < n, u, v)

        u, v = random(5), random(5, seed=2)

        gives(np.concatenate([u[:n], v[n:]]), joined, field(I, u), field(I, v), n)

    def test_4_each_input_is_read_on_its_own_part_only(self, gives):
        @ff.field_operator(backend=None)
        def joined(u: Line, v: Line) -> Line:
            return concat_where(I < 3, u, v(I - 3))

        u, v = random(3), random(4, seed=2)

        gives(np.concatenate([u, v]), joined, field(I, u), field(I, v))


class TestBroadcast:
    def test_4_a_field_is_repeated(self, gives):
        @ff.field_operator(backend=None)
        def spread(u: Line) -> ff.Field[ff.Dims[I, J, K], float64]:
            return ff.broadcast(u, (I, J, K))

        u = random(3)

        gives(np.broadcast_to(u[:, None, None], (3, 2, 4)), spread, field(I, u))

    def test_4_a_number_is_repeated(self, gives):
        @ff.field_operator(backend=None)
        def spread(s: float64) -> ff.Field[ff.Dims[K], float64]:
            return ff.broadcast(s, (K,)) + ff.broadcast(1.0, (K,))

        gives([3.0] * 3, spread, 2.0)


class TestConversion:
    def test_4_floats_are_truncated(self, gives):
        @ff.field_operator(backend=None)
        def whole(u: Line) -> Ints:
            return ff.astype(u, int32)

        u = np.array([2.7, -2.7, 0.0, 1e6])

        gives([2, -2, 0, 1_000_000], whole, field(I, u))

    def test_4_truth_is_unequal_zero(self, backend):
        @ff.field_operator(backend=None)
        def truth(u: Line, n: Ints) -> tuple[Bools, Bools, Ints]:
            return ff.astype(u, bool), ff.astype(n, bool), ff.astype(u > 0.0, int32)

        out = ff.zeros({I: 3}, dtype=bool), ff.zeros({I: 3}, dtype=bool), ff.zeros({I: 3}, int32)
        truth.with_backend(backend)(
            field(I, [0.0, 0.5, -3.0]), field(I, np.array([0, 2, -1], np.int32)), out=out
        )

        assert [found.asnumpy().tolist() for found in out] == [
            [False, True, True], [False, True, True], [0, 1, 0],
        ]  # fmt: skip

    def test_4_tuples_are_converted_element_by_element(self, gives):
        @ff.field_operator(backend=None)
        def single(u: Line, n: Ints, s: float64) -> tuple[Line32, Line32]:
            a, b = ff.astype((u, n), float32)
            return a * ff.astype(s, float32), b

        u, n = random(4), np.arange(4, dtype=np.int32)

        gives(
            (u.astype(np.float32) * np.float32(0.3), n.astype(np.float32)), single, field(I, u),
            field(I, n), 0.3,
        )  # fmt: skip

    def test_4_neighbour_fields_are_converted(self, gives):
        @ff.field_operator(backend=None)
        def counted(e: EdgeField) -> VertexInts:
            return ff.neighbor_sum(ff.astype(e(V2E), int32), axis=V2EDim)

        e = random(9) * 5.0

        gives([e.astype(np.int32)[row[row >= 0]].sum() for row in v2e], counted, field(Edge, e))

    def test_4_an_alias_names_the_type(self, gives):
        wpfloat = float32

        @ff.field_operator(backend=None)
        def single(u: Line) -> Line32:
            return ff.astype(u, wpfloat) * wpfloat("0.5")

        u = random(4)

        gives(u.astype(np.float32) * np.float32(0.5), single, field(I, u))


class TestAsOffset:
    def test_4_a_field_says_where_to_read(self, gives):
        @ff.field_operator(backend=None)
        def moved(a: Slab, by: ff.Field[ff.Dims[I, K], int32]) -> Slab:
            return a(as_offset(Koff, by))

        a = random(3, 5)
        by = np.array([[0, 1, 2, -3, -1], [4, 0, 0, 0, -4], [1, 1, 1, 1, 0]], np.int32)

        rows, levels = np.indices(by.shape)
        gives(
            a[rows, levels + by], moved, field((I, K), a), field((I, K), by),
            offset_provider={"Koff": K},
        )  # fmt: skip


# --- mathematics ------------------------------------------------------------------------------

UNARY = {
    "sqrt": (np.sqrt, 0.1, 4.0), "exp": (np.exp, -3.0, 3.0), "log": (np.log, 0.1, 4.0),
    "sin": (np.sin, -4.0, 4.0), "cos": (np.cos, -4.0, 4.0), "tan": (np.tan, -1.5, 1.5),
    "arcsin": (np.arcsin, -1.0, 1.0), "arccos": (np.arccos, -1.0, 1.0),
    "arctan": (np.arctan, -4.0, 4.0), "sinh": (np.sinh, -3.0, 3.0), "cosh": (np.cosh, -3.0, 3.0),
    "tanh": (np.tanh, -3.0, 3.0), "arcsinh": (np.arcsinh, -3.0, 3.0),
    "arccosh": (np.arccosh, 1.0, 4.0), "arctanh": (np.arctanh, -0.9, 0.9),
    "cbrt": (np.cbrt, -3.0, 3.0),
    "gamma": (np.vectorize(math.gamma, otypes=[np.float64]), 0.5, 4.0),
    "floor": (np.floor, -3.0, 3.0), "ceil": (np.ceil, -3.0, 3.0), "trunc": (np.trunc, -3.0, 3.0),
    "abs": (np.abs, -3.0, 3.0), "neg": (np.negative, -3.0, 3.0),
}  # fmt: skip


def operator_of(text: str, **names: object):
    """Decorate `op`, written as text, which calls the builtin that the test is about."""
    return ff.field_operator(names_of(text, ff=ff, **names)["op"], backend=None)


class TestMathematics:
    @pytest.mark.parametrize("kind", [float64, float32], ids=["float64", "float32"])
    @pytest.mark.parametrize("name", UNARY)
    def test_4_functions_of_one_argument_keep_the_dtype(self, gives, name, kind):
        meant, low, high = UNARY[name]
        u = np.linspace(low, high, 7).astype(kind)
        operator = operator_of(
            f"def op(u: T) -> T:\n    return ff.{name}(u)\n", T=ff.Field[ff.Dims[I], kind]
        )

        gives(
            meant(u).astype(kind), operator, field(I, u), rtol=16 * np.finfo(kind).eps,
            atol=np.finfo(kind).eps,
        )  # fmt: skip

    @pytest.mark.parametrize("name", ["abs", "neg", "minimum", "maximum"])
    def test_4_integers_have_signs_and_order(self, gives, name):
        meant = {"neg": np.negative}.get(name) or getattr(np, name)
        u, v = np.array([3, -4, 0], np.int64), np.array([-3, 4, 1], np.int64)
        arguments = "u, v" if name in ("minimum", "maximum") else "u"
        operator = operator_of(
            f"def op(u: T, v: T) -> T:\n    return ff.{name}({arguments})\n",
            T=ff.Field[ff.Dims[I], int64],
        )

        gives(meant(*((u, v) if "v" in arguments else (u,))), operator, field(I, u), field(I, v))

    @pytest.mark.parametrize("name", ["minimum", "maximum"])
    def test_4_nan_propagates(self, gives, name):
        operator = operator_of(f"def op(u: T, v: T) -> T:\n    return ff.{name}(u, v)\n", T=Line)
        u, v = np.array([np.nan, 1.0, np.nan, 2.0]), np.array([1.0, np.nan, np.nan, 3.0])

        gives(getattr(np, name)(u, v), operator, field(I, u), field(I, v))

    def test_4_dimensions_are_promoted(self, gives):
        @ff.field_operator(backend=None)
        def larger(u: Line, v: ff.Field[ff.Dims[J], float64]) -> Plane:
            return ff.maximum(u, v)

        u, v = random(3), random(4)

        gives(np.maximum(u[:, None], v[None, :]), larger, field(I, u), field(J, v))

    def test_4_power_and_fmod(self, backend, capsys):
        @ff.field_operator(backend=None)
        def both(u: Line, v: Line, n: Ints) -> tuple[Line, Line, Ints]:
            return ff.power(u, 3.0), ff.fmod(v, u), ff.power(n, 2)

        u, v, n = np.array([0.5, 2.0, 1.5]), np.array([-7.0, 7.0, -0.4]), np.array([2, -3, 0])
        out = ff.zeros({I: 3}), ff.zeros({I: 3}), ff.zeros({I: 3}, dtype=int32)
        both.with_backend(backend)(field(I, u), field(I, v), field(I, n, int32), out=out)

        np.testing.assert_allclose(out[0].asnumpy(), u**3.0, rtol=1e-15)
        np.testing.assert_array_equal(out[1].asnumpy(), np.fmod(v, u))
        np.testing.assert_array_equal(out[2].asnumpy(), n**2)
        assert capsys.readouterr().out == ""  # Rule: nothing is printed

    @pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan"])
    def test_4_classification_gives_truth(self, gives, name):
        operator = operator_of(f"def op(u: T) -> B:\n    return ff.{name}(u)\n", T=Line, B=Bools)
        u = np.array([1.0, np.inf, -np.inf, np.nan])

        gives(getattr(np, name)(u), operator, field(I, u))

    def test_4_scalars_stay_scalars_in_operators(self, gives):
        @ff.field_operator(backend=None)
        def scaled(u: Line, s: float64) -> Line:
            return u * ff.sqrt(ff.maximum(s, 0.0))

        u = random(4)
        gives(u * np.sqrt(2.0), scaled, field(I, u), 2.0)


def test_4_cells_reduce_sparse_fields(gives):
    @ff.field_operator(backend=None)
    def weighted(w: ff.Field[ff.Dims[Cell, C2EDim], float64]) -> CellField:
        return ff.max_over(w, axis=C2EDim)

    w = random(4, 3)
    gives(w.max(axis=1), weighted, field((Cell, C2EDim), w))
