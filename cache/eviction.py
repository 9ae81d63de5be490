"""Keep a store within its budget: what was used least recently goes first, what is in use stays.

Ages are told by the clock of the file system alone, so hosts whose clocks differ agree. Taking
away what somebody is about to read costs a rebuild, never a wrong answer: libraries are loaded from
copies, and a record without its blobs is a miss.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from contextlib import suppress
from typing import Final

import attrs

from .files import read_file, scratch_folder, sweep
from .locks import is_same_file
from .record import Record, parse_record
from .sealed import ForeignError
from .shelves import Lying, Shelves, listed

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
RECORD_LIMIT: Final = 16 << 20
_ROOM: Final = (
    0.9  # prune to this share of the budget, so that the next result does not prune again
)


@attrs.frozen
class Budget:
    """How much a store may hold; `spare` seconds after its last use nothing is taken away."""

    size: int = 8 << 30
    files: int = 200_000
    age: float = 90 * DAY
    spare: float = 4 * HOUR


@attrs.frozen
class Pruned:
    """What a pruning took away, and what is left."""

    records: int = 0
    blobs: int = 0
    freed: int = 0
    size: int = 0
    files: int = 0


def prune(shelves: Shelves, budget: Budget, *, dry: bool = False) -> Pruned:
    """Bring a store within its budget; `dry` only says what would be taken away."""
    census = _Census(shelves, _now(shelves), budget, dry)
    census.evict()
    census.drop_orphans()
    if not dry:
        sweep(shelves.folder("tmp"))
        _tidy(shelves, census.now)
    return census.done()


class _Census:
    """Who names which blob, and the running totals."""

    def __init__(self, shelves: Shelves, now: float, budget: Budget, dry: bool) -> None:
        self.now, self.budget, self.dry = now, budget, dry
        self.blobs = {blob.name: blob for blob in shelves.lying("cas")}
        self.records: list[tuple[Lying, Record]] = []
        self.named: Counter[str] = Counter()
        self.has_foreign = False  # records that only another version can read name blobs, too
        self.freed = self.gone_records = self.gone_blobs = 0
        self.size = sum(blob.size for blob in self.blobs.values())
        self.files = len(self.blobs)
        for lying in shelves.lying("act"):
            self._enter(lying)

    def _enter(self, lying: Lying) -> None:
        self.size += lying.size
        self.files += 1
        try:
            record = parse_record(read_file(lying.path, RECORD_LIMIT), lying.name)
        except ForeignError:
            self.has_foreign = True
        except ValueError:  # damaged: nobody can use it
            self.gone_records += self._remove(lying)
        except OSError:
            return
        else:
            self.records.append((lying, record))
            self.named.update(_blobs_of(record))

    def evict(self) -> None:
        """Take away the oldest records, and the blobs that only they name."""
        is_over = self.size > self.budget.size or self.files > self.budget.files
        room = _ROOM if is_over else 1.0
        for lying, record in sorted(self.records, key=lambda entry: entry[0].stamp):
            age = self.now - lying.stamp
            fits = self.size <= room * self.budget.size and self.files <= room * self.budget.files
            if age < self.budget.spare or (fits and age < self.budget.age):
                break
            self.gone_records += self._remove(lying)
            for name in _blobs_of(record):
                self.named[name] -= 1
                if not self.named[name] and name in self.blobs and not self.has_foreign:
                    self.gone_blobs += self._remove(self.blobs.pop(name))

    def drop_orphans(self) -> None:
        """Take away blobs that no record names, unless their record may be about to come."""
        for name, lying in self.blobs.items() if not self.has_foreign else ():
            if not self.named[name] and self.now - lying.stamp >= self.budget.spare:
                self.gone_blobs += self._remove(lying)

    def _remove(self, lying: Lying) -> bool:
        if not self.dry:
            try:
                os.unlink(lying.path)
            except OSError:
                return False
        self.size -= lying.size
        self.files -= 1
        self.freed += lying.size
        return True

    def done(self) -> Pruned:
        return Pruned(self.gone_records, self.gone_blobs, self.freed, self.size, self.files)


def _blobs_of(record: Record) -> set[str]:
    files = [file for output in record.outputs for file in output.files]
    return {file.sha256 for file in files if file.inline is None}


def _now(shelves: Shelves) -> float:
    """Ask the file system for the time, by making something."""
    with scratch_folder(shelves.folder("tmp")) as scratch:
        return os.stat(scratch).st_mtime


def _tidy(shelves: Shelves, now: float) -> None:
    """Take away locks, failures, logs and damaged files that nobody will ask for any more."""
    for lying in shelves.lying("lock"):
        if now - lying.stamp > DAY:
            _remove_lock(lying.path)
    for lying in shelves.lying("neg"):
        if now - lying.stamp > DAY:
            with suppress(OSError):
                os.unlink(lying.path)
    for folder in ("bad", "log"):
        for name in listed(shelves.folder(folder)):
            path = os.path.join(shelves.folder(folder), name)
            with suppress(OSError):
                if now - os.lstat(path).st_mtime > 30 * DAY:
                    os.unlink(path)


def _remove_lock(path: str) -> None:
    """Delete a lock file while holding it, so that no holder loses its lock."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_same_file(handle, path):
                os.unlink(path)
        finally:
            os.close(handle)
