"""Put all results that a set of programs needs into one file, to read in place or to unpack.

A pack is a zip file: `pack.json` says what it is for, `act/<key>` are the records and
`cas/<sha256>` the files, as in a store. Every member is checked when it is read.
"""

from __future__ import annotations

import json
import os
import stat
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..runtime.process import CompilationError, StoreError, StorePermissionError
from ..runtime.process.archive import Archive, ArchiveError
from ..runtime.process.shapes import anything, list_of, mapping, parse_json
from .faults import Faults
from .layered import Layered
from .memory import Memory
from .record import File, Record, files_at, is_content, is_key, parse_record
from .sealed import ForeignError, seal, unseal
from .store import Files, OnEvent, Stats, Store, ignore, read_outputs

_HEAD: Final = "pack.json"
_FOLDERS: Final = ("act/", "cas/")
_MOST: Final = 1 << 40  # bytes of a member: members are not compressed, so the file bounds them
_KIND: Final = "fieldforge-pack-1"
_DATE: Final = (1980, 1, 1, 0, 0, 0)  # equal contents, equal packs


class Pack(Store):
    """A store in one file; it can be looked into, and never changes."""

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        secret: bytes | None = None,
        signed: bool = False,
        owners: tuple[int, ...] = (),
        on_event: OnEvent = ignore,
    ) -> None:
        """Open a pack; one that others may write to is a `StorePermissionError`.

        With `signed`, the pack trusts only records that `secret` signed, whoever owns the
        file. A file that is no pack is an event, and empty.
        """
        self._file = os.path.abspath(os.path.expanduser(os.fspath(file)))
        self._secret = secret if signed else None
        self._faults = Faults(on_event)
        self._guard = threading.Lock()
        self._archive: Archive | None = None
        self._owner = 0  # a forked child opens the file again: they would share one position
        self._owners = None if signed else (os.geteuid(), 0, *owners)
        try:
            self._names = _checked(self._opened().sizes)
        except OSError as error:
            self._names = frozenset()
            self._faults.unreadable(self._file, error)
        except ArchiveError as error:
            self._names = frozenset()
            self._faults.no_pack(self._file, str(error))

    @property
    def is_pack(self) -> bool:
        """Whether the file could be opened and has the members of a pack."""
        return bool(self._names)

    def head(self) -> Mapping[str, Any]:
        """Return what the pack says of itself; nothing if that is damaged."""
        content = self._bytes(_HEAD)
        try:
            found: dict[str, Any] = parse_json(
                unseal(_KIND, content or b"", self._secret), mapping(list_of(anything))
            )
        except ValueError:
            return {}
        return found

    def find(self, key: str) -> Record | None:
        """Return the record under `key`."""
        found = self._load(key) if is_key(key) else None
        self._faults.count("misses" if found is None else "hits")
        return found

    def read(self, record: Record, port: str) -> Files | None:
        """Return the files at `port`, verified."""
        return files_at(record, port, self._content)

    def take(self, record: Record, outputs: Mapping[str, Files]) -> None:
        """Remember nothing."""

    def admit(self, record: Record, port: str, files: Files) -> None:
        """Take nothing in."""

    def blob(self, sha256: str) -> bytes | None:
        """Return the verified content with this digest."""
        content = self._bytes(f"cas/{sha256}")
        if content is None:
            return None
        from .fingerprint import sha256 as digest_of

        if digest_of(content) != sha256:
            self._faults.corrupt(self._file, f"'cas/{sha256}' does not have its digest.")
            return None
        return content

    def records(self, stage: str | None = None, program: str | None = None) -> Iterator[Record]:
        """Yield the records of a stage and a program, sorted by key."""
        for name in sorted(self._names):
            record = self._load(name[4:]) if name.startswith("act/") else None
            if record and stage in (None, record.stage) and program in (None, record.program):
                yield record

    def keep_failure(self, key: str, error: CompilationError) -> None:
        """Remember nothing."""

    def stats(self) -> Stats:
        """Count what is inside."""
        records = sum(name.startswith("act/") for name in self._names)
        blobs = sum(name.startswith("cas/") for name in self._names)
        size = os.path.getsize(self._file) if self._names else 0
        return Stats(records=records, blobs=blobs, size=size, **self._faults.counts)

    def _content(self, file: File) -> bytes | None:
        content = self.blob(file.sha256)
        return content if content is not None and is_content(file, content) else None

    def _load(self, key: str) -> Record | None:
        content = self._bytes(f"act/{key}")
        if content is None:
            return None
        try:
            return parse_record(content, key, self._secret)
        except ForeignError:
            return None
        except ValueError as error:
            self._faults.corrupt(self._file, f"'act/{key}': {error}")
            return None

    def _bytes(self, name: str) -> bytes | None:
        """Return a member as it lies there; a pack that was cut off has none."""
        if name not in self._names:
            return None
        try:
            with self._guard:
                return self._opened().read(name, _MOST)
        except OSError as error:
            self._faults.unreadable(self._file, error)
        except ArchiveError as error:
            self._faults.corrupt(self._file, f"{error}.")
        return None

    def _opened(self) -> Archive:
        """Return the archive; owner and mode are checked on the descriptor that is read."""
        if self._archive is None or self._owner != os.getpid():
            stream = open(self._file, "rb")  # noqa: SIM115 - closed with the archive
            try:
                if self._owners is not None:
                    _check(self._file, os.fstat(stream.fileno()), self._owners)
                self._archive, self._owner = Archive(stream, (zipfile.ZIP_STORED,)), os.getpid()
            except BaseException:
                stream.close()
                raise
        return self._archive


