"""What the tests of the stores share: a result to keep, and a list of the events that happened."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.fingerprint import components_key
from fieldforge.cache.record import Record
from fieldforge.cache.store import keep_result

LIBRARY = bytes(range(256)) * 80


class Events(list[tuple[str, dict[str, Any]]]):
    """A list that stores can report to."""

    def __call__(self, name: str, **facts: Any) -> None:
        self.append((name, facts))

    def names(self) -> list[str]:
        return [name for name, _ in self if name != "store.kept"]


class Sample:
    """One result of a stage: a library too large for the record, and a log that is not."""

    components: ClassVar = {"stage": "compile 1", "source": "0f", "isa": "x86-64-v3"}
    key = components_key(components)
    outputs: ClassVar = {"compiled": {"library.so": LIBRARY, "log.txt": b"fine \xc3\xa9"}}

    def keep(self, store: Any, **changes: Any) -> Record:
        facts = {
            "stage": "compile",
            "program": "module:lap",
            "components": self.components,
            "outputs": self.outputs,
            "seconds": 0.5,
        }
        return keep_result(store, changes.pop("key", self.key), **(facts | changes))

    def is_in(self, store: Any) -> bool:
        record = store.find(self.key)
        return record is not None and store.read(record, "compiled") == self.outputs["compiled"]


@pytest.fixture
def sample() -> Sample:
    return Sample()


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def disk(root: Path, events: Events) -> Disk:
    return Disk(root, on_event=events)


@pytest.fixture
def record_path(disk: Disk, sample: Sample, root: Path) -> Path:
    sample.keep(disk)
    return next((root / "v1/act").glob("*/*"))


@pytest.fixture
def blob_path(record_path: Path, root: Path) -> Path:
    return next((root / "v1/cas").glob("*/*"))


@pytest.fixture
def flipped() -> Any:
    """Return a function that changes one bit of a file."""

    def flip(path: Path, bit: int, content: bytes) -> None:
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        replace(path, bytes(damaged))

    return flip


@pytest.fixture
def replaced() -> Any:
    """Return a function that puts other content in place of a file."""
    return replace


def replace(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(content)
