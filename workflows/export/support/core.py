"""C++ that exported libraries share with the native core: overlaps of memory, the pool of threads.

Both have the same files. A library has them in an unnamed namespace, so that none of their names
meets those of another library or of the core in one process.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Final

NATIVE: Final = Path(__file__).parents[3] / "runtime" / "native"
# In the order in which they include each other; a wheel has them, see `pyproject.toml`.
FILES: Final = ("strided_sums.h", "pool.h", "futex.h", "worker.h", "pool.cpp")
_SYSTEM: Final = re.compile(
    r"^#if[^\n]*\n(?:#include <[^\n]*\n)+#endif\n|^#include <[^\n]*\n", re.MULTILINE
)
_OURS: Final = re.compile(r'^(?:#include "[^\n]*|#pragma once)\n', re.MULTILINE)


@functools.cache
def core() -> tuple[str, str]:
    """Return the headers of the system that the files include, and the rest of their text."""
    text = "\n".join((NATIVE / name).read_text() for name in FILES)
    headers = "".join(dict.fromkeys(_SYSTEM.findall(text)))
    return headers, _OURS.sub("", _SYSTEM.sub("", text))
