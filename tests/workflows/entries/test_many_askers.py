"""Threads of many processes ask one cold store for the same builds: each is done once."""

import subprocess
import sys

import pytest

from fieldforge.cache.disk import Disk

ASK = """
import os, random, sys, time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import attrs

from fieldforge.cache.disk import Disk
from fieldforge.stages.base import Stage
from fieldforge.workflows.engine.engine import Engine
from fieldforge.workflows.graph.function_stage import Text
from fieldforge.workflows.graph.graph import Workflow

root, log, processes, threads, keys = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])

@attrs.frozen
class Compile(Stage):
    name: ClassVar[str] = "compile"
    version: ClassVar[str] = "of a test"
    needs: ClassVar[Any] = ("source",)
    provides: ClassVar[Any] = {"library": Text}

    def run(self, *, source):
        with open(log, "a") as stream:
            stream.write(source.text + "\\n")
        time.sleep(0.01)
        return {"library": Text("library of " + source.text * 1000)}

flow = Workflow.chain(Compile())

def ask(engine, seed):
    order = list(range(keys))
    random.Random(seed).shuffle(order)
    for number in order:
        source = Text(f"program {number}")
        results = engine.run(flow, {"source": source}, program=source.text)
        assert results["compile"].outputs["library"].get().text.startswith("library of program")

def ask_by_threads(process):
    engine = Engine(Disk(root))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda n: ask(engine, process * 100 + n), range(threads)))

children = []
for process in range(processes):  # imported once, they begin together
    children.append(os.fork())
    if children[-1] == 0:
        ask_by_threads(process)
        os._exit(0)
codes = [os.waitpid(child, 0)[1] for child in children]
sys.exit(any(codes))
"""


@pytest.fixture
def ask(tmp_path):
    """Start processes that ask, and return what they compiled."""
    script = tmp_path / "ask.py"
    script.write_text(ASK)

    def run(processes, threads, keys):
        log = tmp_path / "log"
        words = [sys.executable, script, tmp_path / "store", log, processes, threads, keys]
        done = subprocess.run(
            [*map(str, words)], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return sorted(log.read_text().splitlines())

    return run


@pytest.mark.parametrize(
    ("processes", "keys"), [(4, 6), pytest.param(8, 25, marks=pytest.mark.in_full)]
)
def test_every_key_is_compiled_exactly_once(processes, keys, ask, tmp_path):
    compiled = ask(processes=processes, threads=8, keys=keys)

    assert compiled == sorted(f"program {number}" for number in range(keys))
    assert Disk(tmp_path / "store").stats().records == keys
