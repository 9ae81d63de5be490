"""Remember results on disk: blobs by the digest of their content, records by key, records last.

    <root>/v1/act/ab/<key>     what a stage gave, one record a result
    <root>/v1/cas/ab/<sha256>  files too large for a record
    <root>/v1/neg/ab/<key>     how the compiler refused, for those who wait
    <root>/v1/tmp bad lock log drafts, damaged files, locks between processes, logs

Nothing is made before the first write, and nothing that is read is believed before
its digest has been checked. Trouble with a read is a miss, trouble with a write an
event: the disk never stops a program that it is only there to speed up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..runtime.process.errors import CompilationError
from . import root as layout
from .faults import Faults
from .files import publish, read_file, scratch_folder, set_aside, sweep
from .fingerprint import artifact_digest
from .locks import BuildLock
from .record import File, Output, Record, files_at, is_content, is_key, parse_record
from .sealed import ForeignError
from .shelves import Shelves, size_of
from .store import Files, OnEvent, Stats, ignore, make_record
from .upkeep import Upkeep

if TYPE_CHECKING:  # a warm start takes nothing away
    from .eviction import Budget, Pruned
    from .failures import Failure

_RECORD_LIMIT: Final = 16 << 20
_MARK_AFTER: Final = 1800.0  # seconds; the time of last use is written down no more often


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
            owners: users beside this one whose files are believed.
            durable: flush files to the medium before they appear; slow, and
                not needed for correctness.
            secret: what is kept is signed by it.
            signed: believe records with a signature by `secret`, whoever owns the
                folder; no others.
            budget: what to prune to now and then, or how many bytes; None never does.
            on_event: told what went wrong, as a name and facts.

        """
        self._root = os.path.abspath(os.path.expanduser(os.fspath(root)))
        self._shelves = Shelves(self._root)
        self._owners = (os.geteuid(), *owners, *((0,) if read_only else ()))
        self._read_only, self._durable = read_only, durable
        self._secret, self._signed = secret, signed
        self._faults = Faults(on_event)
        self._upkeep = Upkeep(self._shelves, budget, self._faults)
        self._checked = self._made = False
        self._is_there()

    @property
    def path(self) -> Path:
        """The folder of the store, which need not exist yet."""
        return Path(self._root)

    @property
    def writable(self) -> bool:
        """Whether `keep` tries to write."""
        return not self._read_only

    @property
    def notes(self) -> Path | None:
        """Where `code.py` and others remember digests of files; None before the first write."""
        return Path(self._shelves.base) if self.writable and self._is_there() else None

    def find(self, key: str) -> Record | None:
        """Return the record under `key`; a damaged one is moved away and reported."""
        found = self._load(key) if is_key(key) and self._is_there() else None
        if found is not None and self.writable:
            self._mark_used(key)
        self._faults.count("misses" if found is None else "hits")
        return found

    def read(self, record: Record, port: str) -> Files | None:
        """Return the files at `port`, verified; None when one is missing or damaged."""
        return files_at(record, port, self._content)

    def keep(
        self,
        key: str,
        *,
        stage: str,
        program: str,
        components: Mapping[str, str],
        outputs: Mapping[str, Files],
        seconds: float = 0.0,
        meta: Mapping[str, str] | None = None,
    ) -> Record:
        """Write blobs, then the record that names them; a failed write is an event."""
        record = make_record(
            key,
            stage=stage,
            program=program,
            components=components,
            outputs=outputs,
            seconds=seconds,
            meta=meta,
        )
        self.take(record, outputs)
        return record

    def take(self, record: Record, outputs: Mapping[str, Files]) -> None:
        """Write a record as it is, and all its outputs, which the caller has just described."""
        if self.writable:
            self._write(record, {port: outputs[port] for port in sorted(outputs)})

    def admit(self, record: Record, port: str, files: Files) -> None:
        """Take in a verified output; the record follows once all that it names is here."""
        output = record.output(port)
        if self.writable and output is not None and output.digest == artifact_digest(files):
            self._write(record, {port: files})

    def blob(self, sha256: str) -> bytes | None:
        """Return the verified content with this digest."""
        if not is_key(sha256) or not self._is_there():
            return None
        try:
            size = os.lstat(self._shelves.blob(sha256)).st_size
        except OSError:
            return None
        return self._content(File("blob", sha256, size))

    def records(self, stage: str | None = None, program: str | None = None) -> Iterator[Record]:
        """Yield the records of a stage and a program, sorted by key."""
        if not self._is_there():
            return
        for key in self._shelves.names("act"):
            record = self._load(key)
            if record and stage in (None, record.stage) and program in (None, record.program):
                yield record

    def lock(self, key: str, limit: float = 120.0) -> AbstractContextManager[bool]:
        """Hold the right to build `key` among the processes of this node."""
        if not is_key(key) or self._read_only or not self._prepare():
            return nullcontext(False)
        return BuildLock(self._shelves.lock(key), self._faults.on_event).acquire(limit, key[:8])

    def failure(self, key: str) -> Failure | None:
        """Return how the last build of `key` failed; what cannot be read is no failure."""
        if not is_key(key) or not self._is_there():
            return None
        from .failures import parse_failure

        try:
            return parse_failure(read_file(self._shelves.failure(key), _RECORD_LIMIT))
        except (OSError, ValueError):
            return None

    def keep_failure(self, key: str, error: CompilationError) -> None:
        """Write down for those who wait what the compiler said; being unable to costs time."""
        from .failures import Failure

        failure = Failure.of(error)
        if failure is None or not is_key(key) or not self.writable or not self._prepare():
            return
        with suppress(OSError), scratch_folder(self._shelves.folder("tmp")) as scratch:
            publish(scratch, self._shelves.failure(key), failure.encode())

    def prune(self, budget: Budget, *, dry: bool = False) -> Pruned:
        """Bring the store within a budget now; two processes never do so at once."""
        from .eviction import Pruned

        if not self.writable or not self._is_there() or not self._prepare():
            return Pruned()
        return self._upkeep.prune(budget, dry) or Pruned()

    def stats(self) -> Stats:
        """Count the files; walks the whole store."""
        records, blobs = (
            [lying.size for lying in self._shelves.lying(folder)] if self._is_there() else []
            for folder in ("act", "cas")
        )
        size = sum(records) + sum(blobs)
        return Stats(records=len(records), blobs=len(blobs), size=size, **self._faults.counts)

    # Reading.

    def _is_there(self) -> bool:
        """Tell whether there is a store, and check once that it may be believed."""
        if not self._checked and layout.exists(self._root):
            try:
                if not self._signed:
                    layout.check(self._root, self._owners)
            except OSError as error:
                self._faults.unreadable(self._root, error)
                return False
            self._checked = True
        return self._checked

    def _load(self, key: str) -> Record | None:
        path = self._shelves.record(key)
        secret = self._secret if self._signed else None
        try:
            return parse_record(read_file(path, _RECORD_LIMIT), key, secret)
        except (FileNotFoundError, ForeignError):
            return None
        except OSError as error:
            self._faults.unreadable(path, error)
        except ValueError as error:
            self._quarantine(path, str(error))
        return None

    def _mark_used(self, key: str) -> None:
        """Let the record be the last to be evicted; a clock that is wrong only costs a write."""
        path = self._shelves.record(key)
        with suppress(OSError):
            if abs(time.time() - os.stat(path).st_mtime) > _MARK_AFTER:
                os.utime(path)

    def _content(self, file: File) -> bytes | None:
        path = self._shelves.blob(file.sha256)
        try:
            content = read_file(path, file.size)
        except FileNotFoundError:
            self._faults.on_event("store.blob_missing", path=path)
            return None
        except OSError as error:
            self._faults.unreadable(path, error)
            return None
        except ValueError as error:
            self._quarantine(path, str(error))
            return None
        if not is_content(file, content):
            self._quarantine(path, "Its content does not have its digest.")
            return None
        return content

    def _quarantine(self, path: str, reason: str) -> None:
        """Move a damaged file out of the way, so that the next build can put a good one there."""
        self._faults.corrupt(path, reason)
        if self._read_only:
            return
        try:
            set_aside(path, self._shelves.folder("bad"))
        except OSError as error:
            self._faults.unmovable(path, error)

    # Writing.

    def _prepare(self) -> bool:
        """Make the folders before the first write and sweep what killed processes left."""
        tmp = self._shelves.folder("tmp")
        if self._made and os.path.isdir(tmp):
            return True
        try:
            layout.make(self._root, self._owners)
            swept = sweep(tmp)
        except OSError as error:
            self._faults.unwritable(self._root, error)
            return False
        if swept:
            self._faults.on_event("store.swept", path=self._root, folders=swept)
        self._checked = self._made = True
        return True

    def _write(self, record: Record, outputs: Mapping[str, Files]) -> None:
        if not self._prepare():
            return
        try:
            with scratch_folder(self._shelves.folder("tmp")) as scratch:
                for output in record.outputs:
                    if output.port in outputs:
                        self._write_blobs(scratch, output, outputs[output.port])
                if len(outputs) < len(record.outputs) and not self._has_all(record):
                    return
                content = record.encode(self._secret)
                path = self._shelves.record(record.key)
                publish(scratch, path, content, durable=self._durable)
        except OSError as error:
            self._faults.unwritable(self._shelves.record(record.key), error)
            return
        self._faults.count("kept")
        self._faults.on_event(
            "store.kept", key=record.key, stage=record.stage, program=record.program
        )
        written = sum(map(len, (content, *(c for port in outputs.values() for c in port.values()))))
        self._upkeep.wrote(path, written)

    def _write_blobs(self, scratch: str, output: Output, files: Files) -> None:
        for file in output.files:
            if file.inline is None:
                path = self._shelves.blob(file.sha256)
                if not self._holds(path, file):
                    publish(scratch, path, files[file.name], durable=self._durable)

    def _holds(self, path: str, file: File) -> bool:
        """Tell whether a blob is there and sound; whatever else lies there is moved away."""
        try:
            if is_content(file, read_file(path, file.size)):
                return True
            self._quarantine(path, "Its content does not have its digest.")
        except OSError:
            return False
        except ValueError as error:
            self._quarantine(path, str(error))
        return False

    def _has_all(self, record: Record) -> bool:
        files = [file for output in record.outputs for file in output.files]
        return all(
            file.inline is not None or size_of(self._shelves.blob(file.sha256)) == file.size
            for file in files
        )
