"""Thresholds that `fieldforge doctor --machine` measures on this node; calls decide by them.

A file named after the processor holds them, so that nodes of several kinds may share a folder; a
process reads it once. No key contains them: they choose among loops that every
library has.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Final

from .. import _core
from ..process.settings import current

FOLDER: Final = "machines"
# Members of the context's `Machine` that a file may name.
NUMBERS: Final = ("shared_cache", "bandwidth", "stream_from", "parallel_from")
STREAM_FROM: Final = 12 << 20  # bytes
CACHE_OF_A_THREAD: Final = 3 << 19  # bytes
_MOST: Final = 1 << 62
_told: Final[list[Path]] = []


def processor() -> str:
    """Return the name of the processor and how many this process may use.

    >>> processor() == processor()
    True
    """
    model = os.uname().machine
    try:
        with open("/proc/cpuinfo", errors="replace") as lines:
            for line in lines:  # stops at the first processor; there may be hundreds
                if line.startswith("model name"):
                    model = line.partition(":")[2].strip()
                    break
    except OSError:
        pass
    return f"{model} x {_core.default_threads()}"


def machine_file(name: str | None = None) -> Path:
    """Return where the numbers of a processor are kept."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name or processor()).strip("-")
    return current().cache_dir / FOLDER / f"{plain}.json"


def read_machine(path: Path) -> dict[str, Any]:
    """Return the content of a file; nothing where it is missing or damaged."""
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def write_machine(path: Path, document: dict[str, Any]) -> None:
    """Keep the numbers, whole or not at all, and use them from now on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    draft.write_text(json.dumps(document, indent=1) + "\n")
    os.replace(draft, path)
    tell(document)


def use_machine() -> None:
    """Give the measured numbers to the native core, once in a process and store."""
    folder = current().cache_dir
    if _told != [folder]:
        _told[:] = [folder]
        tell(read_machine(machine_file()) if (folder / FOLDER).is_dir() else {})


def tell(document: dict[str, Any]) -> None:
    """Give the native core the numbers that make sense; 0 stands for one that is not known."""
    usual = {
        "shared_cache": shared_cache(),
        "stream_from": usual_stream_from(_core.default_threads()),
    }
    _core.set_machine(*(_sensible(document.get(name)) or usual.get(name, 0) for name in NUMBERS))


def shared_cache(file: Path = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")) -> int:
    """Return the bytes of the third-level cache that the first core shares; 0 where unknown.

    >>> shared_cache(Path("/no/such/file"))
    0
    """
    try:
        text = file.read_text().strip()
    except OSError:
        return 0
    found = re.fullmatch(r"([0-9]{1,9})K", text)
    return int(found[1]) << 10 if found else 0


def usual_stream_from(threads: int) -> int:
    """Return from how many bytes calls use non-temporal stores on a machine nobody has measured.

    What fits the caches of all cores that share the work stays there.

    >>> [usual_stream_from(threads) >> 20 for threads in (1, 2, 8, 16, 64)]
    [12, 12, 12, 24, 96]
    """
    return max(STREAM_FROM, threads * CACHE_OF_A_THREAD)


def _sensible(number: Any) -> int:
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return number if is_number and 0 < number < _MOST else 0
