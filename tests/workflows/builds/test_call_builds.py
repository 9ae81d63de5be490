"""A script that ends: its build under way is stored, those that wait are dropped."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from fieldforge.runtime.process.settings import environment_with

pytestmark = pytest.mark.needs_compiler

SCRIPT = textwrap.dedent(
    """
    import pathlib
    import sys
    import fieldforge as ff

    I = ff.Dimension("I")
    Line = ff.Field[ff.Dims[I], ff.float64]

    @ff.field_operator(backend=ff.cpu)
    def rise(u: Line) -> Line:
        return u(I + 1) - u

    @ff.field_operator(backend=ff.cpu)
    def twice(u: Line) -> Line:
        return u + u

    u, out = ff.ones({I: 9}), ff.zeros({I: 8})
    for program in (rise, twice)[: int(sys.argv[1])]:
        program(u, out=out)
        tiers = ["rows" if entry.first_tier else "compiled" for entry in program.entries]
        print(program.__name__, tiers)
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).touch()
    """
)


@pytest.fixture
def start(tmp_path):
    """Start the script for a number of programs, with a store of its own."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def start(*words: str, **variables: str) -> subprocess.Popen[str]:
        env = environment_with(
            FIELDFORGE_TIERS="both",
            FIELDFORGE_BUILD_AFTER="0",
            FIELDFORGE_CACHE_DIR=str(tmp_path / "store"),
            **variables,
        )
        return subprocess.Popen(
            [sys.executable, str(script), *words],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    return start


@pytest.fixture
def gate(tmp_path):
    """Return a compiler that waits for a file, that file, and where it writes its process id."""
    opened, process = tmp_path / "open", tmp_path / "process"
    cxx = tmp_path / "slow-c++"
    cxx.write_text(
        '#!/bin/sh\ncase "$*" in *-shared*)\n'
        f"echo $$ > {process}; while [ ! -e {opened} ]; do sleep 0.01; done;;\nesac\n"
        'exec c++ "$@"\n'
    )
    cxx.chmod(0o755)
    return str(cxx), opened, process


def said(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out.splitlines()


def test_the_build_of_a_short_script_is_stored(start):
    assert said(start("1")) == ["rise ['rows']"]
    assert said(start("1")) == ["rise ['compiled']"]


def test_builds_that_wait_are_dropped_at_the_end(start, gate):
    cxx, opened, _ = gate

    assert said(start("2", str(opened), FIELDFORGE_CXX=cxx)) == ["rise ['rows']", "twice ['rows']"]

    assert said(start("2", FIELDFORGE_CXX=cxx)) == ["rise ['compiled']", "twice ['rows']"]


def test_an_interrupt_ends_the_build_of_a_script_that_has_ended(start, gate):
    cxx, _, process = gate
    script = start("1", FIELDFORGE_CXX=cxx)
    assert script.stdout is not None
    script.stdout.readline()
    while not (process.exists() and process.read_text().strip()):
        time.sleep(0.01)
    time.sleep(0.3)  # the script has nothing left to do but wait

    script.send_signal(signal.SIGINT)

    script.wait(timeout=60)
    compiler = Path("/proc", process.read_text().strip())
    ended = time.monotonic() + 20
    while compiler.exists() and time.monotonic() < ended:
        time.sleep(0.05)
    assert not compiler.exists() or os.name != "posix"
