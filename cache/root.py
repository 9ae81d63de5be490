"""Where a store lies on disk, and whether its files may be believed.

A store holds code: who can write to it can run code as its user. So its folder is private, and one
that others could have written to is refused before anything in it is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Final

from ..runtime.process.errors import StorePermissionError
from .files import publish, scratch_folder

VERSION: Final = "v1"
PINS: Final = "pins"  # which compilers packs name, beside the records
FOLDERS: Final = ("act", "cas", "neg", "tmp", "bad", "log", "lock")
_TAG: Final = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This folder is a cache of fieldforge. Deleting it loses nothing but time.\n"
)


def exists(root: str) -> bool:
    """Tell whether a store has been made at `root`."""
    return os.path.isdir(os.path.join(root, VERSION))


def check(root: str, owners: Iterable[int]) -> None:
    """Refuse a store that somebody else owns or may write to."""
    allowed = frozenset(owners)
    _check_one(root, os.stat(root), allowed)  # the root itself may be a link to a scratch disk
    for name in ("", *FOLDERS):
        path = os.path.join(root, VERSION, name).rstrip(os.sep)
        try:
            _check_one(path, os.lstat(path), allowed)
        except FileNotFoundError:
            continue  # a store that was copied without its empty folders


def _check_one(path: str, found: os.stat_result, owners: frozenset[int]) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise StorePermissionError(
            f"The store's folder '{path}' is a link or a file, not a folder.",
            hints=("Remove it, or name another folder with FIELDFORGE_CACHE_DIR.",),
        )
    if found.st_uid not in owners:
        raise StorePermissionError(
            f"The store's folder '{path}' belongs to user {found.st_uid}, expected "
            f"{' or '.join(map(str, sorted(owners)))}.",
            hints=("Name a folder of your own with FIELDFORGE_CACHE_DIR.",),
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StorePermissionError(
            f"The store's folder '{path}' can be written to by others "
            f"(mode {stat.S_IMODE(found.st_mode):04o}), and what is in it is run as code.",
            hints=(f"Run 'chmod go-w {path}', or name another folder with FIELDFORGE_CACHE_DIR.",),
        )


def make(root: str, owners: Iterable[int]) -> None:
    """Make what is missing of a store; private from the first moment."""
    os.makedirs(root, mode=0o700, exist_ok=True)
    _check_one(root, os.stat(root), frozenset(owners))
    base = os.path.join(root, VERSION)
    for path in (base, *(os.path.join(base, name) for name in FOLDERS)):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue
    check(root, owners)
    notes = {"CACHEDIR.TAG": _TAG, "store.json": b'{"format":1,"program":"fieldforge"}\n'}
    missing = [name for name in notes if not os.path.exists(os.path.join(base, name))]
    if missing:
        with scratch_folder(os.path.join(base, "tmp")) as scratch:
            for name in missing:
                publish(scratch, os.path.join(base, name), notes[name])
