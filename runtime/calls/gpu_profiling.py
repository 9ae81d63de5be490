"""Ranges in GPU profiles: one around each call of a program while profiling is on.

The ranges are CuPy's, which NVIDIA's and AMD's profilers show. Without CuPy every function does
nothing, and warns about it.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from threading import Lock
from typing import Any, Final

from ..process import classes, hooks


@classes.define
class _Session:
    """The number of starts without a stop, and the function that stops profiling."""

    count: int = 0
    stack: ExitStack = classes.field(factory=ExitStack)
    lock: Any = classes.field(factory=Lock)


_session: Final = _Session()


def time_range(
    message: str | None = None, *arguments: Any, **options: Any
) -> AbstractContextManager[Any]:
    """Return a context manager that marks a range; the arguments are those of CuPy's.

    >>> with time_range("a step of the model"):
    ...     pass
    """
    profiler = _profiler()
    if profiler is None:
        return nullcontext()
    found: AbstractContextManager[Any] = profiler.time_range(message, *arguments, **options)
    return found


def profile() -> AbstractContextManager[Any]:
    """Return a context manager around a block that a profiler records."""
    profiler = _profiler()
    return nullcontext() if profiler is None else profiler.profile()


def is_profiling_calls() -> bool:
    """Say whether calls of programs are marked."""
    return _session.count > 0


@contextmanager
def profile_calls() -> Iterator[None]:
    """Mark every call of a program inside the block."""
    if not start_profiling_calls():
        warnings.warn("Calls are profiled already; 'profile_calls' is nested.", stacklevel=3)
    try:
        yield
    finally:
        stop_profiling_calls()


def start_profiling_calls() -> bool:
    """Mark calls of programs from now on; return False if they are marked already.

    Each start needs a stop, the last of which ends it.
    """
    with _session.lock:
        _session.count += 1
        if _session.count > 1:
            return False
        try:
            profiler = _profiler()
            if profiler is not None:
                _session.stack.enter_context(profiler.profile())
            for hook, around in _AROUND if profiler is not None else ():
                hook.register(around, index=0)
                _session.stack.callback(hook.remove, around)
        except BaseException:
            _session.count = 0
            _session.stack.close()
            raise
        return True


def stop_profiling_calls() -> bool:
    """Undo one `start_profiling_calls`; return False if other starts remain, or none was made."""
    with _session.lock:
        if not _session.count:
            return False
        _session.count -= 1
        if _session.count:
            return False
        _session.stack.close()
        return True


def _profiler() -> Any:
    try:
        return importlib.import_module("cupyx.profiler")
    except ImportError:
        warnings.warn("Profiling of GPUs needs CuPy and a GPU; nothing is marked.", stacklevel=3)
        return None


# Callbacks have the parameters of their hook, used or not.


def _around_program(
    program: Any,
    args: tuple[Any, ...],  # noqa: ARG001
    offset_provider: Mapping[str, Any],  # noqa: ARG001
    enable_jit: bool,  # noqa: ARG001
    kwargs: Mapping[str, Any],  # noqa: ARG001
) -> AbstractContextManager[Any]:
    return time_range(program.__name__)


def _around_compiled(
    program_pool: Any,
    key: Any,  # noqa: ARG001
    args: tuple[Any, ...],  # noqa: ARG001
    kwargs: Mapping[str, Any],  # noqa: ARG001
    offset_provider: Mapping[str, Any],  # noqa: ARG001
) -> AbstractContextManager[Any]:
    return time_range("<".join(program_pool.root) + ">")


_AROUND: Final = (
    (hooks.program_call_context, _around_program),
    (hooks.compiled_program_call_context, _around_compiled),
)
