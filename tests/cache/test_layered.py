"""Layers are asked in order, and what is found below is remembered above."""

import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.fingerprint import components_key
from fieldforge.cache.layered import Layered
from fieldforge.cache.memory import Memory

OTHER = components_key({"stage": "other"})


def test_a_result_goes_to_the_memory_and_the_first_disk_that_can_be_written(root, tmp_path, sample):
    site = Disk(tmp_path / "site", read_only=True)
    user, third = Disk(root), Disk(tmp_path / "third")
    memory = Memory()
    store = Layered(memory, site, user, third)
    record = sample.keep(store)
    assert memory.find(sample.key) == user.find(sample.key) == record
    assert third.find(sample.key) is None
    assert not (tmp_path / "site").exists()
    assert store.path == root


def test_a_hit_on_disk_is_remembered_in_this_process(root, disk, sample):
    sample.keep(disk)
    memory = Memory()
    store = Layered(memory, Disk(root))
    assert sample.is_in(store)
    assert sample.is_in(memory)


def test_a_hit_in_the_site_s_store_is_copied_to_the_user_s_once_it_is_whole(root, tmp_path, sample):
    site_path = tmp_path / "site"
    outputs = {"a": {"f": b"a" * 20000}, "b": {"f": b"b" * 20000}}
    record = sample.keep(Disk(site_path), outputs=outputs)
    user = Disk(root)
    store = Layered(Memory(), user, Disk(site_path, read_only=True))
    assert store.read(store.find(sample.key), "a") == outputs["a"]
    assert user.find(sample.key) is None
    assert store.read(record, "b") == outputs["b"]
    assert user.find(sample.key) == record
    assert user.read(record, "a") == outputs["a"]


def test_a_damaged_upper_layer_falls_through_to_the_next(root, tmp_path, sample, events):
    site_path = tmp_path / "site"
    sample.keep(Disk(site_path))
    sample.keep(Disk(root))
    (blob,) = (root / "v1/cas").glob("*/*")
    blob.unlink()
    blob.write_bytes(b"damaged")
    store = Layered(Memory(), Disk(root, on_event=events), Disk(site_path, read_only=True))
    assert sample.is_in(store)
    assert "store.corrupt" in events.names()
    assert sample.is_in(Disk(root))  # healed from below


def test_what_is_nowhere_is_not_found(disk, sample):
    store = Layered(Memory(), disk)
    record = sample.keep(Memory())
    assert store.find(sample.key) is None
    assert store.read(record, "compiled") is None
    assert store.blob(OTHER) is None


def test_records_of_all_layers_are_listed_once(root, disk, sample, tmp_path):
    store = Layered(Memory(), disk, Disk(tmp_path / "more"))
    sample.keep(store)
    sample.keep(Disk(tmp_path / "more"), key=OTHER)
    sample.keep(Disk(tmp_path / "more"))
    assert [record.key for record in store.records("compile")] == sorted([sample.key, OTHER])


def test_without_a_disk_the_memory_remembers(sample):
    store = Layered(Memory())
    sample.keep(store)
    assert sample.is_in(store)
    assert store.path is None
    assert store.notes is None
    with store.lock(sample.key) as mine:
        assert not mine
    assert store.stats().records == 1


def test_the_lock_is_that_of_the_written_layer(root, disk, sample, tmp_path):
    store = Layered(Memory(), Disk(tmp_path / "site", read_only=True), disk)
    with store.lock(sample.key) as first, Disk(root).lock(sample.key, limit=0) as second:
        assert (first, second) == (True, False)


def test_a_disk_that_is_full_leaves_the_result_in_memory(disk, sample, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    store = Layered(Memory(), disk)
    sample.keep(store)
    assert sample.is_in(store)
    assert not sample.is_in(disk)


@pytest.mark.parametrize("port", ["compiled", "no such port"])
def test_other_files_are_not_admitted(port, root, sample):
    record = sample.keep(Memory())
    user = Disk(root)
    Layered(Memory(), user).admit(record, port, {"library.so": b"other"})
    assert user.find(sample.key) is None
    assert not root.exists()
