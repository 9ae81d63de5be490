"""Section 12: metrics are kept by source, measured by level, and written as text or JSON."""

import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from fieldforge.runtime.process import current, metrics, set_current
from fieldforge.runtime.process.collectors import make_collector
from fieldforge.runtime.process.metrics import Metric, Source

from ...processes import python


@pytest.fixture(autouse=True)
def own_sources(monkeypatch):
    monkeypatch.setattr(metrics, "sources", metrics._Sources())


def measure(level):
    set_current(attrs.evolve(current(), collect_metrics=level))


@pytest.fixture
def call():
    token = metrics.begin_call()
    yield
    metrics.end_call(token)


def test_levels_are_those_of_the_language():
    names = ("DISABLED", "MINIMAL", "PERFORMANCE", "INFO", "VERBOSE", "ALL")

    assert [getattr(metrics, name) for name in names] == [0, 1, 10, 30, 50, 100]


def test_a_source_is_made_when_it_is_asked_for():
    metrics.sources["p<'cpu'>"].metrics["total"].add_sample(2.0)

    assert metrics.sources["p<'cpu'>"].metrics["total"].samples == [2.0]


def test_threads_that_ask_for_one_source_get_the_same():
    start = threading.Barrier(8)

    def add(_):
        start.wait()
        for _ in range(200):
            metrics.sources["p"].metrics["total"].add_sample(1.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(8)))

    assert len(metrics.sources["p"].metrics["total"].samples) == 1600


def test_statistics_without_samples_are_nan():
    assert math.isnan(Metric().mean)
    assert math.isnan(Metric().std)
    assert str(Metric()) == "no samples"


def test_the_running_call_knows_its_source_once_it_is_said(call):
    assert not metrics.is_current_source_key_set()
    with pytest.raises(RuntimeError, match="No call is running"):
        metrics.get_current_source_key()

    source = metrics.set_current_source_key("p<'cpu'>")

    assert metrics.get_current_source_key() == "p<'cpu'>"
    assert source is metrics.sources["p<'cpu'>"]


def test_a_call_belongs_to_one_source(call):
    metrics.set_current_source_key("p")

    with pytest.raises(RuntimeError, match="belongs to source 'p', got 'q'"):
        metrics.set_current_source_key("q")


def test_a_collector_measures_seconds_by_default(call):
    measure(metrics.MINIMAL)
    metrics.set_current_source_key("p")

    with make_collector(metrics.MINIMAL, "total")():
        pass

    [seconds] = metrics.sources["p"].metrics["total"].samples
    assert 0.0 <= seconds < 60.0


@pytest.mark.parametrize("level", [0, 10])
def test_a_collector_below_its_level_reads_no_counter(level):
    measure(level)

    with make_collector(metrics.INFO, "copies", collect_enter_counter=lambda: 1 / 0)():
        pass

    assert not metrics.sources


def test_the_table_has_a_row_for_each_source_and_a_column_for_each_metric():
    table = metrics.dumps(
        {
            "q": Source(metrics={"total": Metric(samples=[1.0])}),
            "p": Source(metrics={"compute": Metric()}),
        }
    )

    head, first, second = table.splitlines()
    assert head.split() == ["source", "compute", "total"]
    assert first.split() == ["p", "no", "samples", "-"]
    assert second.split()[:3] == ["q", "-", "1.00000e+00"]


def test_json_has_metadata_and_samples(tmp_path):
    metrics.sources["p"].metadata["backend"] = "cpu"
    metrics.sources["p"].metrics["total"].add_sample(0.5)

    metrics.dump_json(tmp_path / "found.json")
    metrics.dump(tmp_path / "found.txt")

    assert json.loads((tmp_path / "found.json").read_text()) == {
        "p": {"metadata": {"backend": "cpu"}, "metrics": {"total": [0.5]}}
    }
    assert (tmp_path / "found.txt").read_text() == metrics.dumps() + "\n"
    assert metrics.dumps_json({}) == "{}"


@pytest.mark.parametrize(
    ("value", "file"),
    [("on", "fieldforge_metrics.json"), ("found.json", "found.json"), ("found.txt", "found.txt")],
)
def test_metrics_are_written_when_the_process_ends(tmp_path, value, file):
    script = (
        "from fieldforge.runtime.process import metrics\n"
        "metrics.sources['p'].metrics['total'].add_sample(0.5)\n"
    )

    python("-c", script, check=True, cwd=tmp_path, env={"FIELDFORGE_DUMP_METRICS": value})

    text = (tmp_path / file).read_text()
    assert json.loads(text)["p"] if file.endswith(".json") else "5.00000e-01" in text
