"""Adjoints through neighbour tables, against the tape of embedded execution."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, max_over, neighbor_sum, sqrt, where
from fieldforge.workflows.variants.tables import TableKind

from ...derivative_cases import C2E, C2EDim, Cell, Edge, K, Sparse, copied, like
from ...dimensions import E2C, E2CDim

Cells = ff.Field[ff.Dims[Cell, K], float64]
Edges = ff.Field[ff.Dims[Edge, K], float64]
Weights = ff.Field[ff.Dims[Cell, C2EDim, K], float64]
CELLS = np.array([[0, 1, 2], [2, 3, 4], [4, 5, 0], [1, 3, 5]], np.int32)
ENDS = np.array([[0, 2], [0, 3], [0, 1], [1, -1], [1, 2], [3, -1]], np.int32)
MESH = {
    "C2E": ff.as_connectivity([Cell, C2EDim], Edge, CELLS),
    "E2C": ff.as_connectivity([Edge, E2CDim], Cell, ENDS, skip_value=-1),
}
KINDS = {"C2E": TableKind(3), "E2C": TableKind(2, -1)}  # without entries


@ff.field_operator(backend=None)
def divergence(flux: Edges, weight: Sparse) -> Cells:
    return neighbor_sum(weight * flux(C2E), axis=C2EDim)


@ff.field_operator(backend=None)
def on_mesh(flux: Edges, weight: Sparse, depth: Cells) -> Edges:
    around = neighbor_sum(divergence(flux, weight)(E2C) * depth(E2C), axis=E2CDim)
    most = max_over(flux(C2E), axis=C2EDim)
    return around * flux + neighbor_sum(most(E2C), axis=E2CDim)


@ff.program(backend=None)
def mesh_step(flux: Edges, weight: Sparse, depth: Cells, out: Edges):
    on_mesh(flux, weight, depth, out=out)


def mesh_arguments():
    rng = np.random.default_rng(8)
    return {
        "flux": ff.as_field([Edge, K], rng.normal(size=(6, 2))),
        "weight": ff.as_field([Cell, C2EDim], rng.normal(size=(4, 3))),
        "depth": ff.as_field([Cell, K], rng.normal(size=(4, 2))),
        "out": ff.zeros({Edge: 6, K: 2}),
    }


NAMES = ("flux", "weight", "depth")  # of these, weights have no levels


def poisoned(primals):
    """Return the adjoints of a call before it, so that points that nobody writes show."""
    return {
        f"{name}_b": ff.as_field(primals[name].domain, np.full(primals[name].shape, np.nan))
        for name in NAMES
    }


@pytest.mark.parametrize("backend", [None, "rows", ff.gpu_host], ids=["none", "rows", "gpu-host"])
def test_neighbours_are_summed_through_transposed_tables(backend):
    primals = mesh_arguments()
    _, pull = ff.vjp(mesh_step, primals, offset_provider=MESH)
    given = like(primals["out"], np.random.default_rng(9))
    expected = pull({"out": given})

    run = ff.adjoint(mesh_step).with_backend(backend)
    found = {name: copied(primals[name]) for name in ("flux", "weight", "depth")}
    found |= {"out_b": given, **poisoned(primals)}
    run(**found, offset_provider=MESH)

    for name in NAMES:
        np.testing.assert_allclose(
            found[f"{name}_b"].asnumpy(), expected[name].asnumpy(), rtol=1e-13, atol=1e-14
        )


def test_new_tables_of_a_built_adjoint_are_transposed_by_its_calls():
    primals = mesh_arguments()
    run = ff.adjoint(mesh_step, wrt=("flux",)).with_backend("rows")
    given = like(primals["out"], np.random.default_rng(9))
    inputs = {name: primals[name] for name in NAMES}
    for turn in range(2):
        cells = np.roll(CELLS, turn, axis=1)
        mesh = MESH | {"C2E": ff.as_connectivity([Cell, C2EDim], Edge, cells)}
        _, pull = ff.vjp(mesh_step, primals, offset_provider=mesh)
        expected = pull({"out": given})["flux"].asnumpy()

        flux_b = ff.zeros({Edge: 6, K: 2})
        run(**inputs, out_b=given, flux_b=flux_b, offset_provider=mesh)

        np.testing.assert_allclose(flux_b.asnumpy(), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("backend", [None, "rows", ff.gpu_host], ids=["none", "rows", "gpu-host"])
def test_an_adjoint_of_an_adjoint_hands_out_what_was_collected(backend):
    """Adjoints are linear in what they are given, so this is the tangent once more."""
    primals = {name: each for name, each in mesh_arguments().items() if name != "depth"}
    flux_d = like(primals["flux"], np.random.default_rng(3))
    _, expected = ff.jvp(linear_step, primals, {"flux": flux_d}, offset_provider=MESH)

    once = ff.adjoint(linear_step, wrt=("flux",))
    twice = ff.adjoint(once, wrt=("out_b",), of=("flux_b",), names="{}_c").with_backend(backend)
    given = {name: primals[name] for name in ("flux", "weight")}
    found = ff.zeros({Edge: 6, K: 2})
    twice(**given, out_b=primals["out"], flux_b_c=flux_d, out_b_c=found, offset_provider=MESH)

    np.testing.assert_allclose(found.asnumpy(), expected["out"].asnumpy(), rtol=1e-13)


@ff.field_operator(backend=None)
def spread_out(flux: Edges, weight: Sparse) -> Edges:
    inside = divergence(flux, weight) + flux(C2E[1]) - flux(C2E[0])
    return neighbor_sum(inside(E2C), axis=E2CDim)


@ff.program(backend=None)
def linear_step(flux: Edges, weight: Sparse, out: Edges):
    spread_out(flux, weight, out=out)


def test_each_table_has_one_transpose():
    run = ff.adjoint(linear_step, wrt=("flux",))

    text = run.trace(offset_provider=MESH, until="adjoint")["adjoint"].text

    collected = sorted(
        line.partition("collect %")[2].partition(" ")[2].partition(" :")[0]
        for line in text.splitlines()
        if "= collect" in line
    )
    assert collected == ["C2E_t C2E_s", "C2E_t C2E_s slot 0", "C2E_t C2E_s slot 1"]


def test_missing_transposed_tables_are_named():
    with pytest.raises(ff.errors.DerivativeError, match=r"offset_provider=ff.transposed"):
        ff.adjoint(mesh_step, wrt=("flux",)).trace(offset_provider=KINDS)


@ff.field_operator(backend=None)
def counted(rate: ff.Field[[], float64]) -> Edges:
    return neighbor_sum(ff.broadcast(rate, (Cell, K))(E2C), axis=E2CDim)


@ff.program(backend=None)
def counts(rate: ff.Field[[], float64], out: Edges):
    counted(rate, out=out)


@pytest.mark.parametrize("backend", [None, "rows"], ids=["none", "rows"])
def test_a_neighbour_sum_of_a_value_without_dimensions_adds_over_all_points(backend):
    rate_b, out_b = ff.zeros({}), ff.ones({Edge: 6, K: 2})

    run = ff.adjoint(counts.with_backend(backend))
    run(ff.full({}, 2.0), out_b, rate_b, offset_provider=MESH)

    assert rate_b.asnumpy() == 2.0 * (ENDS >= 0).sum()


@ff.field_operator(backend=None)
def bounded(flux: Edges, weight: Weights) -> Cells:
    return max_over(weight * flux(C2E), axis=C2EDim)


@ff.program(backend=None)
def extremes(flux: Edges, weight: Weights, out: Cells):
    bounded(flux, weight, out=out)


def test_what_is_not_there_yet_is_named():
    with pytest.raises(ff.errors.DerivativeError, match="takes slot 2 of a sparse field"):
        ff.adjoint(extremes, wrt=("weight",)).trace(offset_provider=MESH)


@ff.field_operator(backend=None)
def rooted(depth: Cells, flux: Edges) -> Edges:
    roots = neighbor_sum(sqrt(flux(C2E)), axis=C2EDim)  # NaN where a flux is below 0
    around = neighbor_sum(where(depth(E2C) > 0.0, roots(E2C), depth(E2C)), axis=E2CDim)
    return around + where(depth(E2C[0]) > 0.0, roots(E2C[0]) * 2.0, 0.0)


@ff.program(backend=None)
def guarded(depth: Cells, flux: Edges, out: Edges):
    rooted(depth, flux, out=out)


@pytest.mark.parametrize("backend", [None, "rows", ff.gpu_host], ids=["none", "rows", "gpu-host"])
def test_no_nan_leaks_through_tables_from_a_branch_that_is_not_taken(backend):
    depth = ff.as_field([Cell, K], [[4.0, -1.0], [0.0, 9.0], [2.0, 3.0], [-1.0, 1.0]])
    flux = np.random.default_rng(3).uniform(1.0, 2.0, (6, 2))
    flux[3, 0] = -1.0  # of cells 1 and 3, which nothing reads
    run = ff.adjoint(guarded, wrt=("flux",)).with_backend(backend)
    flux_b, given = ff.zeros({Edge: 6, K: 2}), ff.ones({Edge: 6, K: 2})

    run(depth, ff.as_field([Edge, K], flux), given, flux_b, offset_provider=MESH)

    slope = np.zeros((6, 2))
    for first, second in ENDS:
        for cell, weight in ((first, 3.0), (second, 1.0)):
            if cell >= 0:
                slope[CELLS[cell]] += weight * (depth.asnumpy()[cell] > 0.0)
    expected = slope * 0.5 / np.sqrt(np.abs(flux))
    assert expected[3, 0] == 0.0
    np.testing.assert_allclose(flux_b.asnumpy(), expected, rtol=1e-14)


def test_a_loop_over_levels_tests_nothing_where_all_is_there_that_a_table_lists():
    backend = ff.cpu.with_options(arrays=("%25", "%36"))  # their values, too, in loops of their own
    run = ff.adjoint(mesh_step, wrt=("flux",)).with_backend(backend)
    given = mesh_arguments()
    del given["out"]

    trace = run.trace(
        **given, out_b=given["flux"], flux_b=given["flux"],
        offset_provider=ff.transposed(MESH), until="codegen",
    )  # fmt: skip

    nest = trace["codegen"].artifact.loops.rpartition(" usual ")[2].splitlines()
    usual = nest[0].split(", ")
    tests = [line for line in nest if " ge %" in line and " bool " in line]
    entries = [line.split()[0] for line in tests if line.strip().startswith("%")]
    assert len(usual) > 3
    assert all(each.endswith(" true") for each in usual)
    assert {each.split()[0] for each in usual} & set(entries)
    text = trace["codegen"].text
    assert "const bool usually = v" in text
    run = text.partition("for (; b <= last;")[2].partition("b -= ")[0]
    assert "usual(b" in run
    assert "masked(" not in run


@ff.field_operator(backend=None)
def turned(u: ff.Field[ff.Dims[Edge], float64], v: ff.Field[ff.Dims[Cell], float64],
           weight: Sparse) -> ff.Field[ff.Dims[Cell], float64]:  # fmt: skip
    return neighbor_sum(u(C2E) * weight * (u(C2E) + v), axis=C2EDim)


@ff.program(backend=None)
def turn(
    u: ff.Field[ff.Dims[Edge], float64],
    v: ff.Field[ff.Dims[Cell], float64],
    weight: Sparse,
    out: ff.Field[ff.Dims[Cell], float64],
):
    turned(u, v, weight, out=out)


@pytest.mark.parametrize("backend", ["rows", "cpu", "gpu-host"])
def test_a_neighbour_of_a_listed_element_is_known(backend):
    rng = np.random.default_rng(8)
    given = {
        "u": ff.as_field([Edge], rng.normal(size=6)),
        "v": ff.as_field([Cell], rng.normal(size=4)),
        "weight": ff.as_field([Cell, C2EDim], rng.normal(size=(4, 3))),
    }
    seed, tables = ff.as_field([Cell], rng.normal(size=4)), ff.transposed(MESH)
    run = ff.adjoint(turn, wrt=("u",))
    meant, found = (ff.full({Edge: 6}, np.nan) for _ in range(2))

    run.with_backend(ff.reference)(**given, out_b=seed, u_b=meant, offset_provider=tables)
    run.with_backend(backend)(**given, out_b=seed, u_b=found, offset_provider=tables)

    assert np.isfinite(meant.asnumpy()).all()
    assert found.asnumpy().tobytes() == meant.asnumpy().tobytes()


def test_known_neighbours_are_not_looked_up():
    fields = {
        "u": ff.ones({Edge: 6}),
        "v": ff.ones({Cell: 4}),
        "weight": ff.ones({Cell: 4, C2EDim: 3}),
    }
    run = ff.adjoint(turn, wrt=("u",)).with_backend(ff.cpu)

    trace = run.trace(
        **fields, out_b=fields["v"], u_b=fields["u"],
        offset_provider=ff.transposed(MESH), until="codegen",
    )  # fmt: skip

    loads = [line for line in trace["codegen"].artifact.loops.splitlines() if " load " in line]
    assert any('"table C2E_t"' in line for line in loads)
    assert not any('"table C2E"' in line for line in loads)
