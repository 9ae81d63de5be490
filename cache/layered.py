"""Search several stores in order, the fastest first, and copy results to the faster ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ..runtime.process import CompilationError
from .memory import Memory
from .record import Record
from .store import Files, Stats, Store

if TYPE_CHECKING:
    from .failures import Failure


class Layered:
    """One store made of the memory of this process and stores below it.

    Results are read from the first layer that has them. They are written to the memory and to the
    first layer below it that can be written to, which also takes in results from further down, such
    as from a read-only store of the site.
    """

    def __init__(self, memory: Memory, *stores: Store) -> None:
        self._memory = memory
        self._stores = stores
        self._layers: tuple[Store, ...] = (memory, *stores)
        self._target = next((store for store in stores if store.writable), None)

    @property
    def layers(self) -> tuple[Store, ...]:
        """The layers, the fastest first."""
        return self._layers

    @property
    def path(self) -> Path | None:
        """The folder that results are written to."""
        return self._target.path if self._target else None

    @property
    def writable(self) -> bool:
        """True: the memory keeps results."""
        return True

    @property
    def notes(self) -> Path | None:
        """The folder for memos of the layer that results are written to."""
        return self._target.notes if self._target else None

    def find(self, key: str) -> Record | None:
        """Return the first record under `key`."""
        for layer in self._layers:
            found = layer.find(key)
            if found is not None:
                return found
        return None

    def read(self, record: Record, port: str) -> Files | None:
        """Return the files at `port` from the first layer that has them whole."""
        for depth, layer in enumerate(self._layers):
            files = layer.read(record, port)
            if files is not None:
                self._promote(record, port, files, depth)
                return files
        return None

    def take(self, record: Record, outputs: Mapping[str, Files]) -> None:
        """Remember in this process and in the first layer that can be written to."""
        if self._target is not None:
            self._target.take(record, outputs)
        self._memory.take(record, outputs)

    def admit(self, record: Record, port: str, files: Files) -> None:
        """Take in one output of a record that another store has verified."""
        self._promote(record, port, files, len(self._layers))

    def blob(self, sha256: str) -> bytes | None:
        """Return the content with this digest from the first layer that has it."""
        found = (layer.blob(sha256) for layer in self._layers)
        return next((content for content in found if content is not None), None)

    def records(self, stage: str | None = None, program: str | None = None) -> Iterator[Record]:
        """Yield the records of all layers, sorted by key, each key once."""
        merged: dict[str, Record] = {}
        for layer in self._layers:
            for record in layer.records(stage, program):
                merged.setdefault(record.key, record)
        for key in sorted(merged):
            yield merged[key]

    def lock(self, key: str, limit: float = 120.0) -> AbstractContextManager[bool]:
        """Hold the right to build `key` among the processes that share the written layer."""
        return self._target.lock(key, limit) if self._target else nullcontext(False)

    def failure(self, key: str) -> Failure | None:
        """Return how the last build of `key` failed, as the written layer knows it."""
        return self._target.failure(key) if self._target else None

    def keep_failure(self, key: str, error: CompilationError) -> None:
        """Tell the processes that wait in the layer that results are written to."""
        if self._target:
            self._target.keep_failure(key, error)

    def stats(self) -> Stats:
        """Count in the layer that results are written to; `layers` has the others."""
        return (self._target or self._memory).stats()

    def _promote(self, record: Record, port: str, files: Files, depth: int) -> None:
        if depth > 0:
            self._memory.admit(record, port, files)
        if self._target is not None and depth > self._layers.index(self._target):
            self._target.admit(record, port, files)
