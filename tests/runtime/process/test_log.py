"""Logging is silent and free until somebody listens."""

import pytest
import structlog

from fieldforge.runtime.process import Settings, get_logger, settings

from ...processes import python


@pytest.fixture(autouse=True)
def silent():
    settings.set_current(Settings(log=None))
    yield
    structlog.reset_defaults()


def test_nothing_is_printed_by_default(capfd):
    get_logger("cache").error("store.failed", key="abc")

    assert capfd.readouterr() == ("", "")


def test_structlog_is_not_imported_while_nobody_listens():
    script = (
        "import sys; from fieldforge.runtime.process.log import get_logger; "
        "from fieldforge.runtime.process.settings import Settings, set_current; "
        "set_current(Settings()); "
        "get_logger().info('stage.finished'); assert 'structlog' not in sys.modules"
    )

    python("-c", script, check=True)


def test_events_from_the_level_on_are_printed_to_stderr(capsys):
    settings.set_current(Settings(log="warning"))
    log = get_logger("cache").bind(program="lap")

    log.info("store.hit")
    log.warning("store.damaged", key="abc")

    out, err = capsys.readouterr()
    assert out == ""
    assert "store.hit" not in err
    assert "event='store.damaged'" in err
    assert "program='lap'" in err
    assert "key='abc'" in err
    assert not structlog.is_configured()


def test_a_configured_structlog_receives_every_event():
    structlog.configure(processors=[structlog.testing.LogCapture()])
    captured = structlog.get_config()["processors"][0]

    get_logger("cache").debug("store.hit", key="abc")

    assert captured.entries == [
        {"event": "store.hit", "key": "abc", "logger": "cache", "log_level": "debug"}
    ]
