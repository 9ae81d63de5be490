"""A folder that nobody else can exchange anything in: code is written to it and run."""

from __future__ import annotations

import os
import stat


def make_private(folder: str) -> None:
    """Make a folder and the one around it for this user alone; close one that is open to others.

    Raises `PermissionError` when another user owns either, `OSError` for what the system says.
    """
    around = os.path.dirname(folder)
    os.makedirs(os.path.dirname(around), exist_ok=True)
    for path in (around, folder):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue
    allowed = {around: (os.geteuid(), 0), folder: (os.geteuid(),)}
    for path, owners in allowed.items():
        named, found = os.lstat(path), os.stat(path)  # a link of another user's leads anywhere
        if named.st_uid not in owners or found.st_uid not in owners:
            raise PermissionError(f"'{path}' belongs to another user, code in it cannot be trusted")
    if stat.S_IMODE(os.stat(folder).st_mode) & 0o022:
        os.chmod(folder, 0o700)
