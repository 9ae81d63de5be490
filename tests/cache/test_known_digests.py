"""Digests of a working copy are believed only for the very same files."""

import os
import time
from pathlib import Path

import pytest

from fieldforge.cache.known_digests import KnownDigests, stamp_of

NAMES = ("stages", "stages/lower.py", "stages/parse.py")
LONG_AGO = 1_000_000_000


@pytest.fixture
def root(tmp_path):
    (tmp_path / "tree" / "stages").mkdir(parents=True)
    (tmp_path / "v1" / "tmp").mkdir(parents=True)
    for name in NAMES[1:]:
        write(tmp_path / "tree" / name, "one")
    os.utime(tmp_path / "tree" / "stages", (LONG_AGO, LONG_AGO))
    return str(tmp_path / "tree")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "v1" / "digests")


def write(file: Path, text: str) -> None:
    file.write_text(text)
    os.utime(file, (LONG_AGO, LONG_AGO))


def keep(root, path, asked, names) -> None:
    stamps = {name: stamp_of(f"{root}/{name}") for name in names}
    KnownDigests(root, path).add(asked, f"digest of {asked}", stamps)


def ask(root, path, asked="lower"):
    return KnownDigests(root, path).digest(asked, time.time_ns())


def test_what_one_process_computed_the_next_one_knows(root, path):
    keep(root, path, "lower", NAMES[:2])
    keep(root, path, "parse", NAMES[::2])

    assert ask(root, path) == "digest of lower"
    assert ask(root, path, "parse") == "digest of parse"
    assert ask(root, path, "codegen") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda file: write(file, "longer"),
        lambda file: os.utime(file, (LONG_AGO, LONG_AGO + 1)),
        lambda file: (
            write(file.with_suffix(".new"), "one"),
            file.with_suffix(".new").replace(file),
        ),
        lambda file: file.unlink(),
        lambda file: write(file.with_name("fuse.py"), "new in the folder"),
    ],
)
def test_a_change_of_a_file_or_its_folder_is_seen(change, root, path):
    keep(root, path, "lower", NAMES[:2])

    change(Path(root) / "stages" / "lower.py")

    assert ask(root, path) is None


def test_files_that_a_digest_was_not_made_of_do_not_count(root, path):
    keep(root, path, "lower", NAMES[:2])

    write(Path(root) / "stages" / "parse.py", "two")

    assert ask(root, path) == "digest of lower"


def test_a_digest_of_older_files_is_not_believed_beside_a_new_one(root, path):
    keep(root, path, "parse", NAMES)
    write(Path(root) / "stages" / "lower.py", "two, and longer")

    keep(root, path, "lower", NAMES[:2])

    assert ask(root, path) == "digest of lower"
    assert ask(root, path, "parse") is None


def test_files_that_may_still_be_edited_are_not_believed(root, path):
    keep(root, path, "lower", NAMES[:2])

    assert KnownDigests(root, path).digest("lower", LONG_AGO * 10**9) is None


def test_a_damaged_file_is_as_good_as_none(root, path):
    keep(root, path, "lower", NAMES[:2])
    content = bytearray(Path(path).read_bytes())
    content[-3] ^= 1
    Path(path).unlink()
    Path(path).write_bytes(content)

    assert ask(root, path) is None


def test_a_folder_that_was_never_made_is_no_error(root, tmp_path):
    path = str(tmp_path / "nowhere" / "digests")

    keep(root, path, "lower", NAMES[:2])

    assert ask(root, path) is None
    assert not (tmp_path / "nowhere").exists()
