"""Remember digests of parts of a working copy that an earlier process computed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from ..runtime.process.sha256 import sha256
from .files import keep_note, read_note
from .sealed import seal, unseal

Stamp: TypeAlias = tuple[int, int, int]  # size, mtime_ns, inode
Row: TypeAlias = tuple[str, list[int], str]  # a digest, the numbers of its files, their stamps

_KIND: Final = "fieldforge-digests-2"
_LIMIT: Final = 1 << 20


class KnownDigests:
    """Digests of files below `root`, with the stamps of the files.

    A digest is valid if its files and the folders around them still have their stamps; a new file
    in such a folder may change the target of an import. Each file is looked at once in
    a process. `path` is the file that remembers; a damaged one counts as missing.
    """

    def __init__(self, root: str, path: str) -> None:
        self._root, self._path = root, path
        self._stamps: dict[int, Stamp | None] = {}
        try:
            body = json.loads(unseal(_KIND, read_note(path, _LIMIT)))
            self._names: list[str] = body["files"]
            self._rows: dict[str, Row] = body["digests"]
        except (OSError, ValueError, TypeError, KeyError):
            self._names, self._rows = [], {}

    def digest(self, name: str, before: int) -> str | None:
        """Return a digest if its files are still the same, and are older than `before`."""
        try:
            digest, numbers, known = self._rows[name]
            stamps = [self._stamp(number) for number in numbers]
        except (LookupError, TypeError, ValueError):  # unknown, or of another shape
            return None
        if any(stamp is None or stamp[1] >= before for stamp in stamps):
            return None
        return digest if _joined(stamps) == known else None

    def add(self, name: str, digest: str, stamps: Mapping[str, Stamp]) -> None:
        """Remember a digest, in the file too if its folder has been made."""
        numbers = {file: number for number, file in enumerate(self._names)}
        for file in stamps:
            numbers.setdefault(file, len(numbers))
        self._names = list(numbers)
        self._rows[name] = digest, [numbers[file] for file in stamps], _joined([*stamps.values()])
        body = json.dumps({"files": self._names, "digests": self._rows})
        keep_note(*os.path.split(self._path), seal(_KIND, body), make=False)

    def _stamp(self, number: int) -> Stamp | None:
        if number not in self._stamps:
            self._stamps[number] = stamp_of(f"{self._root}/{self._names[number]}")
        return self._stamps[number]


def stamp_of(path: str) -> Stamp | None:
    """Return size, time and inode of a file or folder, None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _joined(stamps: list[Any]) -> str:
    return sha256(repr(stamps).encode())
