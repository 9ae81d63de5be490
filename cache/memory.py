"""Keep results in this process: as bytes, and as live values that are built once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Generic, TypeVar

from ..runtime.process import CompilationError
from .fingerprint import artifact_digest
from .record import Record, is_content
from .store import Files, Stats, Store

V = TypeVar("V")


class Memory(Store):
    """A store that ends with the process."""

    writable = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[str, Record] = {}
        self._outputs: dict[str, Files] = {}  # by the digest of the artifact
        self._hits = self._misses = self._kept = 0

    def find(self, key: str) -> Record | None:
        """Return the record under `key`."""
        found = self._records.get(key)
        with self._lock:
            if found is None:
                self._misses += 1
            else:
                self._hits += 1
        return found

    def read(self, record: Record, port: str) -> Files | None:
        """Return the files at `port`; the memory of this process needs no check."""
        output = record.output(port)
        return None if output is None else self._outputs.get(output.digest)

    def take(self, record: Record, outputs: Mapping[str, Files]) -> None:
        """Take in a record and all its outputs, which the caller has just described."""
        with self._lock:
            self._kept += 1
            self._records[record.key] = record
            for output in record.outputs:
                self._outputs[output.digest] = MappingProxyType(dict(outputs[output.port]))

    def admit(self, record: Record, port: str, files: Files) -> None:
        """Take in one output; the others may stay in the store they came from."""
        output = record.output(port)
        if output is None or output.digest != artifact_digest(files):
            return
        with self._lock:
            self._records[record.key] = record
            self._outputs[output.digest] = MappingProxyType(dict(files))

    def blob(self, sha256: str) -> bytes | None:
        """Return the content with this digest."""
        for record in tuple(self._records.values()):
            for output in record.outputs:
                for file in output.files:
                    if file.sha256 == sha256 and output.digest in self._outputs:
                        content = self._outputs[output.digest][file.name]
                        return content if is_content(file, content) else None
        return None

    def records(self, stage: str | None = None, program: str | None = None) -> Iterator[Record]:
        """Yield the records of a stage and a program, sorted by key."""
        for _, record in sorted(self._records.copy().items()):
            if stage in (None, record.stage) and program in (None, record.program):
                yield record

    def lock(self, key: str, limit: float = 120.0) -> AbstractContextManager[bool]:
        """Hold no lock: no other process shares this memory."""
        return nullcontext(True)

    def keep_failure(self, key: str, error: CompilationError) -> None:
        """Do nothing: no other process waits."""

    def stats(self) -> Stats:
        """Count records, outputs and bytes."""
        with self._lock:
            files = [content for output in self._outputs.values() for content in output.values()]
            return Stats(
                records=len(self._records),
                blobs=len(files),
                size=sum(map(len, files)),
                hits=self._hits,
                misses=self._misses,
                kept=self._kept,
            )


class SingleFlight(Generic[V]):
    """Live values by key, each built once however many threads ask.

    >>> flight = SingleFlight[int]()
    >>> flight.get_or_build("answer", lambda: 42), flight.get_or_build("answer", lambda: 0)
    (42, 42)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: dict[str, _Slot[V]] = {}

    def get_or_build(self, key: str, build: Callable[[], V], limit: float | None = None) -> V:
        """Return the value of `key`; the first asker builds it, the others wait.

        The others get the same value or the same exception, and a failed build may be tried
        again. A thread that has waited longer than `limit` seconds builds by itself.
        """
        while True:
            slot, mine = self._claim(key)
            if mine:
                return self._build(key, slot, build)
            if not slot.done() and slot.owner == threading.get_ident():
                raise RuntimeError(f"Building '{key}' asks for '{key}' itself.")
            if not slot.wait(limit):
                return build()
            if slot.error is None:
                return slot.value
            if not isinstance(slot.error, _AbandonedError):
                raise slot.error

    def get(self, key: str) -> V | None:
        """Return the value of `key` if it has been built, None if not."""
        slot = self._slots.get(key)
        if slot is None or not slot.done() or slot.error is not None:
            return None
        return slot.value

    def forget(self, key: str) -> None:
        """Drop the value of `key`, so that the next asker builds it."""
        with self._lock:
            slot = self._slots.get(key)
            if slot is not None and slot.done():
                del self._slots[key]

    def clear(self) -> None:
        """Drop every value; builds that are under way finish for those who wait."""
        with self._lock:
            self._slots = {key: slot for key, slot in self._slots.items() if not slot.done()}

    def __len__(self) -> int:
        return len(self._slots)

    def _claim(self, key: str) -> tuple[_Slot[V], bool]:
        slot = self._slots.get(key)  # no lock on a hit
        if slot is not None:
            return slot, False
        with self._lock:
            slot = self._slots.get(key)
            if slot is not None:
                return slot, False
            slot = self._slots[key] = _Slot()
            return slot, True

    def _build(self, key: str, slot: _Slot[V], build: Callable[[], V]) -> V:
        try:
            value = build()
        except BaseException as error:
            with self._lock:
                del self._slots[key]
            slot.fail(error if isinstance(error, Exception) else _AbandonedError())
            raise
        slot.finish(value)
        return value


class _Slot(Generic[V]):
    """A value that may still be under way, and the thread that builds it.

    It does what a `Future` would do; importing those brings `logging` along.
    """

    __slots__ = ("_building", "_is_done", "error", "owner", "value")
    value: V  # there once the slot is done without an error

    def __init__(self) -> None:
        self.owner = threading.get_ident()
        self.error: Exception | None = None
        self._is_done = False
        self._building = threading.Lock()  # held until it is done; an `Event` takes 5 us to make
        self._building.acquire()

    def done(self) -> bool:
        return self._is_done

    def wait(self, limit: float | None) -> bool:
        """Wait for the builder; says whether it is done."""
        if self._is_done:
            return True
        is_done = self._building.acquire(timeout=-1 if limit is None else max(limit, 0.0))
        if is_done:
            self._building.release()  # the next one who waits
        return is_done

    def finish(self, value: V) -> None:
        self.value = value
        self._is_done = True
        self._building.release()

    def fail(self, error: Exception) -> None:
        self.error = error
        self._is_done = True
        self._building.release()


class _AbandonedError(Exception):
    """The builder was interrupted from outside; its waiters try again."""
