"""Tell the recording of this thread, if there is one, of calls that run in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...runtime import _core


def note(call: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Record a call that runs in Python, if this thread is recording."""
    sequence = _core.recording()
    if sequence is not None:
        sequence.note(call, args, dict(kwargs))


@contextmanager
def paused() -> Iterator[None]:
    """Pause the recording in the block: its calls are part of a recorded call."""
    sequence = _core.recording()
    if sequence is None:
        yield
        return
    sequence.end()
    try:
        yield
    finally:
        sequence.begin()
