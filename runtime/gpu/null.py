"""The records of the null platform: calls, problems, memory and handles that are still held.

The null driver runs everything at once, in the memory of the host. It refuses double frees, uses
after a free and copies beyond the end, and notes where two streams use the same memory without an
order between them. Tests read its records here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from ..process import settings
from .native import null, take_ranges

Guard: TypeAlias = Literal["after", "before"]
_SIDES: Final = {None: 0, "after": 1, "before": 2}
_guard: Guard | None = None


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


def ranges() -> list[str]:
    """Return the ranges of programs since the last time, as 'push NAME' and 'pop'."""
    return take_ranges()


@contextmanager
def guarded(side: Guard = "after") -> Iterator[None]:
    """Put pages that no kernel may touch around all memory that a block allocates.

    A kernel that touches one is a `GpuError` that names it, the thread, and how far beyond the
    memory it is. The page on that `side` begins right there, or after less than 16 bytes; of the
    space on the other side a write is found when the memory is freed. Memory that was freed is
    guarded as a whole. The setting `FIELDFORGE_GPU_GUARD` does this for a process.
    """
    _turn_guards(side)
    try:
        yield
    finally:
        _follow_settings()


def guard() -> Guard | None:
    """Return the side of the guards that new memory gets, None without guards."""
    return _guard


def _turn_guards(side: Guard | None) -> None:
    global _guard  # noqa: PLW0603  # the driver's own is not asked for every field
    null.set_guard(_SIDES[side])
    _guard = side


def _follow_settings() -> None:
    _turn_guards(cast("Guard | None", settings.current().gpu_guard))


settings.on_change(_follow_settings)
if settings.are_read():
    _follow_settings()


def fail_next(entry: str, code: int) -> None:
    """Let the next call of an entry of the driver, such as `launch`, answer an error code."""
    null.fail_next(entry, code)
