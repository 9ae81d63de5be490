"""`fieldforge doctor` and `fieldforge config`."""

import attrs
import pytest
from click.testing import CliRunner

from fieldforge.runtime.process.settings import Settings
from fieldforge.workflows.commands import health
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.commands.config import rows


@pytest.mark.needs_compiler
def test_doctor_prints_one_line_for_each_look(setting, tmp_path):
    setting(cache_dir=tmp_path / "store")

    told = CliRunner().invoke(main, ["doctor"])

    assert told.exit_code == 0, told.output
    subjects = [line[7:17].strip() for line in told.output.splitlines()]
    assert subjects == [
        "versions", "compiler", "processor", "threads", "cache", "GPU", "MPI", "DaCe"
    ]  # fmt: skip


def test_a_missing_compiler_is_wrong_with_advice(setting):
    setting(cxx="no-such-compiler")

    told = CliRunner().invoke(main, ["doctor"])

    assert told.exit_code == 1
    line = next(line for line in told.output.splitlines() if "compiler" in line)
    assert line.startswith("WRONG")
    assert "FIELDFORGE_CXX" in line


def test_a_look_that_fails_does_not_hide_the_others(monkeypatch):
    def broken():
        raise OSError("no such device")

    monkeypatch.setattr(health, "LOOKS", (broken, health._versions))

    first, second = health.lines()

    assert (first.state, first.found) == ("wrong", "no such device")
    assert second.state == "ok"


def test_config_names_value_and_origin_of_every_setting(tmp_path):
    given = Settings(dump=("lower", "codegen"), cache_dir=tmp_path)
    told = rows(given, {"FIELDFORGE_DUMP": "lower,codegen"})
    found = {name: (value, origin) for name, value, origin in told}

    assert len(found) == len(attrs.fields(Settings)) - 1
    assert found["FIELDFORGE_DUMP"] == ("lower,codegen", "environment")
    assert found["FIELDFORGE_CACHE_DIR"] == (str(tmp_path), "default")
    assert found["FIELDFORGE_CXX"] == ("-", "default")
    assert found["FIELDFORGE_ENABLE_JIT"] == ("1", "default")


def test_config_is_a_command():
    told = CliRunner().invoke(main, ["config"])

    assert told.exit_code == 0, told.output
    assert "FIELDFORGE_CACHE_DIR" in told.output
