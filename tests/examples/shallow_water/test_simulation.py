"""The model: known errors, conserved quantities, and the same bits on any number of ranks."""

import json
import os

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import fieldforge as ff
from fieldforge.examples.shallow_water.__main__ import main
from fieldforge.examples.shallow_water.cases import CASES, initial_state
from fieldforge.examples.shallow_water.extents import extents
from fieldforge.examples.shallow_water.grid import Cell, Edge, Vertex
from fieldforge.examples.shallow_water.inputs import inputs_of
from fieldforge.examples.shallow_water.model import HALO, ShallowWater, parts_of
from fieldforge.examples.shallow_water.norms import vorticity
from fieldforge.examples.shallow_water.saved_state import load
from fieldforge.examples.shallow_water.simulation import Case, simulate

from ...selection import not_optimised

pytestmark = pytest.mark.needs_compiler
STRICT = ff.cpu.with_options(numerics="strict")  # one build for all tests, on any ranks


@pytest.fixture(scope="module")
def steady():
    """Case 2 after a day, at two levels."""
    return {level: simulate(Case(name="2", level=level, days=1.0), STRICT) for level in (3, 4)}


def test_the_error_of_the_steady_case_falls_with_the_grid(steady):
    coarse, fine = (steady[level].height_norms for level in (3, 4))

    order = np.log2(coarse.l2 / fine.l2)

    assert fine.l2 < 2.0e-4
    assert fine.linf < 7.0e-4
    assert 1.7 < order < 2.1


def test_mass_is_conserved_to_rounding_and_energy_to_that_of_the_time_step(steady):
    for result in steady.values():
        assert abs(result.drift.mass) < 1e-13
        assert abs(result.drift.energy) < 1e-9
        assert abs(result.drift.potential_enstrophy) < 1e-3


def test_potential_vorticity_that_is_uniform_stays_uniform(steady):
    """What Ringler et al. (2010) call consistency: vorticity and thickness move with one flux."""
    grid, uniform = steady[3].grid, 1e-8
    start = initial_state("6", grid)

    def at_vertices(h):
        return (grid.kites * h[grid.tables["V2C"]]).sum(1) / grid.vertex_areas

    start = attrs.evolve(start, coriolis=uniform * at_vertices(start.h) - vorticity(grid, start.u))
    (inputs,) = inputs_of(grid, start, parts_of(grid, 1))
    model = ShallowWater(inputs, 300.0, STRICT)
    for _ in range(50):
        model.step()
    h, u = model.owned()
    found = (start.coriolis + vorticity(grid, u)) / at_vertices(h)

    assert np.abs(h / start.h - 1).max() > 0.01
    np.testing.assert_allclose(found, uniform, rtol=1e-10)


def test_the_jet_without_its_bump_stays():
    case = Case(name="galewsky-balanced", level=3, days=0.5)
    result, fine = (simulate(attrs.evolve(case, level=level), STRICT) for level in (3, 4))

    assert fine.height_norms.l2 < min(1e-3, 0.4 * result.height_norms.l2)
    assert initial_state("galewsky", result.grid).h.max() > result.start.h.max() - 1.0


def test_a_grid_that_is_kept_in_a_file_gives_the_same_run(tmp_path, steady):
    case, file = Case(name="2", level=3, days=0.05), tmp_path / "grid.npy"

    made, read = (simulate(case, STRICT, generators=file) for _ in range(2))

    assert made.h.tobytes() == read.h.tobytes()
    assert made.grid.weights.tobytes() == steady[3].grid.weights.tobytes()
    with pytest.raises(ValueError, match="Expected 162 generators for level 2"):
        simulate(Case(name="2", level=2, days=0.05), STRICT, generators=file)


def test_nothing_is_compiled_in_the_loop(steady):
    assert [result.compiled_in_loop for result in steady.values()] == [0, 0]


