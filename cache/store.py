"""Define what every store of results offers.

A reader asks a store for a *record* by key, then for the files of one of its outputs. The store
checks every answer; a damaged result is a miss.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..runtime.process import CompilationError, StoreError, classes
from .record import Record, describe

if TYPE_CHECKING:  # most processes meet no failure
    from .failures import Failure

OnEvent: TypeAlias = Callable[..., None]
Files: TypeAlias = Mapping[str, bytes]


def ignore(name: str, **facts: Any) -> None:
    """Ignore an event."""


@classes.frozen
class Stats:
    """The size of a store, and how often this process used it."""

    records: int = 0
    blobs: int = 0
    size: int = 0
    hits: int = 0
    misses: int = 0
    kept: int = 0
    corrupt: int = 0
    failed_writes: int = 0


class Store(Protocol):
    """Results of stages by key; a subclass without a folder inherits what that means."""

    @property
    def path(self) -> Path | None:
        """The folder of the store, None when there is none."""
        return None

    @property
    def writable(self) -> bool:
        """Whether `take` stores results."""
        return False

    @property
    def notes(self) -> Path | None:
        """A private folder for small memos that may be lost, None for a store without a folder."""
        return None

    def find(self, key: str) -> Record | None:
        """Return the record under `key`, None if there is none or it is damaged."""

    def read(self, record: Record, port: str) -> Files | None:
        """Return the files at `port`, each of them verified, None if any is missing or damaged."""

    def take(self, record: Record, outputs: Mapping[str, Files]) -> None:
        """Take in a record and all its outputs; a failed write is an event, not an error."""

    def admit(self, record: Record, port: str, files: Files) -> None:
        """Take in one output of a record that another store has verified."""

    def blob(self, sha256: str) -> bytes | None:
        """Return the verified content with this digest, None if it is not kept on its own."""

    def records(self, stage: str | None = None, program: str | None = None) -> Iterator[Record]:
        """Yield the records of a stage and a program, sorted by key."""

    def lock(self, key: str, limit: float = 120.0) -> AbstractContextManager[bool]:
        """Hold the lock of the build of `key` among processes; give False where there is none.

        A caller that gets False builds all the same: a lock only saves work.
        """
        return nullcontext(False)

    def failure(self, key: str) -> Failure | None:
        """Return how the last build of `key` failed in some process, None if none is recorded."""
        return None

    def keep_failure(self, key: str, error: CompilationError) -> None:
        """Tell the processes that wait for `key` what the compiler said."""

    def stats(self) -> Stats:
        """Count records, files and uses."""


def keep_result(
    store: Store,
    key: str,
    *,
    stage: str,
    program: str,
    components: Mapping[str, str],
    outputs: Mapping[str, Files],
    seconds: float = 0.0,
    meta: Mapping[str, str] | None = None,
) -> Record:
    """Describe the outputs of a stage and let a store take them in.

    Raises:
        StoreError: a name cannot be stored; it is the stage's author who is told.

    """
    try:
        record = describe(
            key,
            stage,
            program,
            components,
            outputs,
            round(float(seconds), 6),
            int(time.time()),
            {"host": _host(), **(meta or {})},
        )
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"The result of stage '{stage}' of '{program}' cannot be stored: {error}",
            hints=("Give keys as 64 hexadecimal digits and files and ports plain names.",),
        ) from error
    store.take(record, outputs)
    return record


def read_outputs(store: Store, record: Record) -> dict[str, Files] | None:
    """Return all files of a record by port, None if any is missing or damaged."""
    outputs = {output.port: store.read(record, output.port) for output in record.outputs}
    found = {port: files for port, files in outputs.items() if files is not None}
    return found if len(found) == len(outputs) else None


@functools.lru_cache(maxsize=1)
def _host() -> str:
    return os.uname().nodename
