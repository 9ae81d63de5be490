"""`fieldforge cache ...` as a person uses it."""

import pytest
from click.testing import CliRunner

from fieldforge.cache.disk import Disk
from fieldforge.cache.layered import Layered
from fieldforge.cache.memory import Memory
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.engine.engine import Engine, using

from ...faults.sample import SIZE, is_there, keep, key


@pytest.fixture
def disk(engine, own_engine):
    """Give the store of the test with three results."""
    for n in range(3):
        keep(engine.store, n)
    return engine.store


@pytest.fixture
def call():
    def run(*words):
        return CliRunner().invoke(main, ["cache", *map(str, words)], terminal_width=200)

    return run


def test_ls_lists_results_by_program_and_stage(call, disk, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    everything = call("ls").output
    assert all(key(n)[:12] in everything for n in range(3))
    assert key(1)[:12] in call("ls", "--program", "p1").output
    assert key(0)[:12] not in call("ls", "--program", "p1").output
    assert "compile" not in call("ls", "--stage", "lower").output


def test_show_says_what_a_result_was_made_of_and_prints_its_files(call, disk):
    output = call("show", key(1)[:8]).output
    assert "compile of p1" in output
    assert "  n: 1\n" in output
    assert f"out/library.so  {SIZE}" in output
    assert call("show", key(1), "--file", "log.txt").output == "1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "zz"), "No results have a key that begins with 'zz'"),
        (("show", ""), "3 results have a key that begins with ''"),
        (("show", key(1), "--file", "none"), "has no file 'none'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(call, disk, words, said):
    done = call(*words)
    assert done.exit_code == 1
    assert said in done.output
    assert "Traceback" not in done.output


def test_verify_counts_what_is_whole_and_sets_aside_what_is_not(call, disk):
    done = call("verify")
    assert (done.exit_code, "All results are intact." in done.output) == (0, True)
    blob = next((disk.path / "v1/cas").glob("*/*"))
    blob.chmod(0o644)
    blob.write_bytes(b"damaged")
    done = call("verify")
    assert done.exit_code == 1
    assert "1 damaged, 1 incomplete" in done.output
    assert not blob.exists()


def test_gc_spares_what_is_in_use_unless_told(call, disk):
    assert "Dropped 0 results" in call("gc", "--size", "1K").output
    assert "Would drop 3 results" in call("gc", "--size", "1K", "--all", "--dry-run").output
    assert all(is_there(disk, n) for n in range(3))
    assert "Dropped 3 results and 3 files" in call("gc", "--size", "1K", "--all").output
    assert not is_there(disk, 1)


def test_gc_drops_what_was_not_used_for_days(call, disk):
    assert "Dropped 0" in call("gc", "--days", "1").output
    assert "Dropped 3" in call("gc", "--days", "0", "--all").output


def test_stats_count_the_layers_too(call, disk, tmp_path, monkeypatch):
    from fieldforge.workflows.commands import cache as cache_command

    site = Disk(tmp_path / "site")
    keep(site, 9)
    layered = Layered(Memory(), disk, Disk(tmp_path / "site", read_only=True))
    settings = cache_command.current()
    changed = type(settings)(cache_layers=(tmp_path / "site",))
    monkeypatch.setattr(cache_command, "current", lambda: changed)
    monkeypatch.setenv("COLUMNS", "200")
    with using(Engine(layered)):
        output = call("stats").output
    assert str(tmp_path / "site") in output
    assert output.count("MB") == 2


@pytest.mark.parametrize("words", [(), ("--trust",)])
def test_unpack_of_what_is_no_pack_speaks_of_no_key(call, disk, tmp_path, words):
    (tmp_path / "a.ffpack").write_text("junk")

    done = call("unpack", tmp_path / "a.ffpack", *words)

    assert done.exit_code == 1
    assert "is no pack, or it is damaged" in done.output
    assert "key" not in done.output.lower()


def test_without_a_store_on_disk_there_is_nothing_to_work_on(call):
    with using(Engine(Memory())):
        assert "no store on disk" in call("verify").output
