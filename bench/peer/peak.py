"""How much memory a call takes for itself: the same measure in our process and in the peer's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path


def peak_growth(call: Callable[[], object]) -> int:
    """Return by how many bytes the resident memory grew at its peak during a call.

    Memory that was freed but is still held by malloc goes back first, or its reuse would look
    like none. Resident pages are counted, so a few hundred kB come and go unasked.
    """
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forget the earlier peak
    before = _status("VmRSS")
    call()
    return max(0, _status("VmHWM") - before)


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return 1024 * int(line.split()[1])
    raise KeyError(key)
