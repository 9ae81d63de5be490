"""The memory remembers for one process, and builds each live value once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fieldforge.cache.fingerprint import components_key, sha256
from fieldforge.cache.memory import Memory, SingleFlight


def test_what_is_kept_is_found(sample):
    memory = Memory()
    record = sample.keep(memory)
    assert memory.find(sample.key) == record
    assert sample.is_in(memory)
    assert memory.find(components_key({})) is None
    assert memory.read(record, "no such port") is None
    library = sample.outputs["compiled"]["library.so"]
    assert memory.blob(sha256(library)) == library
    assert memory.blob(sha256(b"other")) is None
    assert [r.key for r in memory.records("compile")] == [sample.key]
    assert list(memory.records("lower")) == []
    stats = memory.stats()
    assert (stats.records, stats.blobs, stats.hits, stats.misses) == (1, 2, 2, 1)


def test_a_caller_cannot_change_what_is_remembered(sample):
    memory = Memory()
    files = dict(sample.outputs["compiled"])
    record = sample.keep(memory, outputs={"compiled": files})
    files["log.txt"] = b"changed"
    assert sample.is_in(memory)
    with pytest.raises(TypeError):
        memory.read(record, "compiled")["log.txt"] = b"changed"


def test_files_that_are_not_the_record_s_are_not_admitted(sample, disk):
    record = sample.keep(disk)
    memory = Memory()
    memory.admit(record, "compiled", {"library.so": b"other"})
    assert memory.find(sample.key) is None
    memory.admit(record, "compiled", sample.outputs["compiled"])
    assert sample.is_in(memory)


def test_many_threads_that_ask_for_few_keys_build_each_once():
    flight: SingleFlight[object] = SingleFlight()
    built: list[str] = []
    barrier = threading.Barrier(8)

    def ask(worker: int) -> list[object]:
        barrier.wait()
        return [flight.get_or_build(f"k{n}", lambda n=n: build(f"k{n}")) for n in range(25)]

    def build(key: str) -> object:
        built.append(key)
        time.sleep(0.001)
        return object()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert sorted(built) == sorted(f"k{n}" for n in range(25))
    assert all(
        one is other for answer in answers for one, other in zip(answer, answers[0], strict=True)
    )
    assert len(flight) == 25


def waiting(flight: SingleFlight[int], start: threading.Event, go: threading.Event, error):
    """Return a build that says when it has started and fails when it is let go."""

    def build() -> int:
        start.set()
        assert go.wait(20)
        raise error

    return build


def test_those_who_wait_get_the_builder_s_exception_and_may_try_again():
    flight: SingleFlight[int] = SingleFlight()
    start, go, error = threading.Event(), threading.Event(), OSError("no compiler")
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(flight.get_or_build, "k", waiting(flight, start, go, error))
        assert start.wait(20)
        asking = threading.Barrier(4)
        others = [pool.submit(ask, flight, asking) for _ in range(3)]
        asking.wait(20)
        time.sleep(0.3)  # from the barrier into the wait is a few instructions
        go.set()
        raised = [future.exception(20) for future in [first, *others]]
    assert raised == [error] * 4
    assert flight.get_or_build("k", lambda: 2) == 2


def ask(flight: SingleFlight[int], asking: threading.Barrier) -> int:
    asking.wait(20)
    return flight.get_or_build("k", lambda: 1)


def test_an_interrupted_builder_leaves_the_work_to_those_who_wait():
    flight: SingleFlight[int] = SingleFlight()
    start, go = threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(
            flight.get_or_build, "k", waiting(flight, start, go, KeyboardInterrupt())
        )
        assert start.wait(20)
        other = pool.submit(flight.get_or_build, "k", lambda: 7)
        time.sleep(0.05)
        go.set()
        assert isinstance(first.exception(20), KeyboardInterrupt)
        assert other.result(20) == 7
    assert flight.get("k") == 7


def test_who_has_waited_too_long_builds_privately():
    flight: SingleFlight[int] = SingleFlight()
    start, go = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(flight.get_or_build, "k", waiting(flight, start, go, OSError("late")))
        assert start.wait(20)
        assert flight.get_or_build("k", lambda: 5, limit=0.01) == 5
        go.set()
        assert isinstance(first.exception(20), OSError)


def test_a_build_that_times_out_itself_is_a_failure_like_any_other():
    flight: SingleFlight[int] = SingleFlight()

    def build() -> int:
        raise TimeoutError("the compiler took too long")

    with pytest.raises(TimeoutError, match="compiler"):
        flight.get_or_build("k", build)
    assert flight.get_or_build("k", lambda: 1) == 1


def test_a_build_that_asks_for_itself_is_refused():
    flight: SingleFlight[int] = SingleFlight()
    with pytest.raises(RuntimeError, match="asks for 'k' itself"):
        flight.get_or_build("k", lambda: flight.get_or_build("k", lambda: 1))


def test_none_is_a_value():
    flight: SingleFlight[None] = SingleFlight()
    calls: list[int] = []
    for _ in range(2):
        assert flight.get_or_build("k", lambda: calls.append(1)) is None
    assert calls == [1]


def test_values_can_be_forgotten():
    flight: SingleFlight[int] = SingleFlight()
    assert flight.get("k") is None
    flight.get_or_build("k", lambda: 1)
    flight.forget("k")
    flight.forget("never there")
    assert flight.get_or_build("k", lambda: 2) == 2
    flight.clear()
    assert flight.get("k") is None
