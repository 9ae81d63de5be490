"""A moment of what `make stress` does for a minute."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.needs_compiler
def test_threads_that_call_all_at_once_get_right_results():
    command = [sys.executable, "-m", "tests.stress.threads", "--seconds", "3", "--threads", "6"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
    assert "without an error" in done.stdout
