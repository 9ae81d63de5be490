"""A script ends as if daemon threads were not there, whatever they call at that moment."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys, threading, time
import fieldforge as ff

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

@ff.field_operator
def increased(u: Line) -> Line:
    return u + 1.0

@ff.program(backend=ff.cpu)
def increase(u: Line, out: Line):
    increased(u, out=out)

u, out = ff.ones({I: 8}), ff.zeros({I: 8})
increase(u, out)
with ff.record() as step:
    increase(u, out)
limited = increase.with_threads(1)

def build():
    increase.drop_variants()
    increase(u, out)

calls = {
    "plain": lambda: increase(u, out),
    "bound": increase.bind(u=u, out=out),
    "recorded": step,
    "limited": lambda: limited(u, out),
    "building": build,
    "reduction": lambda: ff.sum(u),
}
call = calls[sys.argv[1]]
began = threading.Barrier(3)

def loop():
    began.wait()
    while True:
        call()

for _ in range(2):
    threading.Thread(target=loop, daemon=True).start()
began.wait()
time.sleep(0.05)
"""


@pytest.mark.needs_compiler
@pytest.mark.parametrize("call", ["plain", "bound", "recorded", "limited", "building", "reduction"])
def test_a_script_ends_while_daemon_threads_call(tmp_path, call):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "script.py", call]
    running = [
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]

    errors = [process.communicate(timeout=120)[1] for process in running]

    assert [(p.returncode, error) for p, error in zip(running, errors, strict=True)] == [
        (0, "")
    ] * 3
