"""Open the store of the settings: the user's own, and the layers that are only read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from ..runtime.process import Settings, StorePermissionError
from .disk import Disk
from .store import OnEvent, Store, ignore

SUFFIX: Final = ".ffpack"
_SHORTEST: Final = 16  # bytes of a secret


def open_store(settings: Settings, on_event: OnEvent = ignore) -> Store:
    """Open the user's store, in front of the stores and packs that are only read.

    With a key, the store trusts records that the key signed, whoever owns the files. Without one,
    they must belong to this user or to root, and nobody else may write to them.
    """
    secret = read_secret(settings.cache_key)
    size = settings.cache_size
    own = Disk(settings.cache_dir, secret=secret, budget=size, on_event=on_event)
    if not settings.cache_layers:
        return own
    from .layered import Layered
    from .memory import Memory

    layers = [open_layer(place, secret, on_event) for place in settings.cache_layers]
    return Layered(Memory(), own, *layers)


def open_layer(place: Path, secret: bytes | None = None, on_event: OnEvent = ignore) -> Store:
    """Open a store, or a pack, that is only read."""
    signed = secret is not None
    if place.is_file() or place.suffix == SUFFIX:
        from .pack import Pack

        return Pack(place, secret=secret, signed=signed, on_event=on_event)
    return Disk(place, read_only=True, secret=secret, signed=signed, on_event=on_event)


def read_secret(path: Path | None) -> bytes | None:
    """Read a key file; one that other users can read is a `StorePermissionError`."""
    if path is None:
        return None
    try:
        found = os.stat(path)
        secret = path.read_bytes().strip()
    except OSError as error:
        raise StorePermissionError(f"The key '{path}' cannot be read: {error.strerror}.") from error
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise StorePermissionError(
            f"The key '{path}' is open to others (user {found.st_uid}, mode "
            f"{stat.S_IMODE(found.st_mode):04o}).",
            hints=(f"Run 'chmod o-rwx,g-w {path}' as its owner.",),
        )
    if len(secret) < _SHORTEST:
        raise StorePermissionError(
            f"The key '{path}' must hold at least {_SHORTEST} bytes, got {len(secret)}.",
            hints=(f"Make one: 'head -c 32 /dev/urandom | base64 > {path}'.",),
        )
    return secret
