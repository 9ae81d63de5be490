"""Let one process of a node build while the others wait; a lock saves work and proves nothing.

The lock is a `flock` on a private descriptor, closed on exec: the kernel frees it when its holder
dies. A forked child of the holder keeps the lock; then the holder's name in the file tells that the
holder has ended, and a waiter deletes the file. The file stays when the lock is released. A process
that gets the lock checks that the file still has its name, so deleting the file breaks nothing.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from ..runtime.process import CompilationError, Folder, classes
from .files import handle_of, is_same_file, make_folders, read_file
from .store import OnEvent, Store, ignore

_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.02  # a killed holder is noticed within this time
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@classes.frozen
class Owner:
    """The holder of a lock; `started` and `space` reveal a process number that is used again."""

    host: str
    pid: int
    what: str
    started: str = ""
    space: str = ""

    @classmethod
    def of_this_process(cls, what: str) -> Owner:
        """Describe the process that asks."""
        pid = os.getpid()
        return cls(os.uname().nodename, pid, what, _start_of(pid), _space())

    def is_gone(self) -> bool:
        """Tell whether the process has surely ended; False if this host cannot see it."""
        if not self.started or (self.host, self.space) != (os.uname().nodename, _space()):
            return False
        return _start_of(self.pid) != self.started

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} ({self.what})"


@classes.frozen
class BuildLock:
    """The right to build one thing, among the processes of a node.

    Attributes:
        name: the file of the lock, relative to `folder`; without a folder, its path.
        on_event: told of waits and of locks that are taken over.
        folder: the open folder of a store.

    """

    name: str
    on_event: OnEvent = ignore
    folder: Folder | None = None

    @property
    def path(self) -> str:
        """The path of the file, for messages."""
        return os.path.join(self.folder.path, self.name) if self.folder else self.name

    @contextmanager
    def acquire(self, limit: float = 120.0, what: str = "") -> Iterator[bool]:
        """Wait up to `limit` seconds and give whether the lock is held; never fails.

        A caller that gets False builds privately: the wait was too long, or this file system has
        no locks.
        """
        handle = self._obtain(limit, what)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                _give_back(handle)

    def owner(self) -> Owner | None:
        """Return the holder of the lock, or the last one; None if the file does not tell."""
        try:
            facts = json.loads(read_file(self.name, 4096, self.folder))
            return Owner(
                str(facts["host"]), int(facts["pid"]), str(facts["what"]),
                str(facts.get("started", "")), str(facts.get("space", "")),
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def _obtain(self, limit: float, what: str) -> int | None:
        started = time.monotonic()
        pause, waits = _FIRST_PAUSE, False
        suspect: Owner | None = None
        while True:
            try:
                handle = self._try()
            except OSError as error:
                cause = errno.errorcode.get(error.errno or 0, "unknown")
                self.on_event("lock.unavailable", path=self.path, cause=cause)
                return None
            waited = time.monotonic() - started
            if handle is not None:
                _sign(handle, what)
                if waits:
                    self.on_event("lock.obtained", path=self.path, seconds=waited)
                return handle
            if waited >= limit:
                self._report("lock.timed_out", seconds=waited)
                return None
            if not waits:
                waits = True
                self._report("lock.awaited")
            suspect = self._suspect(suspect)
            if suspect is not None:
                pause = _FIRST_PAUSE
            time.sleep(min(pause, max(limit - waited, 0.0)))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _suspect(self, before: Owner | None) -> Owner | None:
        """Return a holder that has ended; the second time, take its file away.

        Between the two looks, a new holder has had the time to write its own name.
        """
        owner = self.owner()
        if owner is None or not owner.is_gone():
            return None
        if owner == before:
            self.on_event("lock.taken_over", path=self.path, owner=str(owner))
            with suppress(OSError):
                os.unlink(self.name, dir_fd=handle_of(self.folder))
        return owner

    def _report(self, name: str, **facts: Any) -> None:
        self.on_event(name, path=self.path, owner=str(self.owner() or "unknown"), **facts)

    def _try(self) -> int | None:
        """Take the lock if it is free; the lock of a deleted file does not count."""
        handle = self._open()
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_same_file(handle, self.name, self.folder):
                return handle
        except BlockingIOError:
            pass
        except BaseException:
            _close(handle)
            raise
        _close(handle)
        return None

    def _open(self) -> int:
        at = handle_of(self.folder)
        try:
            return os.open(self.name, _FLAGS, 0o600, dir_fd=at)
        except FileNotFoundError:
            make_folders(os.path.dirname(self.name), self.folder)
            return os.open(self.name, _FLAGS, 0o600, dir_fd=at)


def _sign(handle: int, what: str) -> None:
    """Write who holds the lock, for the processes that wait; a failure is ignored."""
    facts = classes.asdict(Owner.of_this_process(what))
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(facts).encode(), 0)


def _give_back(handle: int) -> None:
    """Clear our name, so that no process takes the next holder for us, and unlock."""
    with suppress(OSError):
        os.ftruncate(handle, 0)
    _close(handle)


def _start_of(pid: int) -> str:
    """Return when a process was started, in the system's own count; nothing if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            words = stream.read(4096).rpartition(b")")[2].split()
    except OSError:
        return ""
    is_zombie = words[0] in (b"Z", b"X")  # ended, and its parent has not asked
    return "" if is_zombie else words[19].decode()


def _space() -> str:
    """Name the numbering of processes that we see; containers have their own."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _close(handle: int) -> None:
    """Give the descriptor back; the kernel frees the lock even when closing reports a fault."""
    with suppress(OSError):
        os.close(handle)


T = TypeVar("T")


def build_once(
    store: Store,
    key: str,
    find: Callable[[], T | None],
    build: Callable[[], T],
    limit: float = 120.0,
) -> T:
    """Build under `key` in one process while the others wait, at most `limit` seconds.

    Processes that waited find the result, or get the same `CompilationError`.
    """
    known = store.failure(key)
    with store.lock(key, limit):
        found = find()
        if found is not None:
            return found
        failed = store.failure(key)
        if failed is not None and (known is None or failed.token != known.token):
            raise failed.error()
        try:
            return build()
        except CompilationError as error:
            store.keep_failure(key, error)
            raise