class Recorder(Layered):
    """A store that remembers which records were found in it or kept, as `write_pack` wants them."""

    def __init__(self, store: Store) -> None:
        super().__init__(Memory(), store)
        self.seen: dict[str, Record] = {}

    def find(self, key: str) -> Record | None:
        """Return the record under `key`, and note it."""
        found = super().find(key)
        if found is not None:
            self.seen[key] = found
        return found

    def take(self, record: Record, outputs: Mapping[str, Files]) -> None:
        """Take in a result, and note its record."""
        super().take(record, outputs)
        self.seen[record.key] = record


def write_pack(
    file: str | os.PathLike[str],
    store: Store,
    records: Iterable[Record],
    head: Mapping[str, Any],
    secret: bytes | None = None,
) -> int:
    """Write records and all that they name to a pack, whole or not at all; return how many.

    A record whose files have gone from the store is left out.
    """
    path = os.path.abspath(os.path.expanduser(os.fspath(file)))
    members = {_HEAD: seal(_KIND, json.dumps(head, sort_keys=True), secret)}
    count = 0
    for record in records:
        outputs = read_outputs(store, record)
        if outputs is None:
            continue
        count += 1
        members[f"act/{record.key}"] = record.encode(secret)
        for output in record.outputs:
            for each in output.files:
                if each.inline is None:
                    members[f"cas/{each.sha256}"] = outputs[output.port][each.name]
    draft = f"{path}.{os.getpid()}.draft"
    try:
        _write(draft, members)
        os.replace(draft, path)
    except OSError as error:
        Path(draft).unlink(missing_ok=True)
        raise StoreError(f"The pack '{path}' cannot be written: {error.strerror}.") from error
    return count


def unpack(pack: Pack, store: Any) -> int:
    """Copy every result of a pack to a store on disk; return how many were whole."""
    count = 0
    for record in pack.records():
        outputs = read_outputs(pack, record)
        if outputs is not None:
            store.take(record, outputs)
            count += 1
    return count


def _write(path: str, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members, key=lambda name: (name != _HEAD, name)):
            about = zipfile.ZipInfo(name, _DATE)
            about.external_attr = 0o444 << 16
            archive.writestr(about, members[name])
    os.chmod(path, 0o644)


def _checked(sizes: Mapping[str, int]) -> frozenset[str]:
    """Return the names of the members; those of another archive are an `ArchiveError`."""
    if _HEAD not in sizes:
        raise ArchiveError(f"it has no '{_HEAD}'")
    for name in sizes:
        if name != _HEAD and not (name.startswith(_FOLDERS) and is_key(name[4:])):
            raise ArchiveError(f"it has the unknown member '{name}'")
    return frozenset(sizes)


def _check(path: str, found: os.stat_result, owners: Sequence[int]) -> None:
    hint = "Name a key with FIELDFORGE_CACHE_KEY that it is signed by, or make a copy of your own."
    if found.st_uid not in owners:
        raise StorePermissionError(
            f"The pack '{path}' belongs to user {found.st_uid}, and what is in it is run as code.",
            hints=(hint,),
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StorePermissionError(
            f"The pack '{path}' can be written to by others (mode "
            f"{stat.S_IMODE(found.st_mode):04o}), and what is in it is run as code.",
            hints=(f"Run 'chmod go-w {path}'.", hint),
        )
