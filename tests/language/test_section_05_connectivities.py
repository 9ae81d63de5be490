"""Section 5: fields applied to offsets: shifts, neighbours, reductions, tables."""

import copy
import pickle

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import int32, max_over, min_over, neighbor_sum, where
from fieldforge.common import Connectivity, is_neighbor_table
from fieldforge.constructors import as_connectivity
from fieldforge.experimental import as_offset

from ..dimensions import (
    C2C,
    C2E,
    C2V,
    E2C,
    E2V,
    V2E,
    C2CDim,
    C2EDim,
    C2VDim,
    Cell,
    E2CDim,
    E2VDim,
    Edge,
    I,
    K,
    Koff,
    V2EDim,
    Vertex,
)
from .support import (
    MESH,
    CellField,
    CellK,
    EdgeField,
    EdgeK,
    VertexField,
    VertexK,
    c2c,
    c2e,
    c2v,
    e2c,
    e2v,
    field,
    random,
    run,
    v2e,
)

CellC2E = ff.Field[ff.Dims[Cell, C2EDim], ff.float64]
EdgeE2C = ff.Field[ff.Dims[Edge, E2CDim], ff.float64]
EdgeE2CK = ff.Field[ff.Dims[Edge, E2CDim, K], ff.float64]


def sums(values: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Add over valid neighbours in order, as the compiled code does."""
    mask = (table >= 0).reshape(table.shape + (1,) * (values.ndim - 1))
    return np.where(mask, values[table], 0.0).sum(axis=1)


@ff.field_operator(backend=None)
def gradient(v: VertexField) -> EdgeField:
    return v(E2V[1]) - v(E2V[0])


@ff.field_operator(backend=None)
def gradient_levels(v: VertexK) -> EdgeK:
    return v(E2V[1]) - v(E2V[0])(K + 1)


@ff.field_operator(backend=None)
def divergence(e: EdgeField, w: CellC2E) -> CellField:
    return neighbor_sum(w * e(C2E), axis=C2EDim)


class TestNeighbours:
    def test_5_one_neighbour_replaces_the_dimension(self, gives):
        v = random(6)

        gives(v[e2v[:, 1]] - v[e2v[:, 0]], gradient, field(Vertex, v))

    def test_5_further_dimensions_are_kept(self, gives):
        v = random(6, 4)
        gives(v[e2v[:, 1], :3] - v[e2v[:, 0], 1:], gradient_levels, field((Vertex, K), v))

    def test_5_a_part_of_the_output_reads_its_neighbours_only(self, gives):
        v = random(6)
        gives(
            (v[e2v[:, 1]] - v[e2v[:, 0]])[2:4], gradient, field({Vertex: (2, 6)}, v[2:]),
            on={Edge: (2, 4)},
        )  # fmt: skip

    def test_5_all_neighbours_meet_a_sparse_field(self, gives):
        e, w = random(9), random(4, 3)

        gives(
            (w * e[c2e]).sum(axis=1), divergence, field(Edge, e), field((Cell, C2EDim), w),
            rtol=1e-14,
        )  # fmt: skip

    def test_5_shifts_of_several_kinds_are_applied_in_turn(self, gives):
        @ff.field_operator(backend=None)
        def opposite(v: VertexField) -> CellField:
            return v(E2V[1])(C2E[2])

        v = random(6)

        gives(v[e2v[c2e[:, 2], 1]], opposite, field(Vertex, v))


class TestLocalArithmetic:
    def test_5_neighbour_fields_are_computed_with(self, gives):
        @ff.field_operator(backend=None)
        def mixed(e: EdgeField, c: CellField, w: CellC2E) -> CellField:
            gathered = e(C2E)
            kept = where(gathered > 0.0, ff.sqrt(ff.abs(gathered)) * w, c)
            return neighbor_sum(kept - 0.5 * c + gathered, axis=C2EDim)

        e, c, w = random(9), random(4), random(4, 3)

        gathered = e[c2e]
        kept = np.where(gathered > 0.0, np.sqrt(np.abs(gathered)) * w, c[:, None])
        expected = (kept - 0.5 * c[:, None] + gathered).sum(axis=1)
        gives(
            expected, mixed, field(Edge, e), field(Cell, c), field((Cell, C2EDim), w), rtol=1e-13,
            atol=1e-15,
        )  # fmt: skip

    def test_5_a_difference_to_the_centre_leaves_missing_neighbours_out(self, gives):
        @ff.field_operator(backend=None)
        def laplacian(c: CellField) -> CellField:
            return neighbor_sum(c(C2C) - c, axis=C2CDim)

        c = random(4)

        expected = np.where(c2c >= 0, c[c2c] - c[:, None], 0.0).sum(axis=1)
        gives(expected, laplacian, field(Cell, c), rtol=1e-14)

    def test_5_elements_of_local_fields_are_taken_by_number(self, gives):
        @ff.field_operator(backend=None)
        def weighted(c: CellField, w: EdgeE2C) -> EdgeField:
            return w[E2CDim(0)] * c(E2C[0]) + w[E2CDim(1)]

        c, w = random(4), random(9, 2)
        gives(w[:, 0] * c[e2c[:, 0]] + w[:, 1], weighted, field(Cell, c), field((Edge, E2CDim), w))

    def test_5_sparse_fields_may_have_levels(self, gives):
        @ff.field_operator(backend=None)
        def weighted(c: CellK, w: EdgeE2CK) -> EdgeK:
            return neighbor_sum(c(E2C) * w, axis=E2CDim) + w[E2CDim(1)]

        c, w = random(4, 3), random(9, 2, 3)

        products = np.where((e2c >= 0)[:, :, None], c[e2c] * w, 0.0)
        gives(
            products.sum(axis=1) + w[:, 1], weighted, field((Cell, K), c),
            field((Edge, E2CDim, K), w), rtol=1e-13, atol=1e-15,
        )  # fmt: skip


class TestReductionsOfReductions:
    def test_5_a_reduction_is_shifted_again(self, gives):
        @ff.field_operator(backend=None)
        def around(e: EdgeField) -> EdgeField:
            at_vertices = neighbor_sum(e(V2E), axis=V2EDim)
            return at_vertices(E2V[0]) - at_vertices(E2V[1])

        e = random(9)

        s = sums(e, v2e)
        gives(s[e2v[:, 0]] - s[e2v[:, 1]], around, field(Edge, e), rtol=1e-13, atol=1e-14)

    def test_5_a_shifted_field_is_reduced(self, gives):
        @ff.field_operator(backend=None)
        def ends(v: VertexField) -> VertexField:
            return neighbor_sum(v(E2V[0])(V2E), axis=V2EDim)

        v = random(6)

        gives(sums(v[e2v[:, 0]], v2e), ends, field(Vertex, v), rtol=1e-14)

    def test_5_a_reduction_of_an_operator_with_a_reduction(self, gives):
        @ff.field_operator(backend=None)
        def at_edges(v: VertexField) -> EdgeField:
            return neighbor_sum(v(E2V), axis=E2VDim)

        @ff.field_operator(backend=None)
        def at_cells(v: VertexField) -> CellField:
            return max_over(at_edges(v)(C2E), axis=C2EDim)

        v = random(6)

        gives(sums(v, e2v)[c2e].max(axis=1), at_cells, field(Vertex, v), rtol=1e-14)

    def test_5_rule_a_reduction_stands_directly_inside_another(self, gives):
        @ff.field_operator(backend=None)
        def nested(v: VertexField) -> CellField:
            return neighbor_sum(neighbor_sum(v(E2V), axis=E2VDim)(C2E), axis=C2EDim)

        v = random(6)

        gives(sums(v, e2v)[c2e].sum(axis=1), nested, field(Vertex, v), rtol=1e-14)

    def test_5_rule_a_reduction_is_an_operand_of_a_neighbour_field(self, gives):
        @ff.field_operator(backend=None)
        def centred(e: EdgeField, c: CellField) -> CellField:
            mean = neighbor_sum(e(C2E), axis=C2EDim) / 3.0
            return neighbor_sum((e(C2E) - mean) * (e(C2E) - mean), axis=C2EDim) * c

        e, c = random(9), random(4)

        mean = e[c2e].sum(axis=1) / 3.0
        expected = ((e[c2e] - mean[:, None]) ** 2).sum(axis=1) * c
        gives(expected, centred, field(Edge, e), field(Cell, c), rtol=1e-13)

    def test_5_several_reductions_in_one_operator(self, gives):
        @ff.field_operator(backend=None)
        def spread(e: EdgeField, v: VertexField) -> CellField:
            high = max_over(e(C2E), axis=C2EDim)
            low = min_over(v(C2V), axis=C2VDim)
            return high - low

        e, v = random(9), random(6)
        gives(e[c2e].max(axis=1) - v[c2v].min(axis=1), spread, field(Edge, e), field(Vertex, v))


class TestDataOffsets:
    def test_5_a_neighbour_then_a_level_from_a_field(self, gives):
        local_index = ff.Field[ff.Dims[Cell, C2CDim, K], int32]

        @ff.field_operator(backend=None)
        def temperature(t: CellK, offset: local_index) -> CellK:
            return t(C2C[0])(as_offset(Koff, offset[C2CDim(0)] + 1))

        table = as_connectivity(
            [Cell, C2CDim], codomain=Cell, data=[[1, 2, 3], [0, 2, 3], [3, 1, 0], [2, 1, 0]]
        )
        t, offset = random(4, 6), np.random.default_rng(3).integers(-1, 2, (4, 3, 3))

        cells, levels = np.indices((4, 3))
        expected = t[table.asnumpy()[cells, 0], levels + offset[:, 0] + 1]
        gives(
            expected, temperature, field((Cell, K), t), field((Cell, C2CDim, K), offset, int32),
            offset_provider={"C2C": table, "Koff": K},
        )  # fmt: skip


class TestProvider:
    """5.1."""

    def test_5_1_a_missing_table_is_named(self, backend):
        with pytest.raises(KeyError, match="Offset 'E2V' not found in offset provider"):
            run(gradient, field(Vertex, random(6)), on={Edge: 9}, backend=backend)

    def test_5_1_entries_that_nobody_needs_change_nothing(self, gives):
        v = random(6)
        extra = {**MESH, "Unused": as_connectivity([Edge, E2VDim], codomain=Vertex, data=e2v[:2])}

        gives(v[e2v[:, 1]] - v[e2v[:, 0]], gradient, field(Vertex, v), offset_provider=extra)

    def test_5_1_a_program_takes_it_at_each_call(self, backend):
        @ff.program(backend=None)
        def call(v: VertexField, e: EdgeField):
            gradient(v, out=e)

        v, program = random(6), call.with_backend(backend)
        turned = {"E2V": as_connectivity([Edge, E2VDim], codomain=Vertex, data=e2v[:, ::-1])}
        one, other = ff.zeros({Edge: 9}), ff.zeros({Edge: 9})

        program(field(Vertex, v), one, offset_provider=MESH)
        program(field(Vertex, v), other, offset_provider=turned)

        np.testing.assert_array_equal(one.asnumpy(), -other.asnumpy())
        np.testing.assert_array_equal(one.asnumpy(), v[e2v[:, 1]] - v[e2v[:, 0]])

    def test_5_1_another_mesh_of_the_same_kind_needs_no_other_build(self, compiled):
        program = gradient.with_backend(compiled)
        out = ff.zeros({Edge: 9})
        program(field(Vertex, random(6)), out=out, offset_provider=MESH)
        before = program.variants

        larger = as_connectivity([Edge, E2VDim], codomain=Vertex, data=np.tile(e2v, (3, 1)))
        v, wide = random(6), ff.zeros({Edge: 27})
        program(field(Vertex, v), out=wide, offset_provider={"E2V": larger})

        assert program.variants == before
        np.testing.assert_array_equal(wide.asnumpy()[9:18], v[e2v[:, 1]] - v[e2v[:, 0]])


class TestConnectivity:
    """5.2."""

    def test_5_2_a_table_knows_its_dimensions(self):
        table = MESH["V2E"]

        assert isinstance(table, Connectivity)
        assert is_neighbor_table(table)
        assert table.domain == ff.domain({Vertex: 6, V2EDim: 4})
        assert (table.codomain, table.skip_value, table.dtype) == (Edge, -1, np.int32)
        assert table.shape == (6, 4)
        np.testing.assert_array_equal(table.asnumpy(), v2e)
        np.testing.assert_array_equal(table.ndarray, v2e)

    def test_5_2_its_type_says_what_a_program_must_know(self):
        found = MESH["V2E"].__gt_type__()

        assert found.domain == (Vertex, V2EDim)
        assert (found.codomain, found.dtype, found.skip_value) == (Edge, np.int32, -1)
        assert found.max_neighbors == 4

    @pytest.mark.parametrize(
        ("data", "given", "expected"),
        [([[0, 1]], {}, None), ([[0, -1]], {}, -1), ([[0, 1]], {"skip_value": -1}, -1),
         ([[0, 1]], {"skip_value": None}, None)],
    )  # fmt: skip
    def test_5_2_the_skip_value_is_found_in_the_data(self, data, given, expected):
        table = as_connectivity([Vertex, V2EDim], codomain=Edge, data=np.array(data), **given)

        assert table.skip_value == expected

    def test_5_2_other_skip_values_are_refused(self):
        with pytest.raises(ValueError, match="-1 or None"):
            as_connectivity([Vertex, V2EDim], codomain=Edge, data=[[0, 1]], skip_value=7)

    def test_5_2_nothing_is_computed_with_a_table(self):
        for compute in (lambda t: t + 1, lambda t: 1 + t, lambda t: t < 3, lambda t: -t):
            with pytest.raises(TypeError):
                compute(MESH["E2V"])

    def test_5_2_a_table_is_restricted_and_inverted(self):
        table = MESH["E2V"]

        assert table[Edge(2) : Edge(4)].asnumpy().tolist() == e2v[2:4].tolist()
        assert table.inverse_image(ff.UnitRange(3, 6))[0].unit_range == ff.UnitRange(2, 4)

    def test_5_2_tables_are_copied_and_pickled(self):
        table = MESH["V2E"]
        again = pickle.loads(pickle.dumps(table))

        assert copy.deepcopy(table) is table
        assert (again.domain, again.codomain, again.skip_value) == (
            table.domain, table.codomain, table.skip_value,
        )  # fmt: skip
        np.testing.assert_array_equal(again.asnumpy(), v2e)

    def test_5_2_the_domain_may_be_given_whole_and_with_an_origin(self):
        whole = as_connectivity({Edge: (3, 5), E2VDim: 2}, codomain=Vertex, data=e2v[3:5])
        shifted = as_connectivity([Edge, E2VDim], codomain=Vertex, data=e2v[3:5], origin={Edge: -3})

        assert whole.domain == shifted.domain == ff.domain({Edge: (3, 5), E2VDim: 2})

    def test_5_2_indices_of_any_integer_type_become_int32(self):
        table = as_connectivity([Edge, E2VDim], codomain=Vertex, data=e2v.astype(np.int64))

        assert table.dtype == np.int32
        with pytest.raises(TypeError):
            as_connectivity([Edge, E2VDim], codomain=Vertex, data=e2v.astype(float))

    def test_5_2_a_neighbour_that_is_missing_is_undefined_and_harmless(self, compiled):
        @ff.field_operator(backend=None)
        def second(c: CellField) -> EdgeField:
            return c(E2C[1])

        c = random(4)
        out = run(second, field(Cell, c), on={Edge: 9}, backend=compiled, offset_provider=MESH)

        there = e2c[:, 1] >= 0
        np.testing.assert_array_equal(out[there], c[e2c[there, 1]])

    def test_5_2_a_table_that_leads_outside_its_field_is_an_error(self, backend):
        with pytest.raises(ff.errors.FieldforgeError):
            run(
                gradient, field({Vertex: 5}, random(5)), on={Edge: 9}, backend=backend,
                offset_provider=MESH,
            )  # fmt: skip

    def test_5_2_a_table_must_reach_as_far_as_the_output(self, backend):
        short = {"E2V": as_connectivity([Edge, E2VDim], codomain=Vertex, data=e2v[:7])}

        with pytest.raises(ff.errors.FieldforgeError):
            run(
                gradient, field(Vertex, random(6)), on={Edge: 9}, backend=backend,
                offset_provider=short,
            )  # fmt: skip


class TestSparseOutput:
    def test_5_a_local_output_is_written(self, backend):
        @ff.field_operator(backend=None)
        def gathered(e: EdgeField) -> CellC2E:
            return e(C2E)

        e, out = random(9), ff.zeros({Cell: 4, C2EDim: 3})
        gathered.with_backend(backend)(field(Edge, e), out=out, offset_provider=MESH)

        np.testing.assert_array_equal(out.asnumpy(), e[c2e])


def test_5_a_cartesian_shift_and_a_table_live_in_one_operator(gives):
    before = ff.Field[ff.Dims[I, Vertex], ff.float64]
    after = ff.Field[ff.Dims[Edge, I], ff.float64]

    @ff.field_operator(backend=None)
    def mixed(v: before) -> after:
        return v(E2V[0])(I + 1)

    v = random(4, 6)
    gives(v[1:, e2v[:, 0]].T, mixed, field((I, Vertex), v))
