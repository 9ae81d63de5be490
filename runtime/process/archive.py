"""Read zip archives that others may have made: checked names, sizes and kinds, bounded memory."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Final

_ENCRYPTED: Final = 0x1 | 0x20 | 0x40  # or patched, or strongly encrypted: zipfile reads neither
_PACKED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class ArchiveError(ValueError):
    """A file is no archive, is damaged, or has a member that is refused; without a full stop."""


class Archive:
    """An open archive: opening reads the list of members, and each member is read by itself.

    No more of a member is decompressed than its stated size, which the reader has seen before.
    """

    def __init__(self, stream: IO[bytes], packed: tuple[int, ...] = _PACKED) -> None:
        """Read the list of members; `packed` are the accepted methods of compression."""
        try:
            self._zip = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
            raise ArchiveError(f"it is no zip archive: {error}") from error
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in self._zip.infolist():
            _check(member, packed)
            if self._members.setdefault(member.filename, member) is not member:
                raise ArchiveError(f"it has two members '{member.filename}'")

    @property
    def sizes(self) -> Mapping[str, int]:
        """The sizes that the members are said to have, by name."""
        return {name: member.file_size for name, member in self._members.items()}

    def read(self, name: str, most: int) -> bytes:
        """Return a member; a larger one than `most`, or a damaged one, is an `ArchiveError`.

        An error of the disk stays an `OSError`.
        """
        member = self._members[name]
        if member.file_size > most:
            raise ArchiveError(f"'{name}' has {member.file_size} bytes, expected at most {most}")
        try:
            with self._zip.open(member) as stream:
                content = stream.read(member.file_size)
                stream.read(1)  # the end, where the checksum is compared
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
            raise ArchiveError(f"'{name}' is damaged: {error}") from error
        if len(content) != member.file_size:
            raise ArchiveError(f"'{name}' is cut off")
        return content


def _check(member: zipfile.ZipInfo, packed: tuple[int, ...]) -> None:
    name = member.filename
    if member.flag_bits & _ENCRYPTED:
        raise ArchiveError(f"'{name}' is encrypted")
    if member.compress_type not in packed:
        raise ArchiveError(f"'{name}' is compressed by method {member.compress_type}")
    if not name or name.endswith("/") or os.path.isabs(name) or ".." in name.split("/"):
        raise ArchiveError(f"'{name}' is no plain file")
