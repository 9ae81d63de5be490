"""Measure what fieldforge promises, each as a ratio or a share in one run, and keep the results.

    python bench/run.py [startup] [calls] [throughput]

Writes `bench/results/<part>.json`, with the machine described, and prints a table.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import calls
import startup
import throughput
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
PARTS: dict[str, Callable[[Console], list[dict[str, Any]]]] = {
    "startup": startup.measure,
    "calls": calls.measure,
    "throughput": throughput.measure,
}


def machine() -> dict[str, Any]:
    """Describe where the figures were taken."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = f"{len(names)} x {names[0].partition(':')[2].strip()}" if names else model
    return {
        "processor": model,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "fieldforge": version("fieldforge"),
    }


def main() -> None:
    """Run the parts that were asked for, all by default."""
    console = Console()
    RESULTS.mkdir(exist_ok=True)
    for part in sys.argv[1:] or PARTS:
        rows = PARTS[part](console)
        table = Table(*rows[0], title=part)
        for row in rows:
            table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
        console.print(table)
        document = {"machine": machine(), "rows": rows}
        (RESULTS / f"{part}.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
