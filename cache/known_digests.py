"""Digests of parts of a working copy that an earlier process computed from the very same files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from .files import publish, read_file, scratch_folder
from .sealed import seal, unseal

Stamp: TypeAlias = tuple[int, int, int]  # size, mtime_ns, inode
Row: TypeAlias = tuple[str, list[int]]  # a digest, and the numbers of the files it was made of

_KIND: Final = "fieldforge-digests-2"
_LIMIT: Final = 1 << 20


class KnownDigests:
    """What was computed from files below `root`, and the stamps that these had.

    Of a digest only the files that it was made of are looked at, each once in a process, and the
    folders around them: a file that is new in one of these may be meant by an import. `path` is
    where the next process finds it; a damaged file is as good as none.
    """

    def __init__(self, root: str, path: str) -> None:
        self._root, self._path = root, path
        self._files: list[tuple[str, Stamp]] = []
        self._rows: dict[str, Row] = {}
        self._held: dict[int, bool] = {}
        try:
            files, rows = json.loads(unseal(_KIND, read_file(path, _LIMIT)))
            self._files = [(name, (size, time, inode)) for name, size, time, inode in files]
            self._rows = {name: (digest, used) for name, (digest, used) in rows}
        except (OSError, ValueError, TypeError):
            self._files, self._rows = [], {}

    def digest(self, name: str, before: int) -> str | None:
        """Return a digest if its files are still the same, and are older than `before`."""
        digest, used = self._rows.get(name, (None, []))
        if digest is None or not all(self._holds(number, before) for number in used):
            return None
        return digest

    def add(self, name: str, digest: str, stamps: Mapping[str, Stamp]) -> None:
        """Remember one more, in the file too if its folder has been made."""
        stamped: dict[str, Stamp] = dict(self._files)
        if any(stamped.get(file, stamp) != stamp for file, stamp in stamps.items()):
            stamped, self._rows = {}, {}  # what was known is of other files
        stamped |= stamps
        self._files = list(stamped.items())
        numbers = {file: number for number, file in enumerate(stamped)}
        self._rows[name] = digest, [numbers[file] for file in stamps]
        self._held = {}
        files = [[file, *stamp] for file, stamp in self._files]
        try:
            with scratch_folder(os.path.join(os.path.dirname(self._path), "tmp")) as scratch:
                publish(
                    scratch, self._path, seal(_KIND, json.dumps([files, [*self._rows.items()]]))
                )
        except OSError:
            return

    def _holds(self, number: Any, before: int) -> bool:
        found = self._held.get(number)
        if found is None:
            name, stamp = self._files[number]
            found = self._held[number] = (
                stamp[1] < before and stamp_of(f"{self._root}/{name}") == stamp
            )
        return found


def stamp_of(path: str) -> Stamp | None:
    """Return size, time and inode of a file or folder, None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
