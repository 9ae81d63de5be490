"""A compiler's refusal is shared with those who waited, and with nobody else."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.failures import Failure, parse_failure
from fieldforge.cache.layered import Layered
from fieldforge.cache.locks import build_once
from fieldforge.cache.memory import Memory
from fieldforge.cache.sealed import seal
from fieldforge.runtime.process.errors import CompilationError

REFUSED = CompilationError(
    "The compiler failed.", command=("c++", "-O3"), exit_code=1, log="no\nno", hints=["Look."]
)


def refuse() -> str:
    raise REFUSED


def test_a_failure_survives_being_written(disk, sample):
    disk.keep_failure(sample.key, REFUSED)
    error = Disk(disk.path).failure(sample.key).error()
    assert str(error) == str(REFUSED)
    assert (error.command, error.exit_code, error.log) == (("c++", "-O3"), 1, "no\nno")


@pytest.mark.parametrize("code", [None, -9, -11, 0])
def test_a_compiler_that_was_killed_or_never_ran_may_do_better_next_time(code, disk, sample):
    disk.keep_failure(sample.key, CompilationError("ended", exit_code=code))
    assert disk.failure(sample.key) is None


def test_damage_is_no_failure(disk, sample, root):
    disk.keep_failure(sample.key, REFUSED)
    (path,) = (root / "v1/neg").glob("*/*")
    content = path.read_bytes()
    for bit in range(0, 8 * len(content), 11):
        path.unlink()
        path.write_bytes(bytes(content[: bit // 8]) + bytes([content[bit // 8] ^ 1]))
        assert disk.failure(sample.key) is None
    for body in ("[]", "{}", '{"token": 1}', json.dumps({"command": 1, "hints": 2})):
        with pytest.raises(ValueError, match="wrong shape"):
            parse_failure(seal("fieldforge-failure-1", body))


def test_a_later_build_tries_again(disk, sample):
    with pytest.raises(CompilationError):
        build_once(disk, sample.key, lambda: None, refuse)
    assert disk.failure(sample.key) is not None
    assert build_once(disk, sample.key, lambda: None, lambda: "built") == "built"


@pytest.mark.parametrize("layered", [False, True])
def test_those_who_wait_share_the_failure_of_the_one_who_builds(root, sample, layered):
    """Stores of their own stand for processes of their own: only the disk is common."""
    stores = [Disk(root) for _ in range(4)]
    if layered:
        stores = [Layered(Memory(), store) for store in stores]
    began, go, tries = threading.Event(), threading.Event(), []

    def build() -> str:
        tries.append(1)
        began.set()
        assert go.wait(20)
        raise REFUSED

    def wait(store) -> str:
        return build_once(store, sample.key, lambda: None, lambda: tries.append(1) or "built")

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(build_once, stores[0], sample.key, lambda: None, build)
        assert began.wait(20)
        seen = [threading.Event() for _ in stores[1:]]
        others = [
            pool.submit(_after, event, store, wait)
            for store, event in zip(stores[1:], seen, strict=True)
        ]
        for event in seen:
            assert event.wait(20)
        threading.Event().wait(0.3)  # into the wait
        go.set()
        errors = [future.exception(20) for future in (first, *others)]
    assert [str(error) for error in errors] == [str(REFUSED)] * 4
    assert tries == [1]


def _after(event, store, work):
    event.set()
    return work(store)


def test_who_finds_the_result_after_waiting_does_not_build(disk, sample):
    assert build_once(disk, sample.key, lambda: "found", refuse) == "found"


def test_each_failure_is_another(sample):
    assert Failure.of(REFUSED).token != Failure.of(REFUSED).token


def test_a_memory_has_no_failures(sample):
    memory = Memory()
    memory.keep_failure(sample.key, REFUSED)
    assert memory.failure(sample.key) is None
