"""Renaming a folder above a store, or putting another one there, shows no foreign file."""

import os
import shutil
from pathlib import Path

import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.files import keep_note, read_file, read_note
from fieldforge.runtime.process import make_private, open_folder, settings
from fieldforge.stages.compile.build_folder import build_folder

from ..faults.sample import is_there, keep, key


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder whose name another user may change."""
    (tmp_path / "above").mkdir()
    return tmp_path / "above"


@pytest.fixture
def exchange(place: Path, tmp_path: Path):
    """Let another user exchange the folder for one with a store of his own, with result 2."""

    def deed() -> None:
        keep(Disk(tmp_path / "theirs" / "store"), 2)
        place.rename(tmp_path / "moved")
        (tmp_path / "theirs").rename(place)

    return deed


def test_a_process_goes_on_with_its_own_store(place, exchange, tmp_path):
    disk = Disk(place / "store")
    keep(disk, 1)
    exchange()

    assert is_there(disk, 1)
    assert disk.find(key(2)) is None
    keep(disk, 3)
    with disk.lock(key(4), 0) as mine:
        assert mine

    assert is_there(Disk(tmp_path / "moved" / "store"), 3)
    assert Disk(place / "store").find(key(3)) is None
    assert not (place / "store/v1/lock" / key(4)[:2]).exists()


def test_damaged_files_are_set_aside_in_the_own_store(place, exchange, tmp_path):
    disk = Disk(place / "store")
    keep(disk, 1)
    exchange()
    path = tmp_path / "moved/store/v1/act" / key(1)[:2] / key(1)
    path.unlink()
    path.write_bytes(b"damaged")
    assert disk.find(key(1)) is None
    assert len(os.listdir(tmp_path / "moved/store/v1/bad")) == 1
    assert os.listdir(place / "store/v1/bad") == []


def test_a_file_that_others_own_or_may_write_is_damage(place, monkeypatch):
    disk = Disk(place / "store")
    keep(disk, 1)
    (record,) = (place / "store/v1/act").glob("*/*")
    record.chmod(0o666)
    assert disk.find(key(1)) is None
    keep(disk, 2)
    real = os.fstat

    def foreign(handle: int) -> os.stat_result:
        found = real(handle)
        return os.stat_result((*found[:4], 4242, *found[5:]))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", foreign)
        assert disk.find(key(2)) is None


def test_a_foreign_store_in_place_of_a_deleted_one_is_a_miss(place, events):
    disk = Disk(place / "store", on_event=events)
    keep(disk, 1)
    shutil.rmtree(place / "store")
    keep(Disk(place / "store"), 1)
    (place / "store").chmod(0o777)
    assert disk.find(key(1)) is None
    assert "store.read_failed" in events.names()


def test_a_descriptor_that_other_code_closed_is_opened_again(place, tmp_path):
    disk = Disk(place / "store")
    keep(disk, 1)
    os.close(disk._folder.opened().base.handle)
    other = os.open(tmp_path, os.O_RDONLY)  # takes the number
    try:
        assert is_there(disk, 1)
        keep(disk, 2)
        assert is_there(Disk(place / "store"), 2)
        del disk
        os.fstat(other)  # is still open
    finally:
        os.close(other)


def test_a_note_in_a_folder_that_others_may_write_to_is_not_read(tmp_path):
    keep_note(str(tmp_path / "v1"), "note", b"mine")
    assert read_note(str(tmp_path / "v1/note"), 100) == b"mine"
    (tmp_path / "v1").chmod(0o777)
    with pytest.raises(PermissionError, match="can be written to by others"):
        read_note(str(tmp_path / "v1/note"), 100)
    keep_note(str(tmp_path / "v1"), "note", b"changed")
    assert read_note(str(tmp_path / "v1/note"), 100, None) == b"mine"


def test_builds_stay_in_their_own_folder(place, tmp_path, monkeypatch):
    used = settings.Settings(local_dir=place / "node")
    monkeypatch.setattr(settings, "_current", [used])
    with build_folder() as folder:
        place.rename(tmp_path / "moved")
        Path(folder.lasting_path, "file").write_bytes(b"x")
        assert read_file("file", 10, folder) == b"x"
        with build_folder() as second:
            found = {path.name for path in (tmp_path / "moved/node/build").iterdir()}
            assert found == {Path(folder.path).name, Path(second.path).name}
    assert list((tmp_path / "moved/node/build").iterdir()) == []
    assert not place.exists()


def test_a_private_folder_is_checked_on_its_descriptor(tmp_path):
    folder = make_private(str(tmp_path / "a/b"))
    assert folder.is_current
    (tmp_path / "a/b").rmdir()
    assert not folder.is_current
    (tmp_path / "a").chmod(0o775)
    with pytest.raises(PermissionError, match="mode 0775"):
        make_private(str(tmp_path / "a/b"))
    (tmp_path / "a").chmod(0o755)
    (tmp_path / "a/b").symlink_to(tmp_path)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        make_private(str(tmp_path / "a/b"))
    with pytest.raises(PermissionError, match="belongs to another user"):
        open_folder(str(tmp_path), (os.geteuid() + 1,))


NOBODY = 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_a_folder_or_link_of_another_user_is_refused(tmp_path):
    make_private(str(tmp_path / "a/b"))
    os.chown(tmp_path / "a/b", NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="belongs to another user"):
        make_private(str(tmp_path / "a/b"))
    os.chown(tmp_path / "a", NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="belongs to another user"):
        make_private(str(tmp_path / "a/c"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    os.chown(tmp_path / "link", NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(PermissionError, match="belongs to another user"):
        make_private(str(tmp_path / "link/b"))
