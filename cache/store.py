"""What a store of results offers, whatever remembers them.

A store is asked for a *record* by key and then for the files of one of its
outputs. Every answer has been checked; anything that is wrong counts as not being there.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import attrs

from ..runtime.process.errors import CompilationError, StoreError
from .record import Record, describe

if TYPE_CHECKING:  # most processes meet no failure
    from .failures import Failure

OnEvent: TypeAlias = Callable[..., None]
Files: TypeAlias = Mapping[str, bytes]


def ignore(name: str, **facts: Any) -> None:
    """Take no notice of an event."""


@attrs.frozen
class Stats:
    """What lies in a store now, and what this process asked of it."""

    records: int = 0
    blobs: int = 0
    size: int = 0
    hits: int = 0
    misses: int = 0
    kept: int = 0
    corrupt: int = 0
    failed_writes: int = 0


class Store(Protocol):
    """Results of stages by key."""

    @property
    def path(self) -> Path | None:
        """The folder of the store, None when there is none."""

    @property
    def writable(self) -> bool:
        """Whether `keep` means to remember anything."""

    @property
    def notes(self) -> Path | None:
        """A private folder for small memos that may be lost, None where nothing lasts."""

    def find(self, key: str) -> Record | None:
        """Return the record under `key`, None if there is none or it is damaged."""

    def read(self, record: Record, port: str) -> Files | None:
        """Return the files at `port`, each of them verified, None if any is missing or damaged."""

    def keep(
        self,
        key: str,
        *,
        stage: str,
        program: str,
        components: Mapping[str, str],
        outputs: Mapping[str, Files],
        seconds: float = 0.0,
        meta: Mapping[str, str] | None = None,
    ) -> Record:
        """Remember what a stage gave; a fault of the medium is an event, not an error."""

    def admit(self, record: Record, port: str, files: Files) -> None:
        """Take in one output of a record that another store has verified."""

    def blob(self, sha256: str) -> bytes | None:
        """Return the verified content with this digest, None if it is not kept on its own."""

    def records(self, stage: str | None = None, program: str | None = None) -> Iterator[Record]:
        """Yield the records of a stage and a program, sorted by key."""

    def lock(self, key: str, limit: float = 120.0) -> AbstractContextManager[bool]:
        """Hold the right to build `key` among processes; gives False when there is no such right.

        Whoever gets False builds all the same: a lock only saves work.
        """

    def failure(self, key: str) -> Failure | None:
        """Return how the last build of `key` failed in some process, None if nobody said."""

    def keep_failure(self, key: str, error: CompilationError) -> None:
        """Let those who wait for `key` know what the compiler said."""

    def stats(self) -> Stats:
        """Count."""


def make_record(
    key: str,
    *,
    stage: str,
    program: str,
    components: Mapping[str, str],
    outputs: Mapping[str, Files],
    seconds: float,
    meta: Mapping[str, str] | None,
) -> Record:
    """Describe a result; names that could not be stored are an error of the stage's author."""
    try:
        return describe(
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


@functools.lru_cache(maxsize=1)
def _host() -> str:
    return os.uname().nodename
