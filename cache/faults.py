"""Report faults of a disk as events, once for each cause, and never raise them."""

from __future__ import annotations

import errno
import threading
from collections import Counter

from ..runtime.process import StoreError, StoreReadError, StoreWriteError
from .store import OnEvent


class Faults:
    """Counts and reports what happens to one store in this process."""

    def __init__(self, on_event: OnEvent) -> None:
        self.on_event = on_event
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._reported: set[tuple[str, str]] = set()

    def count(self, what: str) -> None:
        """Add one to the figure `what` of the store's `Stats`."""
        with self._lock:
            self._counts[what] += 1

    @property
    def counts(self) -> dict[str, int]:
        """The figures so far."""
        with self._lock:
            return dict(self._counts)

    def corrupt(self, path: str, reason: str) -> None:
        """Report a damaged file, each time."""
        self.count("corrupt")
        error = StoreReadError(
            f"The stored file '{path}' is damaged and was set aside: {reason}",
            hints=("It is built again. If this happens often, check the disk.",),
        )
        self.on_event("store.corrupt", path=path, error=error)

    def no_pack(self, path: str, reason: str) -> None:
        """Report a file that was to be a pack and is none."""
        self.count("corrupt")
        error = StoreReadError(
            f"'{path}' is no pack, or it is damaged: {reason}.",
            hints=("Write packs with 'fieldforge cache pack'; without it, results are built.",),
        )
        self.on_event("store.corrupt", path=path, error=error)

    def unreadable(self, path: str, error: OSError) -> None:
        """Report that a file could not be read."""
        message = f"The store could not read '{path}': {_text(error)}."
        hints = ("The result is built again.",)
        self._once("store.read_failed", path, error, StoreReadError(message, hints=hints))

    def unmovable(self, path: str, error: OSError) -> None:
        """Report that a damaged file stays where it is."""
        message = f"The store could not set the damaged file '{path}' aside: {_text(error)}."
        hints = ("The result is built again at each start. Delete the file.",)
        self._once("store.quarantine_failed", path, error, StoreReadError(message, hints=hints))

    def unwritable(self, path: str, error: OSError) -> None:
        """Report that a result was not written."""
        self.count("failed_writes")
        message = f"The store could not write '{path}': {_text(error)}."
        hints = (
            "The program runs, but the next start builds it again. Free some space, "
            "or name another folder with FIELDFORGE_CACHE_DIR.",
        )
        self._once("store.put_failed", path, error, StoreWriteError(message, hints=hints))

    def _once(self, name: str, path: str, error: OSError, typed: StoreError) -> None:
        cause = errno.errorcode.get(error.errno or 0, type(error).__name__)
        with self._lock:
            if (name, cause) in self._reported:
                return
            self._reported.add((name, cause))
        self.on_event(name, path=path, cause=cause, error=typed)


def _text(error: OSError) -> str:
    return error.strerror or type(error).__name__
