"""Section 11: settings come from the environment, and a wrong one says what is right."""

import os
from pathlib import Path

import pytest

from fieldforge.runtime.process import Settings, settings
from fieldforge.runtime.process.errors import OptionError


@pytest.fixture
def fresh():
    settings.set_current(None)


def test_11_each_field_is_a_variable():
    found = Settings.from_env(
        {
            "FIELDFORGE_CACHE_DIR": "/scratch/eva",
            "FIELDFORGE_JOBS": "0",
            "FIELDFORGE_DUMP": "lower, codegen,lower",
            "FIELDFORGE_BACKEND": "cpu",
            "FIELDFORGE_CXX": "clang++",
            "FIELDFORGE_ENABLE_JIT": "off",
            "FIELDFORGE_VERBOSE_EXCEPTIONS": "True",
            "FIELDFORGE_LOG": "INFO",
        }
    )

    assert found == Settings(
        cache_dir=Path("/scratch/eva"),
        jobs=0,
        dump=("lower", "codegen"),
        backend="cpu",
        cxx="clang++",
        enable_jit=False,
        verbose_exceptions=True,
        log="info",
    )


def test_11_the_cache_folder_follows_xdg():
    assert Settings.from_env({"XDG_CACHE_HOME": "/xdg"}).cache_dir == Path("/xdg/fieldforge")
    relative = Settings.from_env({"XDG_CACHE_HOME": "xdg", "HOME": "/home/eva"})
    assert relative.cache_dir == Path("/home/eva/.cache/fieldforge")


def test_11_a_backend_of_none_is_embedded():
    assert Settings.from_env({"FIELDFORGE_BACKEND": "none"}).backend is None


@pytest.mark.parametrize("text", ["0", "false", "OFF"])
def test_11_flags_that_are_off(text):
    assert Settings.from_env({"FIELDFORGE_ENABLE_JIT": text}).enable_jit is False


@pytest.mark.parametrize("text", ["1", "True", "on"])
def test_11_flags_that_are_on(text):
    assert Settings.from_env({"FIELDFORGE_VERBOSE_EXCEPTIONS": text}).verbose_exceptions is True


@pytest.mark.parametrize(
    ("variable", "text", "accepted"),
    [
        ("FIELDFORGE_VERBOSE_EXCEPTIONS", "yes", "one of 0, false, off, 1, true, on"),
        ("FIELDFORGE_JOBS", "-1", "a number of jobs, 0 or more"),
        ("FIELDFORGE_JOBS", "²", "a number of jobs, 0 or more"),
        ("FIELDFORGE_DUMP", "lower;codegen", "names separated by commas"),
        ("FIELDFORGE_LOG", "loud", "one of debug, info, warning, error"),
        ("FIELDFORGE_CACHE_DIR", __file__, "a folder"),
    ],
)
def test_11_a_wrong_value_names_the_variable_and_what_is_accepted(variable, text, accepted):
    with pytest.raises(OptionError) as caught:
        Settings.from_env({variable: text})

    assert isinstance(caught.value, ValueError)
    assert f"'{variable}' must be {accepted}" in caught.value.message
    assert f"got '{text}'" in caught.value.message


def test_11_the_environment_is_read_once(fresh, monkeypatch):
    monkeypatch.setenv("FIELDFORGE_JOBS", "3")
    assert settings.current().jobs == 3

    monkeypatch.setenv("FIELDFORGE_JOBS", "4")

    assert settings.current().jobs == 3
    settings.set_current(Settings(jobs=7))
    assert settings.current().jobs == 7
    settings.set_current(None)
    assert settings.current().jobs == 4


def test_11_metrics_have_a_level_and_a_file():
    found = Settings.from_env(
        {"FIELDFORGE_COLLECT_METRICS": "10", "FIELDFORGE_DUMP_METRICS": "on", "HOME": "/home/eva"}
    )

    assert (found.collect_metrics, found.dump_metrics) == (10, Path("fieldforge_metrics.json"))
    assert Settings.from_env({"FIELDFORGE_DUMP_METRICS": "0"}).dump_metrics is None
    assert Settings.from_env({"FIELDFORGE_DUMP_METRICS": "m.txt"}).dump_metrics == Path("m.txt")


def test_11_a_level_of_metrics_that_is_none_is_refused():
    with pytest.raises(OptionError, match="'FIELDFORGE_COLLECT_METRICS' must be one of 0, 1, 10"):
        Settings.from_env({"FIELDFORGE_COLLECT_METRICS": "11"})


def test_11_what_is_measured_is_no_difference_for_builds():
    assert Settings(collect_metrics=10) == Settings(collect_metrics=0)


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("123", 123), ("2k", 2048), ("500M", 500 << 20), ("3T", 3 << 40)]
)
def test_a_size_has_a_unit(text, size):
    assert Settings.from_env({"FIELDFORGE_CACHE_SIZE": text}).cache_size == size


@pytest.mark.parametrize("text", ["G", "1.5G", "-1", "10X", "1 G", "\u0661G"])
def test_a_size_that_is_none_is_refused(text):
    with pytest.raises(OptionError, match="a number of bytes, such as 500M or 20G"):
        Settings.from_env({"FIELDFORGE_CACHE_SIZE": text})


def test_layers_are_separated_as_in_path(tmp_path):
    text = f"{tmp_path}/a:~/b::relative"
    layers = Settings.from_env({"FIELDFORGE_CACHE_LAYERS": text}).cache_layers
    assert layers == (tmp_path / "a", Path.home() / "b", Path.cwd() / "relative")


def test_a_key_is_a_file_that_is_there(tmp_path):
    (tmp_path / "key").write_text("secret")
    variable = {"FIELDFORGE_CACHE_KEY": str(tmp_path / "key")}
    assert Settings.from_env(variable).cache_key == tmp_path / "key"
    with pytest.raises(OptionError, match="a file that holds a secret"):
        Settings.from_env({"FIELDFORGE_CACHE_KEY": str(tmp_path / "none")})


def test_the_local_folder_is_the_user_s_own_among_temporary_files():
    assert Settings.from_env({"TMPDIR": "/scratch"}).local_dir.parent == Path("/scratch")
    assert str(os.getuid()) in Settings.from_env({}).local_dir.name
