"""Let the n-th call of the system fail, or end the process there: every call from Python code.

    injector = Injector()
    with injector.installed():
        calls = injector.run(action, at=3, do=fail(errno.ENOSPC))

Counting begins and ends with `run`; what other code does between is left alone.
"""

import builtins
import errno
import fcntl
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CAUSES = [
    errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EMFILE, errno.EINTR,
    errno.ESTALE, errno.EBUSY,
]  # fmt: skip
CRASHED = 137
_NAMES = (
    "chmod", "close", "fstat", "fsync", "ftruncate", "link", "listdir", "lstat", "makedirs",
    "memfd_create", "mkdir", "open", "pread", "pwrite", "read", "readlink", "rename", "replace",
    "rmdir", "scandir", "stat", "symlink", "unlink", "utime", "write",
)  # fmt: skip
CALLS = [
    *((os, name) for name in _NAMES if hasattr(os, name)),
    (fcntl, "flock"), (fcntl, "fcntl"), (builtins, "open"), (io, "open"),
]  # fmt: skip

Deed = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


def fail(cause: int) -> Deed:
    """Raise as the system would; a descriptor is closed even when closing reports a fault."""

    def deed(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if call.__name__ == "close":
            call(*args)
        raise OSError(cause, os.strerror(cause))

    return deed


def crash_before(call: Any, args: Any, kwargs: Any) -> Any:
    """End the process as a power cut would, before the call."""
    os._exit(CRASHED)


def crash_after(call: Any, args: Any, kwargs: Any) -> Any:
    """End the process after the call, whether it succeeded or not."""
    try:
        call(*args, **kwargs)
    finally:
        os._exit(CRASHED)


class Injector:
    """Counts calls of the system, and does something at one of them."""

    def __init__(self) -> None:
        self.seen, self._at, self._armed = 0, -1, False
        self._do: Deed = crash_before

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Watch all calls inside the block."""
        saved = [(module, name, getattr(module, name)) for module, name in CALLS]
        for module, name, call in saved:
            setattr(module, name, self._watched(call))
        try:
            yield
        finally:
            for module, name, call in saved:
                setattr(module, name, call)

    def run(self, action: Callable[[], Any], at: int, do: Deed) -> int:
        """Do `action` while `do` happens at call number `at`; return how many calls there were."""
        self.seen, self._at, self._do, self._armed = 0, at, do, True
        try:
            action()
        finally:
            self._armed = False
        return self.seen

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            if self._armed:
                self.seen += 1
                if self.seen == self._at:
                    return self._do(call, args, kwargs)
            return call(*args, **kwargs)

        watched.__name__ = getattr(call, "__name__", "call")
        return watched
