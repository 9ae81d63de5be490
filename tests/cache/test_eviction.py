"""A store keeps to its budget, lets go what was used least recently, and spares what is in use."""

import os
import random
import time
from pathlib import Path

import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.eviction import DAY, HOUR, Budget
from fieldforge.cache.sealed import seal
from fieldforge.cache.store import keep_result

from ..faults.sample import SIZE, content, is_there, is_wrong, keep, key

ONE = SIZE + 1000  # a result with its record, roughly


def age(root: Path, n: int, seconds: float) -> None:
    """Let a result and its file be that old."""
    then = time.time() - seconds
    os.utime(root / "v1/act" / key(n)[:2] / key(n), (then, then))
    for blob in (root / "v1/cas").glob("*/*"):
        if blob.read_bytes() == content(n)["out"]["library.so"]:
            os.utime(blob, (then, then))


@pytest.fixture
def full(root, disk):
    """Make a store of ten results, number 0 the oldest."""
    for n in range(10):
        keep(disk, n)
        age(root, n, (20 - n) * HOUR)
    return disk


def test_the_oldest_go_until_the_budget_is_kept(full):
    pruned = full.prune(Budget(size=5 * ONE))
    assert not any(is_there(full, n) for n in range(5))
    assert all(is_there(full, n) for n in range(6, 10))
    assert pruned.records == pruned.blobs
    assert pruned.size == full.stats().size <= 5 * ONE
    assert 4 * ONE <= pruned.freed <= 6.5 * ONE


def test_what_was_used_last_stays_longest(root, full):
    full.find(key(0))  # a hit marks the record
    full.prune(Budget(size=3 * ONE))
    assert is_there(full, 0)
    assert not is_there(full, 1)


def test_nothing_used_within_the_last_hours_goes_whatever_the_budget(root, full):
    for n in range(5, 10):
        age(root, n, 3 * HOUR)
    full.prune(Budget(size=0, files=0))
    assert [is_there(full, n) for n in range(10)] == [False] * 5 + [True] * 5


def test_a_count_is_a_budget_too(full):
    full.prune(Budget(files=10))
    assert full.stats().records + full.stats().blobs <= 10


def test_what_was_not_used_for_long_goes_even_within_the_budget(root, full):
    age(root, 3, 100 * DAY)
    pruned = full.prune(Budget())
    assert (pruned.records, pruned.blobs) == (1, 1)
    assert not is_there(full, 3)


def test_a_file_that_another_result_names_stays(root, disk):
    keep(disk, 1)
    age(root, 1, 100 * DAY)
    again = keep_result(
        disk, key(2), stage="compile", program="q", components={"n": "2"}, outputs=content(1)
    )
    disk.prune(Budget())
    assert disk.find(key(1)) is None
    assert disk.read(again, "out") == content(1)["out"]


def test_a_file_without_result_goes_once_it_is_old(root, disk):
    for n in (1, 2):
        keep(disk, n)
        (root / "v1/act" / key(n)[:2] / key(n)).unlink()
    old, young = sorted((root / "v1/cas").glob("*/*"))
    os.utime(old, (0, 0))
    assert disk.prune(Budget()).blobs == 1
    assert not old.exists()
    assert young.exists()  # its record may be about to come


def test_a_damaged_record_that_nobody_asks_for_goes(root, disk):
    keep(disk, 1)
    path = root / "v1/act" / key(1)[:2] / key(1)
    path.unlink()
    path.write_bytes(b"damaged")
    assert disk.prune(Budget()).records == 1
    assert not path.exists()


def test_a_dry_run_takes_nothing_away(full):
    would = full.prune(Budget(size=5 * ONE), dry=True)
    assert full.stats().records == 10
    assert full.prune(Budget(size=5 * ONE)) == would


def test_old_locks_failures_logs_and_damaged_files_go_and_young_ones_stay(root, full):
    with full.lock(key(1)):
        pass
    for name in ("bad/old", "bad/young", "log/old", "log/young"):
        (root / "v1" / name).write_bytes(b"x")
    lock = root / "v1/lock" / key(1)[:2] / key(1)
    for path in (lock, root / "v1/bad/old", root / "v1/log/old"):
        os.utime(path, (0, 0))
    full.prune(Budget())
    assert not lock.exists()
    for folder in ("bad", "log"):
        assert os.listdir(root / "v1" / folder) == ["young"]


def test_a_lock_that_is_held_is_not_deleted(root, full):
    with full.lock(key(1)) as mine:
        lock = root / "v1/lock" / key(1)[:2] / key(1)
        os.utime(lock, (0, 0))
        full.prune(Budget())
        with full.lock(key(1), 0.0) as second:
            assert (mine, second) == (True, False)


def test_two_processes_do_not_prune_at_once(full):
    from fieldforge.cache.locks import BuildLock

    with BuildLock(str(full.path / "v1/pruned")).acquire(0):
        assert full.prune(Budget(size=0)).records == 0
    assert full.prune(Budget(size=0)).records == 10


