"""Keep results on disk: blobs by the digest of their content, records by key, records last.

    <root>/v1/act/ab/<key>     records: one for each result of a stage
    <root>/v1/cas/ab/<sha256>  files too large for a record
    <root>/v1/neg/ab/<key>     errors of compilers, for waiting processes
    <root>/v1/tmp bad lock log drafts, damaged files, locks between processes, logs

The first write makes the folders. Every file that is read is checked against its digest. A failed
read is a miss and a failed write an event: a store never stops a program.

Every file is opened relative to the descriptor of the folder `v1`, see `StoreFolder`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..runtime.process import CompilationError
from . import root as layout
from .faults import Faults
from .files import publish, publish_all, read_file, set_aside
from .fingerprint import artifact_digest
from .locks import BuildLock
from .record import File, Output, Record, files_at, is_content, is_key, marks_of, parse_record
from .root import Shelves, StoreFolder, path_of, place_of
from .sealed import ForeignError
from .store import Files, OnEvent, Stats, ignore
from .upkeep import Upkeep

if TYPE_CHECKING:  # a warm start evicts nothing
    from .eviction import Budget, Pruned
    from .failures import Failure

_RECORD_LIMIT: Final = 16 << 20
_MARK_AFTER: Final = 1800.0  # seconds between two updates of a time of last use


class Disk:
    """A store in a private folder, shared by any number of processes."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        read_only: bool = False,
        owners: tuple[int, ...] = (),
        durable: bool = False,
        secret: bytes | None = None,
        signed: bool = False,
        budget: Budget | int | None = None,
        on_event: OnEvent = ignore,
    ) -> None:
        """Open a store; one that others may write to is a `StorePermissionError`.

        Args:
            root: the folder; it is made at the first write.
            read_only: never write, as for a store that a site offers; root may own it.
            owners: other users whose files the store trusts.
            durable: flush files to the medium before they appear; slow, and
                not needed for correctness.
            secret: the key that signs new records.
            signed: trust only records that `secret` signed, whoever owns the
                folder.
            budget: the limit to prune to now and then, or its bytes; None never prunes.
            on_event: receives the name and the facts of each fault.

        """
        self._root = os.path.abspath(os.path.expanduser(os.fspath(root)))
        owners = (os.geteuid(), *owners, *((0,) if read_only else ()))
        self._read_only, self._durable = read_only, durable
        self._secret, self._signed = secret, signed
        self._faults = Faults(on_event)
        self._upkeep = Upkeep(budget, self._faults)
        self._folder = StoreFolder(self._root, owners, signed, self._faults)
        self._folder.opened()

    @property
    def path(self) -> Path:
        """The folder of the store, which need not exist yet."""
        return Path(self._root)

    @property
    def writable(self) -> bool:
        """Whether `take` writes."""
        return not self._read_only

    @property
    def notes(self) -> Path | None:
        """Where `code.py` and others remember digests of files; None before the first write."""
        return Path(self._root, layout.VERSION) if self.writable and self._folder.opened() else None

    def find(self, key: str) -> Record | None:
        """Return the record under `key`; a damaged one is moved away and reported."""
        found = self._load(key) if is_key(key) else None
        if found is not None and self.writable:
            self._mark_used(key)
        self._faults.count("misses" if found is None else "hits")
        return found

    def read(self, record: Record, port: str) -> Files | None:
        """Return the files at `port`, verified; None when one is missing or damaged."""
        return files_at(record, port, self._content)

    def take(self, record: Record, outputs: Mapping[str, Files]) -> None:
        """Write blobs, then the record that names them; a failed write is an event."""
        if self.writable:
            self._write(record, {port: outputs[port] for port in sorted(outputs)})

    def admit(self, record: Record, port: str, files: Files) -> None:
        """Take in a verified output; the record follows once all that it names is here."""
        output = record.output(port)
        if self.writable and output is not None and output.digest == artifact_digest(files):
            self._write(record, {port: files})

    def blob(self, sha256: str) -> bytes | None:
        """Return the verified content with this digest."""
        shelves = self._folder.opened() if is_key(sha256) else None
        if shelves is None:
            return None
        try:
            size = shelves.status(place_of("cas", sha256)).st_size
        except OSError:
            return None
        return self._content(File("blob", sha256, size))

    def blobs(self) -> list[str]:
        """Return the digests of all files that lie outside records, sorted."""
        shelves = self._folder.opened()
        return list(shelves.names("cas")) if shelves else []

    def records(self, stage: str | None = None, program: str | None = None) -> Iterator[Record]:
        """Yield the records of a stage and a program, sorted by key."""
        shelves, marks = self._folder.opened(), marks_of(stage, program)
        for key in shelves.names("act") if shelves else ():
            record = self._load(key, marks)
            if record and stage in (None, record.stage) and program in (None, record.program):
                yield record

    def lock(self, key: str, limit: float = 120.0) -> AbstractContextManager[bool]:
        """Hold the lock of the build of `key` among the processes of this node."""
        shelves = self._folder.prepared() if is_key(key) and not self._read_only else None
        if shelves is None:
            return nullcontext(False)
        lock = BuildLock(place_of("lock", key), self._faults.on_event, shelves.base)
        return lock.acquire(limit, key[:8])

    def failure(self, key: str) -> Failure | None:
        """Return how the last build of `key` failed; None if no failure can be read."""
        shelves = self._folder.opened() if is_key(key) else None
        if shelves is None:
            return None
        try:
            content = read_file(place_of("neg", key), _RECORD_LIMIT, shelves.base)
            from .failures import parse_failure  # most builds have not failed

            return parse_failure(content)
        except (OSError, ValueError):
            return None

    def keep_failure(self, key: str, error: CompilationError) -> None:
        """Tell the processes that wait for `key` what the compiler said."""
        from .failures import Failure

        failure = Failure.of(error)
        if failure is None or not is_key(key) or not self.writable:
            return
        shelves = self._folder.prepared()
        if shelves is not None:
            with suppress(OSError):
                publish_all(shelves.base, {place_of("neg", key): failure.encode()})

    def prune(self, budget: Budget, *, dry: bool = False) -> Pruned:
        """Bring the store within a budget now; two processes never do so at once."""
        from .eviction import Pruned

        shelves = self._folder.prepared() if self.writable and self._folder.opened() else None
        if shelves is None:
            return Pruned()
        return self._upkeep.prune(shelves, budget, dry) or Pruned()

    def stats(self) -> Stats:
        """Count the files; walks the whole store."""
        shelves = self._folder.opened()
        records, blobs = (
            [file.size for file in shelves.files(folder)] if shelves else []
            for folder in ("act", "cas")
        )
        size = sum(records) + sum(blobs)
        return Stats(records=len(records), blobs=len(blobs), size=size, **self._faults.counts)

    # Reading.

    def _load(self, key: str, marks: tuple[bytes, ...] = ()) -> Record | None:
        """Return a record; None where there is none, or one that lacks `marks`."""
        shelves = self._folder.opened()
        if shelves is None:
            return None
        name, secret = place_of("act", key), self._secret if self._signed else None
        try:
            content = read_file(name, _RECORD_LIMIT, shelves.base)
            if not all(mark in content for mark in marks):
                return None
            return parse_record(content, key, secret)
        except ForeignError:
            return None
        except FileNotFoundError:
            return self._load(key, marks) if self._folder.reopened() else None
        except OSError as error:
            if self._folder.reopened():
                return self._load(key, marks)
            self._faults.unreadable(path_of(self._root, name), error)
        except ValueError as error:
            self._quarantine(shelves, name, str(error))
        return None

    def _mark_used(self, key: str) -> None:
        """Set the time of last use, by which eviction chooses; a wrong clock only costs a write."""
        shelves, name = self._folder.opened(), place_of("act", key)
        with suppress(OSError):
            if shelves and abs(time.time() - shelves.status(name).st_mtime) > _MARK_AFTER:
                os.utime(name, dir_fd=shelves.base.handle, follow_symlinks=False)

    def _content(self, file: File) -> bytes | None:
        shelves, name = self._folder.opened(), place_of("cas", file.sha256)
        if shelves is None:
            return None
        path = path_of(self._root, name)
        try:
            content = read_file(name, file.size, shelves.base)
        except FileNotFoundError:
            self._faults.on_event("store.blob_missing", path=path)
            return None
        except OSError as error:
            self._faults.unreadable(path, error)
            return None
        except ValueError as error:
            self._quarantine(shelves, name, str(error))
            return None
        if not is_content(file, content):
            self._quarantine(shelves, name, "Its content does not have its digest.")
            return None
        return content

    def _quarantine(self, shelves: Shelves, name: str, reason: str) -> None:
        """Move a damaged file out of the way, so that the next build can write a good one."""
        path = path_of(self._root, name)
        self._faults.corrupt(path, reason)
        if self._read_only:
            return
        try:
            set_aside(shelves.base, name, "bad")
        except OSError as error:
            self._faults.unmovable(path, error)

    # Writing.

    def _write(self, record: Record, outputs: Mapping[str, Files]) -> None:
        shelves = self._folder.prepared()
        if shelves is None:
            return
        name = place_of("act", record.key)
        try:
            for output in record.outputs:
                if output.port in outputs:
                    self._write_blobs(shelves, output, outputs[output.port])
            if len(outputs) < len(record.outputs) and not shelves.has_all(record):
                return
            content = record.encode(self._secret)
            publish(shelves.base, name, content, durable=self._durable)
        except OSError as error:
            self._faults.unwritable(path_of(self._root, name), error)
            return
        self._faults.count("kept")
        self._faults.on_event(
            "store.kept", key=record.key, stage=record.stage, program=record.program
        )
        written = sum(map(len, (content, *(c for port in outputs.values() for c in port.values()))))
        self._upkeep.wrote(shelves, name, written)

    def _write_blobs(self, shelves: Shelves, output: Output, files: Files) -> None:
        for file in output.files:
            if file.inline is None:
                name = place_of("cas", file.sha256)
                if not self._holds(shelves, name, file):
                    content = files[file.name]
                    publish(shelves.base, name, content, durable=self._durable)

    def _holds(self, shelves: Shelves, name: str, file: File) -> bool:
        """Tell whether a blob is there and sound; a damaged one is moved away."""
        try:
            if is_content(file, read_file(name, file.size, shelves.base)):
                return True
            self._quarantine(shelves, name, "Its content does not have its digest.")
        except OSError:
            return False
        except ValueError as error:
            self._quarantine(shelves, name, str(error))
        return False
