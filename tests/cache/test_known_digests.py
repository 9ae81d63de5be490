"""Digests of a working copy are believed only for the very same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from fieldforge.cache.known_digests import KnownDigests

STAMPS = [("cache/code.py", (10, 20, 30)), ("stages/base.py", (1, 2, 3))]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "tmp").mkdir()
    return str(tmp_path / "digests")


def test_what_one_process_computed_the_next_one_knows(path):
    KnownDigests.read(path, STAMPS).add("stages.lower", "abc")

    assert KnownDigests.read(path, STAMPS).digests == {"stages.lower": "abc"}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_change_of_size_time_or_inode_forgets_everything(path, place):
    KnownDigests.read(path, STAMPS).add("stages.lower", "abc")
    other = [4 if number == place else each for number, each in enumerate((1, 2, 3))]

    found = KnownDigests.read(path, [STAMPS[0], ("stages/base.py", tuple(other))])

    assert found.digests == {}


def test_a_damaged_file_is_as_good_as_none(path):
    KnownDigests.read(path, STAMPS).add("stages.lower", "abc")
    content = bytearray(Path(path).read_bytes())
    content[-3] ^= 1
    Path(path).unlink()
    Path(path).write_bytes(content)

    assert KnownDigests.read(path, STAMPS).digests == {}


def test_a_folder_that_was_never_made_is_no_error(tmp_path):
    known = KnownDigests.read(str(tmp_path / "nowhere" / "digests"), STAMPS)

    known.add("stages.lower", "abc")

    assert known.digests == {"stages.lower": "abc"}
    assert list(tmp_path.iterdir()) == []
