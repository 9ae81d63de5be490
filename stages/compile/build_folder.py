"""Make folders for builds: on this node, private, and removed even when a build is killed."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from ...cache.files import scratch_folder, sweep
from ...runtime.process import Folder, current, make_private, open_folder


@contextmanager
def build_folder() -> Iterator[Folder]:
    """Make a folder for one build and remove it afterwards.

    It lies in the local folder of the settings, where the first build of the next process
    sweeps the folders of killed builds. Where that cannot be used, it is a temporary folder of the
    system.
    """
    parent = _prepared(os.path.join(current().local_dir, "build"))
    if parent is not None and not parent.is_current:  # deleted, or the descriptor was closed
        _prepared.cache_clear()
        parent = _prepared(os.path.join(current().local_dir, "build"))
    if parent is None:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="fieldforge-") as path:
            folder = open_folder(path, (os.geteuid(),))
            folder.owners = None  # other users cannot reach the files in it
            yield folder
    else:
        with scratch_folder(parent) as folder:
            yield folder


@functools.lru_cache(maxsize=8)
def _prepared(path: str) -> Folder | None:
    """Make, open and sweep a folder; None if it cannot be used or others could write to it."""
    try:
        parent = make_private(path)
        sweep(parent)
    except OSError:
        return None
    return parent
