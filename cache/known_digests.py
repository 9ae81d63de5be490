"""Digests of parts of a working copy that an earlier process computed from the very same files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from typing import Final, TypeAlias

import attrs

from .files import publish, read_file, scratch_folder
from .sealed import seal, unseal

Stamps: TypeAlias = Sequence[tuple[str, tuple[int, int, int]]]

_KIND: Final = "fieldforge-digests-1"
_LIMIT: Final = 1 << 20


@attrs.define
class KnownDigests:
    """What was computed from files with these sizes, times and inodes, by the modules asked for.

    Without a path nothing is remembered; a damaged file is as good as none.
    """

    path: str | None
    stamps: str
    digests: dict[str, str] = attrs.field(factory=dict)

    @classmethod
    def read(cls, path: str | None, stamps: Stamps) -> KnownDigests:
        """Take from the file what was computed from the same stamps."""
        rows = "".join(f"{name} {size} {time} {inode}\n" for name, (size, time, inode) in stamps)
        made = cls(path, hashlib.sha256(rows.encode()).hexdigest())
        if path is not None:
            try:
                stored, digests = json.loads(unseal(_KIND, read_file(path, _LIMIT)))
                made.digests = dict(digests) if stored == made.stamps else {}
            except (OSError, ValueError, TypeError):
                made.digests = {}
        return made

    def add(self, name: str, digest: str) -> None:
        """Remember one more, in the file too if its folder has been made."""
        self.digests[name] = digest
        if self.path is None:
            return
        body = json.dumps([self.stamps, self.digests], sort_keys=True)
        try:
            with scratch_folder(os.path.join(os.path.dirname(self.path), "tmp")) as scratch:
                publish(scratch, self.path, seal(_KIND, body))
        except OSError:
            return
