"""Cold builds of the benchmark programs: the first call with an empty store, and its stages.

Each build is in a process of its own, which has built another program before, so that no import
counts. Fields are small: the call itself takes microseconds. 'processor s' is the time of all
processors, compilers included.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

REPEATS = 2
DTYPES = ("float64", "float32")

BUILD = """
import json, os, sys, tempfile, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.workflows.engine.events import Finished
from cases import all_cases

def build(name, dtype):
    case, seen = all_cases()[name](dtype, 0.02), ff.Collector()
    with tempfile.TemporaryDirectory() as scratch:
        with ff.using(ff.Engine(Disk(Path(scratch)), observers=[seen])):
            begin, used = time.perf_counter(), sum(os.times()[:4])
            case.program.with_backend(ff.cpu)(**case.arguments, offset_provider=case.tables)
            took = {"s": time.perf_counter() - begin, "processor s": sum(os.times()[:4]) - used}
    stages = {each.stage: each.seconds for each in seen.events if isinstance(each, Finished)}
    return {"program": case.name, "size": case.size, "dtype": dtype} | took | {
        f"{stage} s": stages[stage] for stage in ("parse", "lower", "codegen", "compile")
    }

name, dtype = sys.argv[2:]
build("laplacians.seven_points", "float32" if dtype == "float64" else "float64")
print(json.dumps(build(name, dtype)))
"""


def measure(console: Console) -> list[dict[str, Any]]:
    """Build every program several times, in turns; a row holds the fastest build, in seconds."""
    from cases import all_cases

    made = [(name, dtype) for name in all_cases() for dtype in DTYPES]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for turn in range(REPEATS):
        for number, build in enumerate(made):
            count = f"{turn * len(made) + number + 1} of {REPEATS * len(made)}"
            with console.status(f"build {count}: {build[0]}"):
                found.setdefault(build, []).append(_built(*build))
    rows = [min(builds, key=lambda row: row["s"]) for builds in found.values()]
    seconds = [key for key, value in rows[0].items() if isinstance(value, float)]
    means = {key: statistics.geometric_mean([row[key] for row in rows]) for key in seconds}
    return [*rows, {"program": "geometric mean", "size": "", "dtype": "", **means}]


def _built(name: str, dtype: str) -> dict[str, Any]:
    command = [sys.executable, "-c", BUILD, str(Path(__file__).parent), name, dtype]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    row: dict[str, Any] = json.loads(answer.stdout)
    return row
