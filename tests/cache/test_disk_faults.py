"""Whatever call of the system fails, the program goes on and what was stored before is intact."""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.fingerprint import components_key

CAUSES = [
    errno.ENOSPC,
    errno.EIO,
    errno.EACCES,
    errno.EINTR,
    *(
        pytest.param(cause, marks=pytest.mark.in_full)
        for cause in (errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ESTALE, errno.EBUSY)
    ),
]
CALLS = [
    (os, name)
    for name in (
        "open", "read", "write", "close", "fstat", "lstat", "stat", "mkdir", "makedirs",
        "replace", "rename", "unlink", "listdir",
    )
] + [(fcntl, "flock")]  # fmt: skip
OTHER = components_key({"stage": "other"})


class Injector:
    """Counts the calls of the system and lets one of them fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen, self.fail_at, self.cause, self.armed = 0, -1, errno.EIO, False
        for module, name in CALLS:
            monkeypatch.setattr(module, name, self.wrap(getattr(module, name)))
        monkeypatch.setattr(shutil, "rmtree", self.quietly(shutil.rmtree))

    def wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if self.armed:
                self.seen += 1
                if self.seen == self.fail_at:
                    if call.__name__ == "close":
                        call(*args)
                    raise OSError(self.cause, os.strerror(self.cause))
            return call(*args, **kwargs)

        return wrapped

    def quietly(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Leave cleaning up alone: it may fail by design, and then the sweep does it."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            armed, self.armed = self.armed, False
            try:
                return call(*args, **kwargs)
            finally:
                self.armed = armed

        return wrapped

    def run(self, fail_at: int, cause: int, action: Callable[[], Any]) -> int:
        """Do something while the n-th call fails; return how many calls there were."""
        self.seen, self.fail_at, self.cause, self.armed = 0, fail_at, cause, True
        try:
            action()
        finally:
            self.armed = False
        return self.seen


@pytest.fixture
def injector(monkeypatch: pytest.MonkeyPatch) -> Injector:
    return Injector(monkeypatch)


@pytest.mark.parametrize("cause", CAUSES, ids=errno.errorcode.get)
@pytest.mark.parametrize("fresh", [True, False], ids=["first write", "later write"])
def test_whichever_call_of_a_write_fails_nothing_is_lost(cause, fresh, tmp_path, injector, sample):
    call, total = 0, 1
    while call < total:
        call += 1
        root = tmp_path / str(call)
        if not fresh:
            sample.keep(Disk(root), key=OTHER, outputs={"old": {"f": b"o" * 20000}})
        kept: list[Any] = []

        def write(root: Path = root, kept: list[Any] = kept) -> None:
            kept.append(sample.keep(Disk(root)))

        total = max(total, injector.run(call, cause, write))
        assert kept[0].key == sample.key
        again = Disk(root)
        if not fresh:
            assert again.read(again.find(OTHER), "old") == {"f": b"o" * 20000}
        found = again.find(sample.key)
        assert found is None or again.read(found, "compiled") == sample.outputs["compiled"]
        sample.keep(again)
        assert sample.is_in(again)
        assert os.listdir(root / "v1/tmp") == []
    assert total > 15


@pytest.mark.parametrize("cause", CAUSES, ids=errno.errorcode.get)
def test_whichever_call_of_a_read_fails_it_is_a_miss_or_the_truth(
    cause, tmp_path, injector, sample
):
    sample.keep(Disk(tmp_path / "store"))
    call, total = 0, 1
    while call < total:
        call += 1
        answers: list[Any] = []

        def look(answers: list[Any] = answers) -> None:
            store = Disk(tmp_path / "store")
            record = store.find(sample.key)
            answers.append(record and store.read(record, "compiled"))

        total = max(total, injector.run(call, cause, look))
        assert answers[0] in (None, sample.outputs["compiled"])
        assert sample.is_in(Disk(tmp_path / "store"))
    assert total > 10


@pytest.mark.parametrize("cause", CAUSES, ids=errno.errorcode.get)
def test_whichever_call_of_a_quarantine_fails_it_is_a_miss(
    cause, tmp_path, injector, sample, replaced
):
    root = tmp_path / "store"
    sample.keep(Disk(root))
    path = root / "v1/act" / sample.key[:2] / sample.key
    call, total = 0, 1
    while call < total:
        call += 1
        replaced(path, b"damaged")
        answers: list[Any] = []
        total = max(
            total,
            injector.run(call, cause, lambda a=answers: a.append(Disk(root).find(sample.key))),
        )
        assert answers == [None]
    sample.keep(Disk(root))
    assert sample.is_in(Disk(root))


def test_a_cause_is_reported_once(root, disk, sample, events, monkeypatch):
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "makedirs", refuse)
    for _ in range(5):
        sample.keep(disk)
    assert events.names() == ["store.put_failed"]
    assert disk.stats().failed_writes == 5
    assert not root.exists()


def test_a_store_on_a_read_only_disk_still_answers(root, disk, sample, events, monkeypatch):
    sample.keep(disk)

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("mkdir", "makedirs", "replace", "rename", "unlink", "write"):
        monkeypatch.setattr(os, name, refuse)
    store = Disk(root, on_event=events)
    assert sample.is_in(store)
    assert sample.keep(store, key=OTHER).key == OTHER
    assert store.find(OTHER) is None
    assert events.names() == ["store.put_failed"]


def test_a_write_that_the_system_cuts_into_pieces_is_whole(root, disk, sample, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data[:100])))
    sample.keep(disk)
    assert sample.is_in(disk)


def test_a_read_that_the_system_cuts_into_pieces_is_whole(root, disk, sample, monkeypatch):
    sample.keep(disk)
    real = os.read
    monkeypatch.setattr(os, "read", lambda handle, size: real(handle, min(size, 100)))
    assert sample.is_in(disk)
