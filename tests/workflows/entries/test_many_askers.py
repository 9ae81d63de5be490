"""Threads of many processes ask one cold store for the same builds: each is done once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fieldforge.cache.disk import Disk

ASK = """
import random, sys, time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import attrs

from fieldforge.cache.disk import Disk
from fieldforge.stages.base import Stage
from fieldforge.workflows.engine.engine import Engine
from fieldforge.workflows.graph.function_stage import Text
from fieldforge.workflows.graph.graph import Workflow

root, log, threads, keys, seed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])

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
engine = Engine(Disk(root))

def ask(thread):
    order = list(range(keys))
    random.Random(seed * 100 + thread).shuffle(order)
    for number in order:
        source = Text(f"program {number}")
        results = engine.run(flow, {"source": source}, program=source.text)
        assert results["compile"].outputs["library"].get().text.startswith("library of program")

with ThreadPoolExecutor(threads) as pool:
    list(pool.map(ask, range(threads)))
"""


@pytest.fixture
def ask(tmp_path):
    """Start processes that ask, and return what they compiled."""
    script = tmp_path / "ask.py"
    script.write_text(ASK)

    def run(processes, threads, keys):
        log = tmp_path / "log"
        words = [sys.executable, script, tmp_path / "store", log, threads, keys]
        started = [
            subprocess.Popen([*map(str, words), str(seed)], stderr=subprocess.PIPE, text=True)
            for seed in range(processes)
        ]
        said = [process.communicate(timeout=120)[1] for process in started]
        assert [process.returncode for process in started] == [0] * processes, said
        return sorted(log.read_text().splitlines())

    return run


def test_every_key_is_compiled_exactly_once(ask, tmp_path):
    compiled = ask(processes=8, threads=8, keys=25)

    assert compiled == sorted(f"program {number}" for number in range(25))
    assert Disk(tmp_path / "store").stats().records == 25
