"""How many threads calls use and where their temporaries lie: said for a thread, or for a call.

What is said closest to the call counts: `with_threads` on what is called, `threads` around it, the
option `threads` of the backend, `OMP_NUM_THREADS`. Loops over few points run on one thread
whatever is said (the option `parallel_from`). In a process that was forked after a program ran,
calls use one thread: the threads of OpenMP do not follow a fork.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from .. import _core
from ..process.errors import ArgumentError


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let the calls that this thread makes use so many threads.

    >>> with threads(1):
    ...     pass  # calls here run on the thread that makes them
    """
    before = _core.set_threads(checked_count(count))
    try:
        yield
    finally:
        _core.set_threads(before)


@contextmanager
def workspace(buffer: Any) -> Iterator[None]:
    """Let the calls that this thread makes keep their temporaries in memory of the caller.

    Any contiguous, writable buffer will do; `program.workspace_size` says how long it must be.
    A call that needs more is refused. One call uses the memory at a time; others that run
    beside it in other threads have memory of their own, as without this.

    >>> import numpy as np
    >>> with workspace(np.empty(1 << 20, np.uint8)):
    ...     pass  # calls here ask the system for nothing
    """
    before = _core.set_workspace(as_workspace(buffer))
    try:
        yield
    finally:
        _core.set_workspace(before)


class Limited(_core.Limited):
    """A program or operator whose calls have threads or memory of their own.

    It is made by `with_threads` and `with_workspace`, costs a few nanoseconds, and shares
    everything else with the program; attributes are the program's.
    """

    def with_threads(self, count: int) -> Self:
        """Use so many threads."""
        return type(self)(self.call, checked_count(count), self.workspace)

    def with_workspace(self, buffer: Any) -> Self:
        """Keep temporaries in memory of the caller."""
        return type(self)(self.call, self.threads, as_workspace(buffer))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.workspace is not None:
            raise pickle.PicklingError("Calls with a workspace of the caller cannot be pickled.")
        return type(self), (self.call, self.threads)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.call, name)

    def __repr__(self) -> str:
        limits = [f"{self.threads} threads"] if self.threads else []
        limits += [f"{self.workspace.size} bytes"] if self.workspace is not None else []
        return f"<{self.call!r} with {', '.join(limits)}>"


def checked_count(count: int) -> int:
    """Return a number of threads, or refuse what is none."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 1 << 16:
        raise ArgumentError(f"Expected a number of threads, 1 or more, got {count!r}.")
    return count


def as_workspace(buffer: Any) -> _core.Workspace:
    """Return memory of the caller as the native core takes it."""
    if isinstance(buffer, _core.Workspace):
        return buffer
    try:
        return _core.Workspace(buffer)
    except (BufferError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"A workspace is a contiguous, writable buffer, got {_flaw(buffer)}.",
            hint="Make one with 'numpy.empty(program.workspace_size(...), numpy.uint8)'.",
        ) from error


def _flaw(buffer: Any) -> str:
    """Say what keeps an object from being a workspace."""
    kind = f"'{type(buffer).__name__}'"
    try:
        seen = memoryview(buffer)
    except TypeError:
        return f"{kind}, which is no buffer"
    if seen.readonly:
        return f"{kind} that is read-only"
    return kind if seen.c_contiguous else f"{kind} that is not contiguous"
