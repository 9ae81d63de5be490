"""Shallow water: what it conserves, that nothing compiles in its loop, and who set its options."""

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.examples import shallow_water_cartesian as example
from fieldforge.workflows.backends.backend import BACKENDS
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.engine.policy import NotStoredError
from fieldforge.workflows.options.database import database
from fieldforge.workflows.options.schema import schema_of

from ..selection import not_optimised

SMALL = example.Plane2D(nx=20, ny=16, dx=2.0e4, dt=60.0)
compiled = pytest.mark.needs_compiler


def built(grid=SMALL, backend="cpu", **changes):
    if changes.get("boundary") == "walls" and backend == "cpu":
        backend = not_optimised(BACKENDS["cpu"])  # the periodic plane is optimised
    model = example.ShallowWater(attrs.evolve(grid, **changes), backend)
    model.build()
    return model


@compiled
@pytest.mark.parametrize("boundary", ["periodic", "walls"])
def test_mass_is_conserved_to_rounding(boundary):
    model = built(boundary=boundary)
    before = model.mass()

    model.run(100)

    assert abs(model.mass() / before - 1.0) < 1e-13
    assert not np.array_equal(model.now.h.asnumpy(), built(boundary=boundary).now.h.asnumpy())


@compiled
@pytest.mark.parametrize("boundary", ["periodic", pytest.param("walls", marks=pytest.mark.in_full)])
def test_energy_is_conserved_to_the_order_of_the_time_steps(boundary):
    def drift(steps):
        model = built(boundary=boundary, dt=4800.0 / steps)
        before = model.total_energy()
        model.run(steps)
        return abs(model.total_energy() / before - 1.0)

    coarse, fine = drift(80), drift(160)

    assert fine < 1e-6
    assert coarse > 6.0 * fine  # of order three: eight times


@compiled
@pytest.mark.parametrize("boundary", ["periodic", "walls"])
def test_compiled_steps_are_the_embedded_ones(boundary):
    one, other = (built(boundary=boundary, backend=backend) for backend in ("cpu", None))

    for model in (one, other):
        model.run(3)

    for name in ("h", "u", "v"):
        found, expected = (getattr(m.now, name).asnumpy() for m in (one, other))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@compiled
def test_walls_let_nothing_through():
    model = built(boundary="walls")

    model.run(50)

    u, v = model.now.u.asnumpy(), model.now.v.asnumpy()
    assert not u[[1, -1]].any()
    assert not v[:, [1, -1]].any()
    assert np.abs(u[2:-1]).max() > 0.0


@compiled
def test_nothing_compiles_in_the_loop():
    model = built()

    with model.plan.loop() as report:
        model.recorded()
        model.total_energy()
        model.courant()
        operator = example.tendencies.with_backend("cpu")
        out = tuple(ff.zeros({example.I: 4, example.J: 4}) for _ in range(3))
        with pytest.raises(NotStoredError, match="'tendencies' is not in the store"):
            operator(**attrs.asdict(model.now), f=0.0, g=1.0, dx=1.0, out=out)

    assert report.count == 0
    assert model.plan.check() == ()


@pytest.mark.parametrize("program", ["advance", "fill", "energy", "wave_speed"])
def test_every_option_of_every_program_is_explained(program):
    words = ["options", "show", f"{example.__file__}:{program}", "--why"]
    result = CliRunner().invoke(main, [*words, "--file", str(example.OPTIONS)])
    shown = result.output
    found = database().effective(BACKENDS["cpu"], f"shallow_water_cartesian:{program}")

    assert result.exit_code == 0, shown
    for option in schema_of(BACKENDS["cpu"]).options:
        assert option.name in shown
    origins = {setting.option.name: str(setting.origin) for setting in found}
    assert all(origins.values())
    lines = {"advance": 7, "fill": 12}
    if program in lines:
        assert origins["codegen.parallel_from"] == f"{example.OPTIONS.resolve()}:{lines[program]}"
        assert f"shallow_water_cartesian.toml:{lines[program]}" in shown.replace("\n", "")


def test_no_entry_of_the_file_is_unused():
    words = ["options", "check", str(example.OPTIONS), example.__file__]

    result = CliRunner().invoke(main, words)

    assert result.exit_code == 0, result.output
    assert "2 of 2 entries are used." in result.output
