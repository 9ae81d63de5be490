"""A moment of what `make stress` does for a minute."""

import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.needs_compiler
def test_threads_that_call_all_at_once_get_right_results():
    command = [sys.executable, "-m", "tests.stress.threads", "--part", "cpu"]
    command += ["--seconds", "0.8", "--threads", "6"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
    assert "without an error" in done.stdout


@pytest.mark.needs_compiler
def test_threads_that_share_a_gpu_get_right_results_and_leave_nothing():
    command = [sys.executable, "-m", "tests.stress.threads", "--part", "gpu", "--seconds", "0.5"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
    assert "without an error" in done.stdout


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    "flags", [pytest.param("-O2", marks=pytest.mark.in_full), "-O1 -g -fsanitize=thread"]
)
def test_callers_that_share_the_pool_run_every_index_once(tmp_path, flags):
    """The pool alone, with ThreadSanitizer in the second case."""
    native, driver = ROOT / "runtime" / "native", ROOT / "tests" / "stress" / "pool.cpp"
    sources = [str(driver), str(native / "pool.cpp"), str(native / "thread_count.cpp")]
    folders = [f"-I{native}", f"-I{sysconfig.get_path('include')}"]
    command = ["c++", "-std=c++20", *flags.split(), *folders, "-pthread", *sources]
    made = subprocess.run(
        [*command, "-o", str(tmp_path / "pool")], capture_output=True, text=True, check=False
    )
    if made.returncode != 0 and "cannot find" in made.stderr:  # its library
        pytest.skip("the compiler has no ThreadSanitizer")
    assert made.returncode == 0, made.stderr[-3000:]

    # the sanitizer wants addresses where they were
    started = ["setarch", platform.machine(), "-R"] if "sanitize" in flags else []
    done = subprocess.run(
        [*started, str(tmp_path / "pool"), "4", "500"],
        capture_output=True, text=True, timeout=250, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "2000 loops\n"