def test_a_store_prunes_itself_as_it_grows_and_keeps_within_a_tenth_of_its_budget(root):
    chance, budget = random.Random(3), Budget(size=20 * ONE, spare=0.0)
    disk = Disk(root, budget=budget)
    largest = 0
    for _ in range(120):
        n = chance.randrange(60)
        assert not is_wrong(disk, n)
        keep(disk, n)
        if chance.random() < 0.2:
            largest = max(largest, disk.stats().size)
    assert 10 * ONE < largest <= 1.1 * budget.size + ONE


def test_a_store_prunes_itself_once_a_day(root, events):
    disk = Disk(root, budget=Budget(), on_event=events)
    for n in range(3):
        keep(disk, n)
    assert events.names() == ["store.pruned"]
    os.utime(root / "v1/pruned", (0, 0))
    keep(disk, 4)
    assert events.names() == ["store.pruned"] * 2


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_lost_files_are_built_again(root, share, events):
    """T19: whatever share of the files is lost, every result comes back and nothing is wrong."""
    disk = Disk(root, on_event=events)
    for n in range(40):
        keep(disk, n)
    blobs = sorted((root / "v1/cas").glob("*/*"))
    lost = random.Random(1).sample(blobs, max(1, int(share * len(blobs))))
    for path in lost:
        path.unlink()
    missing = [n for n in range(40) if not is_there(disk, n)]
    assert len(missing) == len(lost)
    for n in missing:
        keep(disk, n)
    assert all(is_there(Disk(root), n) for n in range(40))


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_wrong_by_an_hour_evicts_nothing_in_use(root, full, monkeypatch, hours):
    """T17: ages are told by the file system's clock, never by comparing with this host's."""
    for n in range(10):
        age(root, n, 3.5 * HOUR)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + hours * HOUR)
    store = Disk(root)
    assert all(is_there(store, n) for n in range(10))
    store.prune(Budget(size=0))
    assert all(is_there(store, n) for n in range(10))


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_wrong_by_an_hour_takes_no_draft_of_another_host(root, disk, hours):
    """T17: drafts of another host go after a day; an hour of difference is far from that."""
    keep(disk, 1)
    draft = root / "v1/tmp/another-host-1-00"
    draft.mkdir()
    then = time.time() + hours * HOUR
    os.utime(draft, (then, then))
    keep(Disk(root), 2)
    assert draft.exists()


def test_another_format_beside_ours_is_neither_read_nor_deleted(root, disk):
    """T18: a later format has a folder of its own."""
    keep(disk, 1)
    theirs = root / "v2/act/ab/record"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"theirs")
    os.utime(theirs, (0, 0))
    assert disk.stats().records == 1
    disk.prune(Budget(size=0, spare=0.0))
    keep(Disk(root), 1)
    assert theirs.read_bytes() == b"theirs"


@pytest.mark.parametrize("kind", ["fieldforge-record-1", "fieldforge-record-3"])
def test_a_record_of_another_version_is_a_miss_and_stays(root, disk, kind, events):
    """T18: sound, but not ours: neither believed, nor set aside, nor evicted with what it names."""
    keep(disk, 1)
    theirs = root / "v1/act" / key(2)[:2] / key(2)
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_bytes(seal(kind, "{}"))
    os.utime(theirs, (0, 0))
    orphan = root / "v1/cas/ab" / ("ab" * 32)
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_bytes(b"theirs")
    os.utime(orphan, (0, 0))
    assert disk.find(key(2)) is None
    disk.prune(Budget(size=0, spare=0.0))
    assert theirs.exists()
    assert orphan.exists()
    assert events.names() == []
    keep(disk, 2)  # the same key in our version: it takes the place
    assert is_there(disk, 2)


def test_two_versions_of_the_tool_share_a_root_and_not_results(root, disk):
    """T18: the toolchain's own sources are in every key."""
    from fieldforge.cache.fingerprint import components_key

    ours, theirs = (components_key({"stage": "lower", "code": code}) for code in ("aa", "bb"))
    for each in (ours, theirs):
        keep_result(
            disk, each, stage="lower", program="p", components={}, outputs={"o": {"f": b"%r"}}
        )
    assert disk.find(ours) != disk.find(theirs)


@pytest.mark.parametrize("dry", [True, False])
def test_a_time_in_the_future_keeps_no_result(root, full, dry):
    for n in range(10):
        age(root, n, -365 * DAY)

    pruned = full.prune(Budget(), dry=dry)

    assert (pruned.records, pruned.blobs) == (10, 10)
    assert is_there(full, 0) is dry


def test_a_time_a_moment_ahead_is_that_of_a_result_in_use(root, full):
    for n in range(10):
        age(root, n, -HOUR)

    assert full.prune(Budget(size=0)).records == 0
