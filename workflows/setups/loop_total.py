"""What all time loops of this process have compiled, told in one line when it ends."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from typing import Final

from ...runtime.process.log import get_logger

EVENT: Final = "loops.compiled"
_compiles: Final[dict[str, int]] = {}
_seconds: Final[list[float]] = []


def add(compiles: Mapping[str, int], seconds: float) -> None:
    """Add what one loop has compiled; the first one asks for the report at exit."""
    if not compiles:
        return
    if not _compiles:
        atexit.register(tell)
    for name, count in compiles.items():
        _compiles[name] = _compiles.get(name, 0) + count
    _seconds.append(seconds)


def tell() -> None:
    """Log the total; `FIELDFORGE_LOG=warning` prints it."""
    get_logger().warning(
        EVENT,
        variants=sum(_compiles.values()),
        seconds=round(sum(_seconds), 2),
        programs=", ".join(f"{name}: {count}" for name, count in sorted(_compiles.items())),
    )
