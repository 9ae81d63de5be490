"""Meshes cut for ranks: one owner each, whole halos, contiguous ranges, the same everywhere."""

import pickle

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.examples.icosahedral import Cell, Edge, Vertex, icosahedral
from fieldforge.runtime.decomposition.mesh import check, decompose, part_of
from fieldforge.runtime.decomposition.partitioning import bisect

MESH = icosahedral(2, 2)
HALO = 2


def cut(ranks, halo=HALO, owners=None):
    """Cut the triangles of a mesh; its other points hang on them."""
    tables = MESH.connectivities()
    owners = bisect(MESH.cell_points, ranks) if owners is None else owners
    # vertices hang on cells by V2C, whose first five columns are always there
    return decompose(tables, Cell, owners, attached=["E2C", "V2C"], halo=halo, ranks=ranks)


@pytest.fixture(params=[1, 2, 4, 7])
def parts(request):
    return cut(request.param)


def test_every_point_has_one_owner_and_all_of_the_halo_is_received(parts):
    check(parts)
    for dim, count in ((Cell, MESH.cells), (Edge, MESH.edges), (Vertex, MESH.vertices)):
        assert sum(part.points[dim].owned for part in parts) == count


def test_bisection_shares_evenly(parts):
    owned = [part.points[Cell].owned for part in parts]

    assert max(owned) - min(owned) <= 3


def test_local_tables_lead_to_the_same_points(parts):
    for part in parts:
        for name, whole in MESH.connectivities().items():
            rows = whole.asnumpy()[part.points[whole.domain.dims[0]].global_ids]
            ids = np.append(part.points[whole.codomain].global_ids, -1)
            local = part.tables[name]

            assert np.array_equal(ids[local][local >= 0], rows[local >= 0])
            assert ((rows < 0) <= (local < 0)).all()


def test_halo_levels_are_steps_over_shared_vertices(parts):
    """The levels that a breadth-first walk over the whole mesh finds, cell by cell."""
    around = MESH.tables["V2C"][MESH.tables["C2V"]].reshape(MESH.cells, -1)
    for part in parts:
        points = part.points[Cell]
        level = dict.fromkeys(points.global_ids[: points.owned].tolist(), 0)
        for step in range(1, HALO + 1):
            for cell in [each for each, at in level.items() if at == step - 1]:
                for near in around[cell][around[cell] >= 0].tolist():
                    level.setdefault(near, step)

        assert level == dict(zip(points.global_ids.tolist(), points.levels.tolist(), strict=True))


def test_edges_and_vertices_of_local_cells_are_local(parts):
    for part in parts:
        for name in ("C2E", "C2V"):
            assert (part.tables[name] >= 0).all()
        if part.ranks > 1:
            assert part.complete["E2C"] == HALO
            assert part.complete["C2E2C"] == HALO - 1


def test_the_order_is_inner_then_boundary_then_halo_each_by_global_id(parts):
    for part in parts:
        for points in part.points.values():
            keys = list(zip(points.levels, -points.distances, points.global_ids, strict=True))

            assert keys == sorted(keys)
            assert points.up_to(HALO + 1) == len(points.global_ids)
            assert points.farther_than(0) == points.owned


def test_points_farther_from_other_ranks_read_no_halo(parts):
    for part in parts:
        cells, edges = part.points[Cell], part.points[Edge]

        neighbours = part.tables["C2E2C"][: cells.farther_than(1)]
        assert (neighbours < cells.owned).all()
        assert (part.tables["E2C"][: edges.farther_than(1)] < cells.owned).all()
        if part.ranks > 1:
            touching = part.tables["V2C"][part.tables["C2V"][cells.farther_than(1) : cells.owned]]
            assert (touching >= cells.owned).any(axis=(1, 2)).all()


def test_a_reduction_over_local_tables_has_the_bits_of_the_whole(parts):
    values = np.random.default_rng(1).normal(size=MESH.edges)
    whole = values[MESH.tables["C2E"]].sum(1)
    for part in parts:
        points = part.points[Cell]
        local = part.localised(values, Edge)[part.tables["C2E"]].sum(1)

        assert np.array_equal(local[: points.owned], whole[points.global_ids[: points.owned]])


def test_one_rank_keeps_the_order_of_the_mesh():
    (part,) = cut(1)

    assert np.array_equal(part.points[Edge].global_ids, np.arange(MESH.edges))
    assert part.connectivities()["C2E"].skip_value is None
    assert all(not each.send and not each.receive for each in part.patterns)


