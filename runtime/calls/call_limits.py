"""Thread counts and workspaces of calls, set for a Python thread or for one callable.

The setting closest to the call wins, as in `threads_of_call` of `runtime/native/thread_count.h`.
Loops over few points always run on one thread (the option `parallel_from`). All calls of a
process share one pool of threads: a call takes those that are free and works itself. A forked
process starts a pool of its own.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

from .. import _core
from ..process import ArgumentError

_MOST_THREADS: Final = 1 << 16


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set the number of threads for all calls that this Python thread makes in the block.

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
    """Place the temporaries of all calls that this Python thread makes in the caller's buffer.

    Any contiguous, writable buffer will do, for programs on a GPU any array there;
    `program.workspace_size` says how long it must be.
    A call that needs more is refused. One call at a time uses the memory; concurrent calls in other
    threads allocate their own.

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
    """A program or operator with its own thread count or workspace.

    It is made by `with_threads` and `with_workspace`, costs a few nanoseconds, and shares
    everything else with the program; attributes are the program's.
    """

    def with_threads(self, count: int) -> Self:
        """Return a copy whose calls use `count` threads."""
        return type(self)(self.call, checked_count(count), self.workspace)

    def with_workspace(self, buffer: Any) -> Self:
        """Return a copy whose calls keep their temporaries in the caller's buffer."""
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
    """Return a valid number of threads; refuse anything else."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_THREADS:
        raise ArgumentError(f"Expected a number of threads, 1 to {_MOST_THREADS}, got {count!r}.")
    return count


def as_workspace(buffer: Any) -> _core.Workspace:
    """Return the caller's buffer in the form that the native core takes."""
    if isinstance(buffer, _core.Workspace):
        return buffer
    try:
        return _core.Workspace(buffer)
    except (BufferError, TypeError, ValueError) as error:
        if hasattr(buffer, "__dlpack__") and isinstance(error, TypeError):
            raise ArgumentError(f"A workspace is contiguous, writable memory. {error}") from error
        raise ArgumentError(
            f"A workspace is a contiguous, writable buffer, got {_flaw(buffer)}.",
            hint="Make one with 'numpy.empty(program.workspace_size(...), numpy.uint8)'.",
        ) from error


def _flaw(buffer: Any) -> str:
    """Return the error for an object that cannot be a workspace."""
    kind = f"'{type(buffer).__name__}'"
    try:
        seen = memoryview(buffer)
    except TypeError:
        return f"{kind}, which is no buffer"
    if seen.readonly:
        return f"{kind} that is read-only"
    return kind if seen.c_contiguous else f"{kind} that is not contiguous"
