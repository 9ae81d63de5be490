"""DaCe through us, gt4py's DaCe backend as installed, and C++ of both: builds, starts and calls.

Kernels stand beside each other in the part `programs`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from peer.client import PYTHON
from rich.console import Console

START = Path(__file__).parent / "peer" / "start.py"
OURS = ("cpu", "dace_cpu")
PEERS = ("gt4py C++", "gt4py DaCe")
WARM = 5


def measure(console: Console) -> list[dict[str, Any]]:
    """Return a row for each backend; a peer that is not installed has no figures."""
    rows = []
    for name in (*OURS, *PEERS):
        with console.status(f"starting {name}"), tempfile.TemporaryDirectory() as scratch:
            cold = _start(name, Path(scratch))
            warm = [_start(name, Path(scratch)) for _ in range(WARM)] if cold else []
        rows.append(
            {
                "backend": name if name in PEERS else f"fieldforge {name}",
                "cold build s": cold.get("first", ""),
                "warm start ms": 1e3 * min(each["first"] for each in warm) if warm else "",
                "call of 15 fields us": 1e-3 * min(each["call"] for each in warm) if warm else "",
            }
        )
    return rows


def _start(name: str, folder: Path) -> dict[str, float]:
    """Run a fresh process that keeps its builds in `folder`."""
    python = str(PYTHON) if name in PEERS else sys.executable
    variables = {
        "FIELDFORGE_CACHE_DIR": str(folder / "store"),
        "GT4PY_BUILD_CACHE_LIFETIME": "persistent",
        "GT4PY_BUILD_CACHE_DIR": str(folder),
        "OMP_NUM_THREADS": "1",
    }
    try:
        done = subprocess.run(
            [python, str(START), name, str(folder)],
            env=os.environ | variables,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return {}
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    found: dict[str, float] = json.loads(lines[-1])
    return found
