"""The records of the null platform: calls, problems, memory and handles that are still held.

The null driver runs everything at once, in the memory of the host. It refuses double frees, uses
after a free and copies beyond the end, and notes where two streams use the same memory without an
order between them. Tests read its records here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from .native import null


class Allocation(NamedTuple):
    """Memory of the null platform that has not been freed."""

    address: int
    size: int
    kind: str
    device: int


@contextmanager
def recorded() -> Iterator[list[str]]:
    """List the calls of the driver that a block makes; the list is filled at its end.

    >>> from .native import Device, Stream
    >>> stream = Stream(Device(0, platform="null"))
    >>> with recorded() as calls:
    ...     stream.sync()
    >>> calls
    ['stream_query']
    """
    names: list[str] = []
    null.record(True)
    try:
        yield names
    finally:
        null.record(False)
        names += [name for name, _ in null.calls()]


def problems() -> list[str]:
    """Return what went wrong so far, a sentence each."""
    return null.problems()


def forget_problems() -> None:
    """Begin a new list of problems."""
    null.forget_problems()


def allocations() -> list[Allocation]:
    """Return the memory that is allocated; at the end of a test, all of it is a leak."""
    return [Allocation(*each) for each in null.allocations()]


def handles() -> int:
    """Return how many streams, events, modules, graphs and pools the driver has.

    Streams and events that wait in our pools count.
    """
    return null.handles()


@contextmanager
def limited_memory(size: int, device: int = 0) -> Iterator[None]:
    """Let a device have `size` bytes for a block; it has 1 GiB otherwise."""
    null.set_memory(device, size)
    try:
        yield
    finally:
        null.set_memory(device, 1 << 30)


def fail_next(entry: str, code: int) -> None:
    """Let the next call of an entry of the driver, such as `launch`, answer an error code."""
    null.fail_next(entry, code)
