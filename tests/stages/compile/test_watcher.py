"""A process that is killed takes its compilers along, drivers and what they start."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fieldforge.runtime.process.errors import CompilationError
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile import watcher
from fieldforge.stages.compile.command import compile_source
from fieldforge.stages.compile.stage import Compile

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="asks /proc which processes run"
)
# The driver waits for a program of its own, as g++ waits for cc1plus. Both write who they are.
SLOW = """#!/bin/sh
case "$*" in *program.cpp*) ;; *) echo slow; exit 0 ;; esac
sh -c 'echo $$ > {folder}/worker-$$; exec sleep 300' &
echo $$ > {folder}/driver-$$
wait
"""
BUILD = """
import sys, threading
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile.stage import Compile
def build(): Compile(cxx=sys.argv[1]).run(generated=Generated("c++", "int x;", "", ()))
if sys.argv[2] == "forked":
    import os, time
    if os.fork() == 0:  # a child that lives on and has all descriptors of its parent
        time.sleep(300)
if sys.argv[2] == "worker":
    import multiprocessing, os
    print(os.getpid(), flush=True)
    multiprocessing.get_context("fork").Process(target=build).start()
else:
    threads = [threading.Thread(target=build) for _ in range(2)]
    for each in threads: each.start()
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "c++"
    path.write_text(SLOW.format(folder=tmp_path))
    path.chmod(0o700)
    return path


def start(slow: Path, how: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", BUILD, str(slow), how]
    return subprocess.Popen(words, process_group=0, stdout=subprocess.DEVNULL)


def until(question: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Ask again and again until the answer is yes, at most for `seconds`."""
    end = time.monotonic() + seconds
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def running(folder: Path) -> list[int]:
    """Return the compilers and their programs that have announced themselves and still run."""
    pids = [int(path.name.split("-")[1]) for path in folder.glob("*-*")]
    return [pid for pid in pids if is_running(pid)]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def watchers_of(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "stat").read_text().rpartition(")")[2].split()
            is_one = "read -r sign group" in (path / "cmdline").read_text()
        except OSError:
            continue
        if int(words[1]) == pid and is_one:
            found.append(int(path.name))
    return found


def children_of(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").glob("*")
        for child in (task / "children").read_text().split()
    ]


@pytest.mark.parametrize(
    "end",
    [lambda pid: os.kill(pid, signal.SIGKILL), lambda pid: os.killpg(pid, signal.SIGTERM)],
    ids=["killed", "interrupted by the terminal, which reaches no watcher"],
)
def test_the_end_of_a_process_ends_compilers_their_programs_and_the_watcher(end, slow, tmp_path):
    process = start(slow, "threads")
    assert until(lambda: len(running(tmp_path)) == 4)
    (watching,) = watchers_of(process.pid)

    end(process.pid)
    process.wait()

    assert until(lambda: not running(tmp_path))
    assert until(lambda: not is_running(watching))


def test_a_forked_child_that_lives_on_does_not_keep_the_compilers(slow, tmp_path):
    process = start(slow, "forked")
    try:
        assert until(lambda: len(running(tmp_path)) == 4)
        process.kill()
        process.wait()
        assert until(lambda: not running(tmp_path))
    finally:
        os.killpg(process.pid, signal.SIGKILL)


def test_a_forked_worker_has_a_watcher_of_its_own(slow, tmp_path):
    process = start(slow, "worker")
    try:
        assert until(lambda: len(running(tmp_path)) == 2)
        (worker,) = children_of(process.pid)
        assert watchers_of(process.pid) == []
        assert len(watchers_of(worker)) == 1
        os.kill(worker, signal.SIGKILL)
        assert until(lambda: not running(tmp_path))
    finally:
        process.kill()
        process.wait()


@pytest.mark.needs_compiler
def test_a_process_that_compiles_has_one_watcher_that_forgets(tmp_path):
    stage = Compile(variables=current().compiler_variables)
    for number in range(2):
        source = f'extern "C" int f() {{ return {number}; }}'
        stage.run(generated=Generated("c++", source, "", ("-shared", "-fPIC")))
    assert len(watchers_of(os.getpid())) == 1


@pytest.mark.needs_compiler
def test_a_watcher_that_was_killed_is_replaced():
    stage = Compile(variables=current().compiler_variables)
    build = Generated("c++", "int f() { return 1; }", "", ("-shared", "-fPIC"))
    stage.run(generated=build)
    (watching,) = watchers_of(os.getpid())
    os.kill(watching, signal.SIGKILL)
    until(lambda: not is_running(watching))
    stage.run(generated=build)
    assert len(watchers_of(os.getpid())) == 1


def test_a_compiler_that_cannot_be_run_is_an_error(slow):
    slow.chmod(0o600)
    with pytest.raises(CompilationError, match="cannot be run: Permission denied"):
        compile_source("int x;", [str(slow)], {})
    with pytest.raises(CompilationError, match="cannot be run: No such file"):
        compile_source("int x;", ["/nowhere/c++"], {})


@pytest.mark.needs_compiler
def test_without_a_shell_compilers_run_without_a_watcher(monkeypatch):
    watcher._stop()
    monkeypatch.setattr(watcher, "SHELL", "/nowhere/sh")
    stage = Compile(variables=current().compiler_variables)
    build = Generated("c++", "int f() { return 1; }", "", ("-shared", "-fPIC"))
    assert stage.run(generated=build)["compiled"].library