def test_all_ranks_have_tables_of_the_same_type():
    types = [
        {name: each.__gt_type__() for name, each in part.connectivities().items()}
        for part in cut(4)
    ]

    assert types == types[:1] * 4


def test_ranks_may_be_empty():
    parts = cut(5, owners=bisect(MESH.cell_points, 3))

    check(parts)
    assert [part.points[Cell].owned == 0 for part in parts] == [False] * 3 + [True] * 2
    assert len(parts[4].points[Edge].global_ids) == 0


def test_bisection_is_deterministic_and_takes_more_ranks_than_points():
    points = np.zeros((3, 2))

    assert bisect(points, 2).tolist() == [0, 1, 1]
    assert sorted(set(bisect(points, 8).tolist()) - set(range(8))) == []
    assert len(set(bisect(points, 8).tolist())) == 3


def test_a_lost_halo_point_is_found():
    parts = list(cut(2))
    mine = parts[0]
    cells = mine.patterns[0]
    shorter = {rank: (ids[:-1],) for rank, (ids,) in cells.receive.items()}
    parts[0] = attrs.evolve(
        mine, patterns=(attrs.evolve(cells, receive=shorter), *mine.patterns[1:])
    )

    with pytest.raises(ArgumentError, match="Rank 0 does not receive all of its halo"):
        check(parts)


@pytest.mark.parametrize("halo", [0, 1, 2])
@pytest.mark.parametrize("ranks", [1, 3, 40])
def test_the_part_of_one_rank_is_that_among_all(ranks, halo):
    tables, owners = MESH.connectivities(), bisect(MESH.cell_points, ranks)
    more = {"attached": ["E2C", "V2C"], "halo": halo, "ranks": ranks}
    for expected in decompose(tables, Cell, owners, **more):
        found = part_of(expected.rank, tables, Cell, owners, **more)

        assert found.complete == expected.complete
        assert all((found.tables[n] == each).all() for n, each in expected.tables.items())
        for dim, points in expected.points.items():
            for name in ("global_ids", "levels", "distances"):
                assert np.array_equal(getattr(found.points[dim], name), getattr(points, name))
        for mine, other in zip(found.patterns, expected.patterns, strict=True):
            for side in ("send", "receive"):
                ours, theirs = getattr(mine, side), getattr(other, side)
                assert ours.keys() == theirs.keys()
                assert all(np.array_equal(ours[rank][0], theirs[rank][0]) for rank in ours)


def test_what_cannot_be_cut_is_refused():
    tables = MESH.connectivities()
    owners = np.zeros(MESH.cells, int)

    with pytest.raises(ArgumentError, match="leads from 'Vertex' to 'Cell'"):
        decompose(tables, Cell, owners, attached=["E2C"], halo=1)
    with pytest.raises(ArgumentError, match="leads to 'Cell', got 'C2E'"):
        decompose(tables, Cell, owners, attached=["C2E"], halo=1)
    with pytest.raises(ArgumentError, match="Expected owners from 0 to 1"):
        decompose(tables, Cell, owners + 2, attached=["E2C", "V2C"], halo=1, ranks=2)


def test_a_gather_runs_on_a_part_like_on_the_whole():
    from fieldforge.examples.icosahedral import C2E, C2EDim

    @ff.field_operator(backend=None)
    def total(u: ff.Field[ff.Dims[Edge], ff.float64]) -> ff.Field[ff.Dims[Cell], ff.float64]:
        return ff.neighbor_sum(u(C2E), axis=C2EDim)

    values = np.arange(MESH.edges, dtype=float)
    for part in cut(3):
        owned = part.points[Cell].owned
        out = ff.zeros({Cell: owned})
        u = ff.as_field([Edge], part.localised(values, Edge))
        total(u, out=out, offset_provider=part.connectivities())

        expected = values[MESH.tables["C2E"]].sum(1)[part.points[Cell].global_ids[:owned]]
        np.testing.assert_array_equal(out.asnumpy(), expected)


def test_a_part_is_pickled_without_the_whole_mesh(parts):
    whole = sum(table.asnumpy().nbytes for table in MESH.connectivities().values())
    for part in parts:
        words = pickle.dumps(part)
        again = pickle.loads(words)

        assert len(parts) == 1 or len(words) < 6 * whole / len(parts) + 20000
        for name, table in part.connectivities().items():
            other = again.connectivities()[name]
            assert (other.codomain, other.skip_value) == (table.codomain, table.skip_value)
            np.testing.assert_array_equal(other.asnumpy(), table.asnumpy())
            assert again.leading(name, 40) == part.leading(name, 40)