def test_the_energy_error_is_that_of_the_time_step():
    """The scheme itself keeps energy: what is lost falls with a high power of the time step."""
    drifts = []
    for courant in (0.5, 0.25):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("fieldforge.examples.shallow_water.simulation.COURANT", courant)
            drifts.append(simulate(Case(name="5", level=3, days=1.0), STRICT).drift.energy)

    assert abs(drifts[1]) < abs(drifts[0]) / 16


@pytest.mark.parametrize("case", sorted(CASES))
def test_every_case_runs_and_keeps_its_mass(case):
    result = simulate(Case(name=case, level=3, days=0.5), STRICT)

    assert abs(result.drift.mass) < 1e-13
    assert abs(result.drift.energy) < 1e-6
    assert np.isfinite(result.h).all()
    assert np.abs(result.u).max() < 130.0


@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_ranks_do_not_change_a_bit(ranks):
    case = Case(name="5", level=3, days=0.25)

    alone, together = simulate(case, STRICT), simulate(case, STRICT, ranks=ranks)

    assert together.h.tobytes() == alone.h.tobytes()
    assert together.u.tobytes() == alone.u.tobytes()
    assert together.conserved == alone.conserved
    assert not np.array_equal(alone.h, alone.start.h)


def test_more_ranks_than_cells_leave_some_without_any():
    # level 0 has 12 cells
    case = Case(name="5", level=0, days=0.25)

    alone, together = simulate(case, STRICT), simulate(case, STRICT, ranks=14)

    assert together.h.tobytes() == alone.h.tobytes()
    assert together.u.tobytes() == alone.u.tobytes()


def test_compiled_and_embedded_agree():
    case = Case(name="6", level=2, days=0.1)

    with pytest.warns(UserWarning, match="runs embedded|one by one"):
        embedded = simulate(case, None)
    compiled = simulate(case, not_optimised(ff.cpu))

    np.testing.assert_allclose(compiled.h, embedded.h, rtol=1e-13)
    np.testing.assert_allclose(compiled.u, embedded.u, rtol=1e-11, atol=1e-11)


def test_the_halo_holds_all_that_a_stage_reads(steady):
    for part in parts_of(steady[3].grid, 6):
        assert all(part.complete[name] >= HALO for name in ("V2E", "V2C", "E2C", "E2V"))
        assert part.complete["C2E"] >= 1  # of the Bernoulli function
        assert part.complete["E2E2C"] >= 0  # of the tendency


def test_the_command_writes_norms_and_a_picture(tmp_path):
    words = ["--case", "2", "--level", "2", "--days", "0.1", "--ranks", "2", "--strict"]
    files = ["--json", str(tmp_path / "out.json"), "--draw", str(tmp_path / "out.png")]

    done = CliRunner().invoke(main, words + files)

    assert done.exit_code == 0, done.output
    said = json.loads((tmp_path / "out.json").read_text())
    assert (said["cells"], said["ranks"], said["compiled_in_loop"]) == (162, 2, 0)
    assert 0 < said["norms"]["l2"] < 1e-2
    assert os.path.getsize(tmp_path / "out.png") > 10000


