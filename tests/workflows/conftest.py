"""A clean count of runs for each test, and a store and engine of its own."""

import pytest
from click.testing import CliRunner

from fieldforge.cache.disk import Disk
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.engine.engine import Engine, using
from fieldforge.workflows.engine.events import Collector

from .stand_ins import RUNS


@pytest.fixture(autouse=True)
def clean_counts():
    RUNS.clear()


@pytest.fixture
def seen():
    return Collector()


@pytest.fixture
def engine(tmp_path, seen):
    return Engine(Disk(tmp_path / "store"), observers=[seen])


@pytest.fixture
def own_engine(engine):
    """Let decorated functions build through the engine of the test."""
    with using(engine):
        yield engine


@pytest.fixture
def call(own_engine):
    """Return a function that runs `fieldforge` with words."""
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])
