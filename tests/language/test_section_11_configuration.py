"""Section 11: the configuration under gt4py's names, which may be read, set and patched."""

import warnings
from pathlib import Path
from unittest import mock

import pytest

from fieldforge import config
from fieldforge.errors import OptionError
from fieldforge.runtime.process.settings import Settings, current, set_current


@pytest.fixture(autouse=True)
def own_settings():
    set_current(Settings.from_env({"HOME": "/home/eva"}))


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("DEBUG", False),
        ("VERBOSE_EXCEPTIONS", False),
        ("ADD_GPU_TRACE_MARKERS", False),
        ("COLLECT_METRICS_LEVEL", 0),
        ("DUMP_METRICS_AT_EXIT", None),
        ("ENABLE_JIT_DEFAULT", True),
        ("UNSTRUCTURED_HORIZONTAL_HAS_UNIT_STRIDE", False),
        ("BUILD_CACHE_DIR", Path("/home/eva/.cache/fieldforge")),
    ],
)
def test_11_defaults(name, default):
    assert getattr(config, name) == default


@pytest.mark.parametrize(
    ("name", "value", "setting"),
    [
        ("BUILD_CACHE_DIR", "/scratch", ("cache_dir", Path("/scratch"))),
        ("BUILD_JOBS", 0, ("jobs", 0)),
        ("ENABLE_JIT_DEFAULT", False, ("enable_jit", False)),
        ("VERBOSE_EXCEPTIONS", True, ("verbose_exceptions", True)),
        ("COLLECT_METRICS_LEVEL", 10, ("collect_metrics", 10)),
        ("DUMP_METRICS_AT_EXIT", "m.json", ("dump_metrics", Path("m.json"))),
        ("DUMP_METRICS_AT_EXIT", True, ("dump_metrics", Path("fieldforge_metrics.json"))),
    ],
)
def test_11_an_assignment_reaches_the_settings(monkeypatch, name, value, setting):
    before = getattr(config, name)

    with monkeypatch.context() as patched:
        patched.setattr(config, name, value)
        assert getattr(current(), setting[0]) == getattr(config, name) == setting[1]

    assert getattr(config, name) == before


def test_11_mock_patches_it_too():
    with mock.patch.object(config, "COLLECT_METRICS_LEVEL", 100):
        assert current().collect_metrics == 100

    assert current().collect_metrics == 0


def test_11_what_has_no_effect_says_so_to_the_caller():
    with pytest.warns(UserWarning, match=r"'config.DEBUG' has no effect") as seen:
        config.DEBUG = True

    assert seen[0].filename == __file__
    assert config.DEBUG is False


def test_11_setting_what_is_the_case_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.BUILD_CACHE_LIFETIME = config.BuildCacheLifetime.PERSISTENT
        config.CMAKE_BUILD_TYPE = config.CMakeBuildType.RELEASE


def test_11_a_level_that_is_none_is_refused():
    with pytest.raises(OptionError, match="must be one of 0, 1, 10, 30, 50, 100, got '11'"):
        config.COLLECT_METRICS_LEVEL = 11


def test_11_an_unknown_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'BUILD_CASH_DIR'"):
        _ = config.BUILD_CASH_DIR
