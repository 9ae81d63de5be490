"""Keep a store within its budget: delete the least recently used results.

Only the clock of the file system tells ages, so hosts whose clocks differ agree. Deleting a result
that another process is about to read costs a rebuild, never a wrong answer: libraries are loaded
from copies, and a record without its blobs is a miss.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from contextlib import suppress
from typing import Final

from ..runtime.process import classes, open_folder
from .files import is_same_file, read_file, scratch_folder, sweep
from .record import Record, parse_record
from .root import Shelves, StoredFile
from .sealed import ForeignError

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
RECORD_LIMIT: Final = 16 << 20
_ROOM: Final = (
    0.9  # prune to this share of the budget, so that the next result does not prune again
)


@classes.frozen
class Budget:
    """How much a store may hold; no result goes within `spare` seconds of its last use."""

    size: int = 8 << 30
    files: int = 200_000
    age: float = 90 * DAY
    spare: float = 4 * HOUR


@classes.frozen
class Pruned:
    """How much a pruning deleted, and how much is left."""

    records: int = 0
    blobs: int = 0
    freed: int = 0
    size: int = 0
    files: int = 0


def prune(shelves: Shelves, budget: Budget, *, dry: bool = False) -> Pruned:
    """Bring a store within its budget; `dry` counts and deletes nothing."""
    census = _Census(shelves, _now(shelves), budget, dry)
    census.evict()
    census.drop_orphans()
    if not dry:
        sweep(open_folder("tmp", shelves.base.owners, shelves.base))
        _tidy(shelves, census.now)
    return census.done()


class _Census:
    """Which records name which blobs, and the running totals."""

    def __init__(self, shelves: Shelves, now: float, budget: Budget, dry: bool) -> None:
        self.shelves, self.now, self.budget, self.dry = shelves, now, budget, dry
        self.blobs = {blob.key: blob for blob in shelves.files("cas")}
        self.records: list[tuple[StoredFile, Record]] = []
        self.named: Counter[str] = Counter()
        self.has_foreign = False  # records that only another version can read name blobs, too
        self.freed = self.gone_records = self.gone_blobs = 0
        self.size = sum(blob.size for blob in self.blobs.values())
        self.files = len(self.blobs)
        for file in shelves.files("act"):
            self._enter(file)

    def _enter(self, file: StoredFile) -> None:
        self.size += file.size
        self.files += 1
        try:
            record = parse_record(read_file(file.name, RECORD_LIMIT, self.shelves.base), file.key)
        except ForeignError:
            self.has_foreign = True
        except ValueError:  # damaged
            self.gone_records += self._remove(file)
        except OSError:
            return
        else:
            self.records.append((file, record))
            self.named.update(_blobs_of(record))

    def evict(self) -> None:
        """Delete the oldest records, and the blobs that only they name."""
        is_over = self.size > self.budget.size or self.files > self.budget.files
        room = _ROOM if is_over else 1.0
        for file, record in sorted(self.records, key=lambda row: self._age(row[0]), reverse=True):
            age = self._age(file)
            fits = self.size <= room * self.budget.size and self.files <= room * self.budget.files
            if age < self.budget.spare or (fits and age < self.budget.age):
                break
            self.gone_records += self._remove(file)
            for name in _blobs_of(record):
                self.named[name] -= 1
                if not self.named[name] and name in self.blobs and not self.has_foreign:
                    self.gone_blobs += self._remove(self.blobs.pop(name))

    def drop_orphans(self) -> None:
        """Delete blobs that no record names, unless they are so young that a record may follow."""
        for name, file in self.blobs.items() if not self.has_foreign else ():
            if not self.named[name] and self._age(file) >= self.budget.spare:
                self.gone_blobs += self._remove(file)

    def _age(self, file: StoredFile) -> float:
        """Return the seconds since the last use; a time in the future is as wrong as it is far."""
        return abs(self.now - file.stamp)

    def _remove(self, file: StoredFile) -> bool:
        if not self.dry:
            try:
                self.shelves.remove(file.name)
            except OSError:
                return False
        self.size -= file.size
        self.files -= 1
        self.freed += file.size
        return True

    def done(self) -> Pruned:
        return Pruned(self.gone_records, self.gone_blobs, self.freed, self.size, self.files)


def _blobs_of(record: Record) -> set[str]:
    files = [file for output in record.outputs for file in output.files]
    return {file.sha256 for file in files if file.inline is None}


def _now(shelves: Shelves) -> float:
    """Ask the file system for the time, by making a folder."""
    tmp = open_folder("tmp", shelves.base.owners, shelves.base)
    with scratch_folder(tmp) as scratch:
        return os.fstat(scratch.handle).st_mtime


def _tidy(shelves: Shelves, now: float) -> None:
    """Delete old locks, failures, logs and damaged files."""
    for file in shelves.files("lock"):
        if now - file.stamp > DAY:
            _remove_lock(shelves, file.name)
    for file in shelves.files("neg"):
        if now - file.stamp > DAY:
            with suppress(OSError):
                shelves.remove(file.name)
    for folder in ("bad", "log"):
        for name in shelves.listed(folder):
            with suppress(OSError):
                if now - shelves.status(f"{folder}/{name}").st_mtime > 30 * DAY:
                    shelves.remove(f"{folder}/{name}")


def _remove_lock(shelves: Shelves, name: str) -> None:
    """Delete a lock file while holding it, so that no holder loses its lock."""
    with suppress(OSError):
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(name, flags, dir_fd=shelves.base.handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_same_file(handle, name, shelves.base):
                shelves.remove(name)
        finally:
            os.close(handle)
