"""The store on disk keeps, finds, heals, and never believes what it has not checked."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.fingerprint import components_key, sha256
from fieldforge.runtime.process.errors import StorePermissionError, StoreReadError, StoreWriteError

OTHER = components_key({"stage": "other"})


def everything(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_what_is_kept_is_found_by_another_process_of_the_store(root, disk, sample):
    record = sample.keep(disk)
    again = Disk(root)
    assert again.find(sample.key) == record
    assert again.read(record, "compiled") == sample.outputs["compiled"]
    assert again.find(OTHER) is None
    assert again.read(record, "no such port") is None


def test_nothing_is_made_before_the_first_write(root, disk, sample):
    assert not sample.is_in(disk)
    assert list(disk.records()) == []
    assert disk.stats().records == 0
    assert disk.blob(OTHER) is None
    assert disk.notes is None
    assert not root.exists()


def test_folders_are_private_and_files_cannot_be_written(root, disk, sample):
    old = os.umask(0)
    try:
        sample.keep(disk)
    finally:
        os.umask(old)
    for path in [root, *root.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.is_dir():
            assert mode == 0o700, path
        else:
            assert mode == 0o444, path


def test_the_layout_is_the_one_that_is_written_down(root, disk, sample):
    sample.keep(disk)
    blob = sha256(sample.outputs["compiled"]["library.so"])
    assert {str(path.relative_to(root)) for path in everything(root)} == {
        "v1/CACHEDIR.TAG",
        "v1/store.json",
        f"v1/act/{sample.key[:2]}/{sample.key}",
        f"v1/cas/{blob[:2]}/{blob}",
    }
    assert sorted(os.listdir(root / "v1/tmp")) == []
    assert disk.blob(blob) == sample.outputs["compiled"]["library.so"]


def test_equal_files_are_stored_once(root, disk, sample):
    sample.keep(disk)
    sample.keep(disk, key=OTHER)
    assert disk.stats().records == 2
    assert disk.stats().blobs == 1


def test_an_output_may_be_empty_and_a_result_may_have_none(disk, sample):
    record = sample.keep(disk, outputs={"a": {}, "b": {"empty": b""}})
    assert disk.read(record, "a") == {}
    assert disk.read(disk.find(sample.key), "b") == {"empty": b""}
    assert sample.keep(disk, key=OTHER, outputs={}) == disk.find(OTHER)


def test_every_truncation_and_bit_flip_of_a_record_is_a_miss_and_heals(
    disk, sample, record_path, events, *, flipped, replaced
):
    content = record_path.read_bytes()
    faults = 0
    for size in range(0, len(content), 7):
        replaced(record_path, content[:size])
        assert disk.find(sample.key) is None
        faults += 1
    for bit in range(0, 8 * len(content), 5):
        flipped(record_path, bit, content)
        assert disk.find(sample.key) is None
        faults += 1
    assert not record_path.exists()
    assert events.names() == ["store.corrupt"] * faults
    assert disk.stats().corrupt == faults
    sample.keep(disk)
    assert sample.is_in(disk)


def test_every_truncation_and_bit_flip_of_a_blob_is_a_miss_and_heals(
    disk, sample, blob_path, events, *, flipped, replaced
):
    content = blob_path.read_bytes()
    for size in range(0, len(content), 97):
        replaced(blob_path, content[:size])
        assert not sample.is_in(disk)
    for bit in range(0, 8 * len(content), 101):
        flipped(blob_path, bit, content)
        assert not sample.is_in(disk)
    replaced(blob_path, content + b"\0")
    assert not sample.is_in(disk)
    replaced(blob_path, b"\0" * len(content))
    assert not sample.is_in(disk)
    assert set(events.names()) == {"store.corrupt"}
    sample.keep(disk)
    assert sample.is_in(disk)


def test_a_damaged_blob_of_the_same_size_is_written_again(disk, sample, blob_path, flipped):
    flipped(blob_path, 3, blob_path.read_bytes())
    sample.keep(disk)
    assert sample.is_in(disk)


def test_a_damaged_file_is_set_aside_and_reported(
    root, disk, sample, blob_path, events, *, flipped
):
    flipped(blob_path, 3, blob_path.read_bytes())
    disk.read(disk.find(sample.key), "compiled")
    (kept,) = (root / "v1/bad").iterdir()
    assert kept.name.startswith(blob_path.name)
    ((name, facts),) = [event for event in events if event[0] != "store.kept"]
    assert name == "store.corrupt"
    assert facts["path"] == str(blob_path)
    assert isinstance(facts["error"], StoreReadError)


def test_damaged_files_do_not_pile_up(root, disk, sample, record_path, replaced):
    for _ in range(80):
        replaced(record_path, b"nonsense")
        assert disk.find(sample.key) is None
    assert len(os.listdir(root / "v1/bad")) == 64
    assert not record_path.exists()


def test_a_missing_blob_is_a_miss_and_heals(disk, sample, blob_path, events):
    blob_path.unlink()
    record = disk.find(sample.key)
    assert disk.read(record, "compiled") is None
    assert events.names() == ["store.blob_missing"]
    sample.keep(disk)
    assert sample.is_in(disk)


def test_a_record_under_the_name_of_another_is_refused(root, disk, sample, record_path):
    stray = root / "v1/act" / OTHER[:2] / OTHER
    stray.parent.mkdir(exist_ok=True)
    record_path.rename(stray)
    assert disk.find(OTHER) is None
    assert not stray.exists()


@pytest.mark.parametrize("which", ["record_path", "blob_path"])
def test_a_link_in_place_of_a_file_is_refused(which, request, disk, sample, tmp_path, *, events):
    path = request.getfixturevalue(which)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert not sample.is_in(disk)
    assert events.names() == ["store.corrupt"]
    assert elsewhere.exists()
    sample.keep(disk)
    assert sample.is_in(disk)
    assert not path.is_symlink()


@pytest.mark.parametrize("which", ["record_path", "blob_path"])
def test_a_pipe_or_folder_in_place_of_a_file_is_refused(which, request, disk, sample):
    path = request.getfixturevalue(which)
    path.unlink()
    os.mkfifo(path)
    assert not sample.is_in(disk)
    path.mkdir()
    assert not sample.is_in(disk)
    sample.keep(disk)
    assert sample.is_in(disk)


@pytest.mark.parametrize("folder", ["act", "cas", "tmp", "lock", "bad"])
def test_a_folder_that_is_a_link_is_refused(folder, root, disk, sample, tmp_path):
    sample.keep(disk)
    (root / "v1" / folder).rename(tmp_path / "moved")
    (root / "v1" / folder).symlink_to(tmp_path / "moved")
    with pytest.raises(StorePermissionError, match="is a link"):
        Disk(root)


def test_the_root_itself_may_be_a_link_to_another_disk(root, sample, tmp_path):
    (tmp_path / "scratch").mkdir(mode=0o700)
    root.symlink_to(tmp_path / "scratch")
    sample.keep(Disk(root))
    assert sample.is_in(Disk(root))


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o777, 0o1777])
@pytest.mark.parametrize("part", ["", "v1", "v1/act", "v1/cas", "v1/tmp"])
def test_a_store_that_others_may_write_to_is_refused(part, mode, root, disk, sample):
    sample.keep(disk)
    (root / part).chmod(mode)
    with pytest.raises(StorePermissionError, match="written to by others") as caught:
        Disk(root)
    assert "chmod go-w" in str(caught.value)


def test_an_open_folder_is_refused_at_the_first_write_too(root, sample):
    root.mkdir()
    root.chmod(0o777)
    with pytest.raises(StorePermissionError):
        sample.keep(Disk(root))
    assert os.listdir(root) == []


def test_a_store_of_somebody_else_is_refused(root, disk, sample, monkeypatch):
    sample.keep(disk)
    monkeypatch.setattr(os, "geteuid", lambda: root.stat().st_uid + 1)
    with pytest.raises(StorePermissionError, match="belongs to user"):
        Disk(root)
    assert sample.is_in(Disk(root, owners=(root.stat().st_uid,)))


def test_a_store_that_others_may_read_is_accepted(root, disk, sample):
    sample.keep(disk)
    root.chmod(0o755)
    assert sample.is_in(Disk(root))


def test_a_read_only_store_finds_and_never_writes(root, disk, sample, replaced, record_path):
    before = everything(root)
    store = Disk(root, read_only=True)
    assert sample.is_in(store)
    sample.keep(store, key=OTHER)
    assert store.find(OTHER) is None
    with store.lock(OTHER) as mine:
        assert not mine
    assert store.notes is None
    assert not store.writable
    replaced(record_path, b"damaged")
    assert store.find(sample.key) is None
    assert everything(root) == before


@pytest.mark.parametrize("key", ["", "../../../etc/passwd", "0" * 63, "0" * 64 + "/x"])
def test_keys_that_are_no_keys_are_misses(key, disk, sample):
    sample.keep(disk)
    assert disk.find(key) is None
    assert disk.blob(key) is None
    with disk.lock(key) as mine:
        assert not mine


def test_records_are_listed_by_stage_and_program_sorted_by_key(disk, sample):
    keys = [components_key({"n": str(n)}) for n in range(6)]
    for n, key in enumerate(keys):
        sample.keep(disk, key=key, stage=("lower", "compile")[n % 2], program=f"p{n // 2}")
    assert [record.key for record in disk.records()] == sorted(keys)
    assert {record.key for record in disk.records(stage="lower")} == set(keys[::2])
    assert {record.key for record in disk.records(program="p1")} == set(keys[2:4])
    assert [r.key for r in disk.records("compile", "p2")] == [keys[5]]


def test_a_damaged_record_is_not_listed(disk, sample, record_path, replaced):
    replaced(record_path, b"damaged")
    assert list(disk.records()) == []


def test_deleting_the_whole_store_under_a_process_loses_only_time(root, disk, sample):
    sample.keep(disk)
    shutil.rmtree(root)
    assert not sample.is_in(disk)
    sample.keep(disk)
    assert sample.is_in(disk)


def test_a_store_that_another_process_made_anew_is_found_again(root, disk, sample):
    sample.keep(disk)
    shutil.rmtree(root)
    sample.keep(Disk(root))
    assert sample.is_in(disk)


def test_drafts_of_killed_processes_are_swept_and_those_in_use_are_not(root, disk, sample, events):
    sample.keep(disk)
    tmp = root / "v1/tmp"
    left = tmp / f"{os.uname().nodename}-1-00"
    elsewhere = tmp / "another-host-1-00"
    for folder in (left, elsewhere):
        folder.mkdir()
        (folder / "draft").write_bytes(b"half")
    sample.keep(Disk(root, on_event=events))
    assert os.listdir(tmp) == [elsewhere.name]
    os.utime(elsewhere, (0, 0))
    sample.keep(Disk(root, on_event=events))
    assert os.listdir(tmp) == []
    assert events.names() == ["store.swept", "store.swept"]


def test_figures_count_what_was_asked(disk, sample):
    disk.find(sample.key)
    sample.keep(disk)
    disk.find(sample.key)
    stats = disk.stats()
    assert (stats.hits, stats.misses, stats.kept, stats.failed_writes) == (1, 1, 1, 0)
    assert stats.size > len(sample.outputs["compiled"]["library.so"])


def test_durable_writes_are_flushed_before_they_appear(root, disk, sample, monkeypatch):
    sample.keep(disk, key=OTHER, outputs={"old": {"f": b"o" * 20000}})
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_size))
    sample.keep(Disk(root, durable=True))
    sizes = [path.stat().st_size for folder in ("cas", "act") for path in written(root, folder)]
    assert len(flushed) == 2
    assert set(flushed) < set(sizes)


def written(root: Path, folder: str) -> list[Path]:
    return sorted((root / "v1" / folder).glob("*/*"))


def test_a_write_error_is_typed(root, disk, sample, events, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    record = sample.keep(disk)
    assert record.key == sample.key
    ((name, facts),) = events
    assert name == "store.put_failed"
    assert facts["cause"] == "ENOSPC"
    assert isinstance(facts["error"], StoreWriteError)