@pytest.mark.parametrize("ranks", [1, 3, 6])
def test_before_the_halo_arrives_only_owned_points_are_read_and_after_it_all_are_done(
    steady, ranks
):
    grid = steady[4].grid
    for inputs in inputs_of(grid, initial_state("2", grid), parts_of(grid, ranks)):
        part, model = inputs.part, ShallowWater(inputs, 60.0, STRICT)
        ready = {**model.diagnosing.ready, **model.advancing.ready}
        flux, q, q_edge, head, h, u = (
            ready[name][dim].unit_range.stop
            for name, dim in zip(
                ("flux", "q", "q_edge", "head", "h_next", "u_next"),
                (Edge, Vertex, Edge, Cell, Cell, Edge),
                strict=True,
            )
        )
        cells, edges, ends = part.points[Cell], part.points[Edge], extents(part)

        assert (ends.h, ends.u) == (cells.owned, edges.owned)
        assert (part.tables["E2C"][:flux] < cells.owned).all()
        assert (part.tables["C2E"][:head] < edges.owned).all()
        for table, reads in (("V2C", cells.owned), ("V2E", edges.owned)):
            assert (part.tables[table][:q] < reads).all()
        assert (part.tables["E2V"][:q_edge] < q).all()
        assert (part.tables["E2E2C"][:u] < min(q_edge, flux)).all()
        assert (part.tables["C2E"][:h] < flux).all()
        assert u > 0.3 * edges.owned  # so there is something to do meanwhile
        assert u < edges.owned or ranks == 1


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_a_run_in_two_parts_has_the_bits_of_one(tmp_path):
    case = ("--case", "5", "--level", "3", "--strict")
    half, last, whole = (tmp_path / f"{name}.npz" for name in ("half", "last", "whole"))

    for words in (
        ("--days", "0.5", "--save", half),
        ("--days", "0.5", "--resume", half, "--save", last, "--ranks", "3"),
        ("--days", "1", "--save", whole),
    ):
        done = run(*case, *words)
        assert done.exit_code == 0, done.output

    resumed, at_once = load(last, "5", 3), load(whole, "5", 3)
    assert resumed.h.tobytes() == at_once.h.tobytes()
    assert resumed.u.tobytes() == at_once.u.tobytes()
    assert resumed.days == at_once.days == 1.0


def test_a_state_of_another_case_is_refused(tmp_path):
    state = tmp_path / "state.npz"
    run("--case", "2", "--level", "2", "--days", "0.05", "--strict", "--save", state)

    done = run("--case", "5", "--level", "2", "--days", "0.05", "--resume", state)

    assert done.exit_code == 1
    assert "has one of case 2 at level 2" in done.output.replace("\n", " ")


def test_a_rank_that_fails_ends_the_others_with_its_error():
    def fail(done, steps):
        if done == 2:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        simulate(Case(name="5", level=2, days=1.0), STRICT, ranks=3, told=fail)


def test_frames_are_written_as_netcdf_and_as_an_animation(tmp_path):
    xarray = pytest.importorskip("xarray", reason="the extra 'xarray' is not installed")
    pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    files = {name: tmp_path / f"out.{name}" for name in ("nc", "gif", "json")}

    done = run(
        "--case", "5", "--level", "2", "--days", "0.5", "--every", "3", "--ranks", "2", "--strict",
        "--netcdf", files["nc"], "--animate", files["gif"], "--json", files["json"],
    )  # fmt: skip

    assert done.exit_code == 0, done.output
    frames = json.loads(files["json"].read_text())["frames"]
    with xarray.open_dataset(files["nc"]) as found:
        assert found["time"].values.tolist() == [each["days"] for each in frames]
        assert found["time"].values[-1] == pytest.approx(0.5)
        assert len(frames) >= 4
        assert dict(found.sizes) == {"time": len(frames), "cell": 162, "edge": 480, "vertex": 320}
        mass = (found["thickness"] * found["cell_area"]).sum("cell").values
        np.testing.assert_allclose(mass, found["mass"].values, rtol=1e-14)
        np.testing.assert_allclose(mass, mass[0], rtol=1e-13)
        assert abs(found["cell_lat"].values).max() <= 90.0
    assert files["gif"].read_bytes()[:4] == b"GIF8"
    with Image.open(files["gif"]) as film:
        assert film.n_frames == len(frames)


def test_frames_do_not_change_a_bit():
    case = Case(name="5", level=2, days=0.25)

    whole, in_parts = simulate(case, STRICT), simulate(case, STRICT, hours=1.0)

    assert in_parts.h.tobytes() == whole.h.tobytes()
    assert len(in_parts.frames) > 3


@pytest.mark.parametrize(
    ("by", "why"), [("ghex", "Exchange 'ghex' is for ranks of MPI"), ("post", "Unknown exchange")]
)
def test_exchanges_that_cannot_be_are_refused(by, why):
    with pytest.raises(ValueError, match=why):
        simulate(Case(name="2", level=1, days=0.1), ff.cpu, ranks=2, by=by)
