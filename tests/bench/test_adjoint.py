"""The bench of adjoints: it compares bits on several threads, then measures."""

import os
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"


def test_adjoints_are_measured_after_their_bits_were_compared(tmp_path):
    wanted = ("--cases", "tridiagonal", "--scale", "0.05", "--rounds", "1", "--threads", "1")
    run = subprocess.run(
        [sys.executable, "adjoint.py", *wanted, "--forget"],
        cwd=BENCH, env=os.environ | {"FIELDFORGE_CACHE_DIR": str(tmp_path)}, text=True,
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip

    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line.split("  ")[2] for line in lines] == ["d", "a,b,c,d"]
    assert all("adjoint / forward" in line for line in lines)
