"""Numbers of the machine: kept in a file of the node, read once, given to generated code."""

import json

import pytest

from fieldforge.runtime import _core
from fieldforge.runtime.calls import machine

USUAL = 12 << 20
CACHE = 32 << 20


@pytest.fixture
def told(monkeypatch, tmp_path, setting):
    """Return what the core was told; the store is a folder of its own."""
    heard = []
    monkeypatch.setattr(_core, "set_machine", lambda *numbers: heard.append(numbers))
    monkeypatch.setattr(machine, "_told", [])
    setting(cache_dir=tmp_path)
    monkeypatch.setattr(_core, "default_threads", lambda: 2)
    monkeypatch.setattr(machine, "shared_cache", lambda: CACHE)
    return heard


def test_what_was_written_is_told_now_and_in_the_next_process(told):
    path = machine.machine_file()
    machine.write_machine(path, {"stream_from": 5, "parallel_from": 7, "bandwidth": 9})
    machine.use_machine()
    machine.use_machine()  # reads no file again

    assert told == [(CACHE, 9, 5, 7)] * 2
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "{", '{"stream_from": "much"}', '{"stream_from": -1}', '{"bandwidth": true}'],
)
def test_a_file_that_makes_no_sense_leaves_the_defaults(told, text):
    path = machine.machine_file()
    path.parent.mkdir()
    path.write_text(text)

    machine.use_machine()

    assert told == [(CACHE, 0, USUAL, 0)]


def test_without_a_file_the_defaults_stay(told):
    machine.use_machine()

    assert told == [(CACHE, 0, USUAL, 0)]


def test_more_threads_keep_more_in_their_caches(told, monkeypatch):
    monkeypatch.setattr(_core, "default_threads", lambda: 16)
    machine.use_machine()

    assert told == [(CACHE, 0, 2 * USUAL, 0)]


@pytest.mark.parametrize(("text", "bytes_"), [("32768K\n", 32 << 20), ("much", 0), ("", 0)])
def test_the_shared_cache_is_what_the_system_says(tmp_path, text, bytes_):
    file = tmp_path / "size"
    file.write_text(text)

    assert machine.shared_cache(file) == bytes_


def test_a_file_may_know_the_shared_cache_better(told):
    machine.write_machine(machine.machine_file(), {"shared_cache": 5})

    assert told == [(5, 0, USUAL, 0)]


def test_processors_have_a_file_each(told):
    names = ["AMD EPYC 9654 x 16", "Intel(R) Xeon(R) x 16"]
    files = [machine.machine_file(name).name for name in names]

    assert files == ["AMD-EPYC-9654-x-16.json", "Intel-R-Xeon-R-x-16.json"]
    assert json.dumps(machine.processor())
