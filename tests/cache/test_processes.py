"""Many processes over one store: every key is built once, and killing breaks nothing."""

import os
import subprocess
import sys
import time

import pytest

from fieldforge.cache.disk import Disk

from ..processes import python

COMMON = """
import os, sys, time
from concurrent.futures import ThreadPoolExecutor
from fieldforge.cache.disk import Disk
from fieldforge.cache.fingerprint import components_key
from fieldforge.cache.store import keep_result

def content(n):
    return {"out": {"library.so": bytes([n % 256]) * 30_000, "log.txt": b"%d" % n}}

def key(n):
    return components_key({"n": str(n)})

def keep(store, n):
    return keep_result(store, key(n), stage="compile", program="p", components={"n": str(n)},
                      outputs=content(n), seconds=0.0)
"""

BUILD = (
    COMMON
    + """
from fieldforge.cache.layered import Layered
from fieldforge.cache.memory import Memory, SingleFlight

root, log, keys, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = Layered(Memory(), Disk(root))
flight = SingleFlight()

def build(n):
    record = store.find(key(n))
    if record is None:
        with store.lock(key(n), limit=60) as mine:
            assert mine
            record = store.find(key(n))
            if record is None:
                with open(log, "a") as stream:
                    stream.write(f"{n}\\n")
                time.sleep(0.005)
                record = keep(store, n)
    return store.read(record, "out")

def work(start):
    for step in range(keys):
        n = (start * 7 + step) % keys
        assert flight.get_or_build(key(n), lambda: build(n)) == content(n)["out"]

with ThreadPoolExecutor(threads) as pool:
    list(pool.map(work, range(threads)))
print("done")
"""
)

CHURN = (
    COMMON
    + """
root, seed = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
n = seed
while True:
    keep(Disk(root), n % 40)
    n += 1
"""
)

COUNT = """
import os, sys
from fieldforge.cache.locks import BuildLock

path, log, rounds, delete = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "yes"
for n in range(rounds):
    with BuildLock(path).acquire(60) as mine:
        assert mine
        handle = os.open(log, os.O_RDWR | os.O_CREAT)
        value = int(os.read(handle, 20) or b"0")
        os.pwrite(handle, b"%d" % (value + 1), 0)
        os.close(handle)
        if delete and n % 3 == 0:
            os.unlink(path)
"""


def start(script: str, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, said


@pytest.mark.parametrize(("processes", "threads", "keys"), [(4, 4, 25)])
def test_every_key_is_built_exactly_once(processes, threads, keys, root, tmp_path):
    log = tmp_path / "built"
    finish([start(BUILD, root, log, keys, threads) for _ in range(processes)])
    assert sorted(map(int, log.read_text().split())) == list(range(keys))
    assert os.listdir(root / "v1/tmp") == []
    assert Disk(root).stats().records == keys


@pytest.mark.parametrize("delete", [pytest.param("no", marks=pytest.mark.in_full), "yes"])
def test_locks_never_overlap_even_when_lock_files_are_deleted(delete, tmp_path):
    log = tmp_path / "count"
    finish([start(COUNT, tmp_path / "l" / "lock", log, 60, delete) for _ in range(4)])
    assert int(log.read_text()) == 240


def test_writers_of_the_same_key_do_not_disturb_readers(root, events):
    writers = [start(CHURN, root, 0) for _ in range(2)]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        store = Disk(root, on_event=events)
        space: dict = {}
        exec(COMMON, space)
        hits = 0
        until = time.monotonic() + 20
        while hits < 300 and time.monotonic() < until:
            n = hits % 40
            record = store.find(space["key"](n))
            if record is not None:
                assert store.read(record, "out") == space["content"](n)["out"]
                hits += 1
        assert hits == 300
        assert events.names() == []
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()


LIGHT = """
import sys
import fieldforge.cache.disk, fieldforge.cache.layered, fieldforge.cache.explain
import fieldforge.cache.code, fieldforge.cache.locks
heavy = {"networkx", "structlog", "rich", "click", "dace", "cupy", "matplotlib", "sympy"}
heavy |= {"pickle", "socket", "uuid", "sqlite3", "multiprocessing", "asyncio", "importlib.metadata"}
print(sorted(heavy & set(sys.modules) - before))
"""


def test_the_store_imports_nothing_heavy():
    script = "import sys, attrs, numpy; before = set(sys.modules)\n" + LIGHT
    said = python("-c", script, check=True)
    assert said.stdout.strip() == "[]"
