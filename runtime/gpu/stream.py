"""The current stream: `use_stream` sets it for a block, from a stream of any library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .native import Device, Stream, current_stream as _current, set_current_stream


def current_stream(device: Device | int | None = None) -> Stream:
    """Return the stream that work of this thread goes to on a device.

    By default it is one non-blocking stream for each device, the same in all
    threads. It is never the legacy default stream, which waits for all others.

    >>> device = Device(0, platform="null")
    >>> current_stream(device) == current_stream(device)
    True
    """
    return _current(device)


@contextmanager
def use_stream(obj: Any, *, device: Device | int | None = None) -> Iterator[Stream]:
    """Make a stream current for a block: ours, of CuPy, torch or cuda.core, or an address.

    >>> device = Device(0, platform="null")
    >>> with use_stream(Stream(device)) as stream:
    ...     current_stream(device) == stream
    True
    """
    with Stream.from_object(obj, device=device) as stream:
        yield stream


__all__ = ["current_stream", "set_current_stream", "use_stream"]
