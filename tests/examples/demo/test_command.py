"""The command `fieldforge demo`: the job is done, by the backend that it says, and only once."""

import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.examples.demo import command, measure
from fieldforge.examples.demo.command import demo
from fieldforge.examples.terrain import hills
from fieldforge.runtime import gpu
from fieldforge.runtime.process import settings

from ...selection import not_optimised


@pytest.fixture
def terrain(tmp_path):
    path = tmp_path / "terrain.npy"
    np.save(path, hills(48, 32))
    return path


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FIELDFORGE_CACHE_DIR", str(tmp_path / "cache"))
    settings.set_current(None)


@pytest.fixture(autouse=True)
def measured_once(monkeypatch):
    """No test looks at the times that the command measures."""
    monkeypatch.setattr(measure, "ROUNDS", 1)


@pytest.fixture
def no_picture(monkeypatch):
    """One test looks at the picture; drawing it takes longer than the job."""
    monkeypatch.setattr(command, "draw", lambda *_: None)


def run(path, *options):
    arguments = ["--input", str(path), "--spacing", "90", "--output", str(path.parent / "out.png")]
    return CliRunner().invoke(demo, [*arguments, *options], env={"COLUMNS": "120"})


@pytest.mark.needs_compiler
def test_the_cpu_backend_runs_by_default_and_the_job_is_done(terrain, cache):
    result = run(terrain)

    assert result.exit_code == 0, result.output
    lines = {line.split("│")[1].strip(): line for line in result.output.splitlines() if "│" in line}
    assert " cpu " in lines["backend"]
    steepest = float(lines["steepest slope before, after"].split("->")[1].split()[0])
    assert steepest <= 0.5
    assert "0.0e+00 m" in lines["largest difference from it"]
    assert (terrain.parent / "out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.needs_compiler
def test_a_second_run_rebuilds_nothing_and_says_so(terrain, cache, no_picture, monkeypatch):
    monkeypatch.setitem(command.BACKENDS, "cpu", not_optimised(ff.cpu))
    first, second = run(terrain), run(terrain)

    assert "Build: ran" in first.output
    assert "Build: nothing was rebuilt" in second.output


@pytest.mark.in_full
@pytest.mark.needs_compiler
@pytest.mark.needs_dace
def test_dace_does_the_job_with_the_bits_of_embedded_execution(terrain, cache):
    result = run(terrain, "--backend", "dace_cpu")

    assert result.exit_code == 0, result.output
    assert "0.0e+00 m" in result.output


def test_without_a_compiler_it_says_so_and_is_interpreted(terrain, cache, no_picture, monkeypatch):
    monkeypatch.setenv("FIELDFORGE_CXX", "no-such-compiler")
    backend = ff.recipes.cpu()
    monkeypatch.setitem(command.BACKENDS, "cpu", backend)

    result = run(terrain, "--max-slope", "2.0")

    assert result.exit_code == 0, result.output
    assert "no-such-compiler" in result.output
    assert "Running on the first tier" in result.output
    assert "0.0e+00 m" in result.output


def test_no_compiler_is_needed(terrain, cache, no_picture, monkeypatch):
    monkeypatch.setenv("FIELDFORGE_CXX", "no-such-compiler")

    result = run(terrain, "--no-compiler", "--max-slope", "2.0")

    assert result.exit_code == 0, result.output
    assert "no-such-compiler" not in result.output
    assert "0.0e+00 m" in result.output


@pytest.mark.needs_compiler
def test_a_compile_that_fails_is_an_error_not_a_fallback(terrain, cache, monkeypatch):
    broken = ff.recipes.cpu(flags=("-fno-such-flag",))
    monkeypatch.setitem(command.BACKENDS, "cpu", broken)

    result = run(terrain)

    assert result.exit_code == 1
    assert "CompilationError" in result.output
    assert "-fno-such-flag" in result.output
    assert "embedded" not in result.output


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"rubbish", "Cannot read 'terrain.npy' as an elevation array"), (None, "There is no file")],
)
def test_bad_input_ends_in_one_sentence(terrain, cache, content, message):
    if content is None:
        terrain.unlink()
    else:
        terrain.write_bytes(content)

    result = run(terrain)

    assert result.exit_code == 1
    assert "InputDataError" in result.output
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_input_needs_spacing(terrain, cache):
    result = CliRunner().invoke(demo, ["--input", str(terrain)])

    assert result.exit_code == 2
    assert "--spacing" in result.output


def test_simulated_devices_do_not_run_the_backend_of_gpus(terrain, cache):
    with gpu.use_platform("null"):
        result = run(terrain, "--backend", "gpu")

    assert result.exit_code == 2
    assert "do not run backend 'gpu'. Give '--backend gpu-host'" in result.output
