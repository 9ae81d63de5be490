"""Folders for builds under way: on this node, private, and gone even when a build is killed."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from ..runtime.process.private_folder import make_private
from ..runtime.process.settings import current
from .files import scratch_folder, sweep


@contextmanager
def build_folder() -> Iterator[str]:
    """Make a folder for one build and remove it afterwards.

    It lies in the local folder of the settings, where the first build of the next process
    sweeps what killed ones left; where that cannot be used, among the system's temporary files.
    """
    parent = _prepared(os.path.join(current().local_dir, "build"))
    if parent is None:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="fieldforge-") as folder:
            yield folder
    else:
        with scratch_folder(parent) as folder:
            yield folder


@functools.lru_cache(maxsize=8)
def _prepared(parent: str) -> str | None:
    """Make and sweep a folder; None if others could write to it, or it cannot be written."""
    try:
        make_private(parent)
        sweep(parent)
    except OSError:
        return None
    return parent
