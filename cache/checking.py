"""Read every record and file of a store, and report damaged and missing ones."""

from __future__ import annotations

from ..runtime.process import classes
from .disk import Disk


@classes.frozen
class Verdict:
    """The result of a check of a whole store; damaged files have been set aside."""

    records: int
    blobs: int
    damaged: int
    incomplete: tuple[str, ...]  # keys of records that name a file which is not there
    unused: int  # files that no record names

    @property
    def is_sound(self) -> bool:
        """Whether no file is damaged and no record incomplete."""
        return not self.damaged and not self.incomplete


def verify(disk: Disk) -> Verdict:
    """Check every record and every file of a store against its digest."""
    before = disk.stats().corrupt
    incomplete, named = [], set()
    records = 0
    for record in disk.records():
        records += 1
        if any(disk.read(record, output.port) is None for output in record.outputs):
            incomplete.append(record.key)
        files = [file for output in record.outputs for file in output.files]
        named |= {file.sha256 for file in files if file.inline is None}
    blobs = disk.blobs()
    unused = [name for name in blobs if name not in named]
    for name in unused:
        disk.blob(name)
    damaged = disk.stats().corrupt - before
    return Verdict(records, len(blobs), damaged, tuple(incomplete), len(unused))
