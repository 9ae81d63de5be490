"""Moist columns: what is conserved, what clouds are, and the same bits on any number of ranks."""

import pickle
import threading

import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.examples.moist_columns.__main__ import main
from fieldforge.examples.moist_columns.columns import columns, mixing, time_step, wind_of
from fieldforge.examples.moist_columns.inputs import inputs_of
from fieldforge.examples.moist_columns.model import NAMES, MoistColumns, parts_of
from fieldforge.examples.saturation_adjustment import HEATING, VAPOUR_GAS
from fieldforge.examples.shallow_water.cases import RADIUS
from fieldforge.examples.shallow_water.grid import Cell, voronoi_grid
from fieldforge.examples.shallow_water.voronoi import optimised
from fieldforge.runtime.decomposition.exchange import local_exchanges

from ...selection import not_optimised

pytestmark = pytest.mark.needs_compiler
LEVELS, STEPS = 12, 20
STRICT = ff.cpu.with_options(numerics="strict")


@pytest.fixture(scope="module")
def air():
    return columns(voronoi_grid(optimised(3, iterations=30), RADIUS), LEVELS)


def run(air, ranks, backend, steps=STEPS):
    """Return the state of the whole sphere after some steps."""
    _, dt = time_step(air.grid, 1.0)
    parts = parts_of(air.grid, ranks)
    exchanges = local_exchanges([part.patterns for part in parts]) if ranks > 1 else [None]
    models = [
        MoistColumns(inputs, backend, each)
        for inputs, each in zip(inputs_of(air, dt, parts), exchanges, strict=True)
    ]
    threads = [
        threading.Thread(target=lambda model=model: [model.step() for _ in range(steps)])
        for model in models
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = np.full((len(NAMES), air.grid.cells, LEVELS), np.nan)
    for model, part in zip(models, parts, strict=True):
        points = part.points[Cell]
        found[:, points.global_ids[: points.owned]] = model.owned()
    return found


@pytest.fixture(scope="module")
def after(air):
    return run(air, 1, STRICT)


def test_water_and_energy_are_conserved(air, after):
    t, vapour, cloud = after

    assert air.water(vapour, cloud) == pytest.approx(air.water(air.vapour, air.cloud), rel=1e-13)
    energy, before = t - HEATING * cloud, air.t - HEATING * air.cloud
    mass = air.grid.cell_areas[:, None] * air.density
    assert (mass * energy).sum() == pytest.approx((mass * before).sum(), rel=1e-13)


def test_clouds_are_saturated_and_clear_air_is_not(air, after):
    t, vapour, cloud = after
    pressure = 610.78 * np.exp(17.2693882 * (t - 273.16) / (t - 35.86))
    most = pressure / (air.density * VAPOUR_GAS * t)
    cloudy = cloud > 1e-12

    assert 0.002 < cloudy.mean() < 0.5
    np.testing.assert_allclose(vapour[cloudy], most[cloudy], rtol=1e-9)
    assert (vapour[~cloudy] <= most[~cloudy] * (1 + 1e-9)).all()
    assert min(vapour.min(), cloud.min()) >= -1e-18


def test_a_rotation_moves_the_wet_region_east(air, after):
    lon = np.arctan2(air.grid.cell_points[:, 1], air.grid.cell_points[:, 0])
    weights = (after[1] + after[2] - air.vapour.min())[:, LEVELS // 2] * air.grid.cell_areas
    _, dt = time_step(air.grid, 1.0)
    expected = 2 * np.pi * STEPS * dt / (12.0 * 86400.0)

    centre = np.angle((weights * np.exp(1j * lon)).sum())

    assert centre == pytest.approx(expected, rel=0.2)


def test_the_wind_has_no_divergence_and_mixing_keeps_the_mass(air):
    grid, wind = air.grid, wind_of(air.grid, LEVELS)
    flux = (wind * grid.edge_lengths[:, None])[grid.tables["C2E"]] * grid.out_of_cell[:, :, None]
    _, dt = time_step(grid, 1.0)
    a, b, c = mixing(air, dt)

    assert np.abs(flux.sum(1)).max() < 1e-9 * np.abs(flux).max()
    matrix = np.diag(b) + np.diag(a[1:], -1) + np.diag(c[:-1], 1)
    np.testing.assert_allclose(air.density @ matrix, air.density, rtol=1e-14)
    np.testing.assert_allclose(matrix.sum(1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_do_not_change_a_bit(air, ranks):
    assert run(air, ranks, STRICT, 5).tobytes() == run(air, 1, STRICT, 5).tobytes()


def test_inputs_of_a_rank_hold_nothing_of_the_whole_sphere(air):
    parts = parts_of(air.grid, 4)
    _, dt = time_step(air.grid, 1.0)
    whole = len(pickle.dumps(next(inputs_of(air, dt, parts_of(air.grid, 1)))))

    for inputs in inputs_of(air, dt, parts):
        cells = len(inputs.part.points[Cell].global_ids)
        assert len(pickle.dumps(inputs)) < whole * 1.3 * cells / air.grid.cells


@pytest.mark.filterwarnings("ignore:.*runs embedded")
def test_compiled_and_embedded_agree(air):
    compiled = run(air, 1, not_optimised(ff.cpu), 2)

    np.testing.assert_allclose(compiled, run(air, 1, None, 2), rtol=1e-9, atol=1e-12)


def test_the_command_says_what_is_conserved_and_draws(tmp_path, monkeypatch):
    monkeypatch.setattr(ff, "cpu", not_optimised(ff.cpu))
    words = ["--level", "2", "--levels", "6", "--days", "1", "--draw", str(tmp_path / "out.png")]

    done = CliRunner().invoke(main, words)

    assert done.exit_code == 0, done.output
    assert "change of water" in done.output
    assert (tmp_path / "out.png").stat().st_size > 10_000
