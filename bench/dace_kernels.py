"""The kernels of `dace_cpu` beside those of `cpu`, in turns on one thread of this machine.

    python bench/dace_kernels.py [--scale 0.6] [--seconds 3] [--cases diffusion,nabla2]

Writes `dace_cpu.json` in `bench/results/<processor>/`. Times are those of the processor, so that
other work on the machine disturbs them less; each ratio is one of least times, or of medians.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

import click
from agreement import flat
from cases import chosen_cases
from cases.case import Case
from native import use_threads
from rich.console import Console
from run import machine, place

import fieldforge as ff

VARIANTS: Mapping[str, Callable[[], Any]] = {
    "cpu": lambda: ff.cpu,
    "dace_cpu": lambda: ff.dace_cpu,
    "dace_cpu without prefetch": lambda: ff.dace_cpu.with_options(prefetch=False),
    "dace_cpu without streams": lambda: ff.dace_cpu.with_options(stream_from=0),
    "dace_cpu without jam": lambda: ff.dace_cpu.with_options(jam=False),
    "cpu without tiles": lambda: ff.cpu.with_options(
        passes=("stream", "prefetch", "unswitch", "plan_arena")
    ),
}
VALUE = 0.02  # seconds


def measure(name: str, case: Case, patience: float) -> dict[str, Any]:
    """Run a case by every variant in turns for `patience` seconds; compare the bits."""
    calls: dict[str, Callable[[], object]] = {}
    bits: dict[str, list[bytes]] = {}
    for label, backend in VARIANTS.items():
        program: Any = case.program
        chosen = program.with_backend(backend())
        calls[label] = lambda run=chosen: run(**case.arguments, offset_provider=case.tables)
        calls[label]()
        bits[label] = [each.tobytes() for each in flat(case.arguments, case.outputs).values()]
    loops = max(1, int(VALUE / _seconds(calls["cpu"], 1)))
    times: dict[str, list[float]] = {label: [] for label in calls}
    end = time.monotonic() + patience
    while time.monotonic() < end or len(times["cpu"]) < 5:
        for label, call in calls.items():
            times[label].append(_seconds(call, loops))
    usual = times["cpu"]
    return {
        "case": name,
        "size": case.size,
        "dtype": case.dtype,
        "rounds": len(usual),
        "load": round(os.getloadavg()[0], 1),
        "variants": {
            label: {
                "least_ms": 1e3 * min(found),
                "least": min(found) / min(usual),
                "median": statistics.median(found) / statistics.median(usual),
                "same_bits": bits[label] == bits["cpu"],
            }
            for label, found in times.items()
        },
    }


def _seconds(call: Callable[[], object], loops: int) -> float:
    """Return the processor's seconds of a call, after one that is not timed."""
    call()
    begin = time.thread_time()
    for _ in range(loops):
        call()
    return (time.thread_time() - begin) / loops


@click.command()
@click.option("--cases", default="", help="Programs by name, with commas; all if left out.")
@click.option("--scale", default=0.6)
@click.option("--seconds", default=3.0, help="of each program")
def main(cases: str, scale: float, seconds: float) -> None:
    """Measure, and keep the rows as they come; rows of cases that are not chosen stay."""
    path = place() / "dace_cpu.json"
    console = Console(width=150)
    kept = json.loads(path.read_text())["rows"] if cases and path.exists() else []
    rows = {(row["case"], row["size"]): row for row in kept}
    use_threads(1)
    with tempfile.TemporaryDirectory(prefix="fieldforge-bench-") as store:
        os.environ["FIELDFORGE_CACHE_DIR"] = store
        for name, make in chosen_cases([each for each in cases.split(",") if each]).items():
            row = measure(name, make("float64", scale), seconds)
            rows[name, row["size"]] = row
            found = row["variants"]["dace_cpu"]
            console.print(f"{name}: {found['least']:.2f} of cpu, medians {found['median']:.2f}")
            document = {"machine": machine(), "scale": scale, "threads": 1}
            document["rows"] = list(rows.values())
            path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
