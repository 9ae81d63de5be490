"""Threads that wait for work sleep, if the process called a compiled program first."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.needs_compiler

RUN = """
import ctypes, os, subprocess, sys
import fieldforge as ff

I = ff.Dimension("I")

@ff.field_operator(backend=None)
def twice(u: ff.Field[[I], ff.float64]) -> ff.Field[[I], ff.float64]:
    return u + u

if sys.argv[1] == "late":
    ctypes.CDLL("libgomp.so.1")
out = ff.zeros({I: 3})
twice.with_backend(ff.recipes.cpu())(ff.ones({I: 3}), out=out, offset_provider={})
assert out.asnumpy().tolist() == [2.0, 2.0, 2.0]
print(open("/proc/self/maps").read().count("libgomp.so.1") > 0)
print(subprocess.run(["env"], capture_output=True, text=True).stdout)
"""


def run(folder, how: str = "first", **variables: str) -> tuple[str, str]:
    """Run a program in a fresh process whose OpenMP runtime shows its settings when loaded."""
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    script = folder / "script.py"
    script.write_text(RUN)
    environment |= {"OMP_DISPLAY_ENV": "verbose", "FIELDFORGE_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, str(script), how], env=environment | variables, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    if not done.stdout.startswith("True"):
        pytest.skip("the compiler does not use libgomp")
    return done.stdout, done.stderr


def test_the_first_program_lets_waiting_threads_sleep(tmp_path):
    output, told = run(tmp_path)
    assert "GOMP_SPINCOUNT = '0'" in told
    assert "OMP_WAIT_POLICY" not in output  # other programs keep their own policy


@pytest.mark.parametrize(
    ("name", "value"), [("OMP_WAIT_POLICY", "ACTIVE"), ("GOMP_SPINCOUNT", "77")]
)
def test_a_policy_of_the_user_is_kept(tmp_path, name, value):
    output, told = run(tmp_path, **{name: value})
    assert f"{name} = '{value}'" in told
    assert f"{name}={value}" in output


def test_a_runtime_that_another_component_loaded_keeps_its_policy(tmp_path):
    _, told = run(tmp_path, "late")
    assert "GOMP_SPINCOUNT = '0'" not in told
