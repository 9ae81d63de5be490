"""Bytes and occupancy that a GPU counts beside those that are predicted, on drawn programs.

    python -m bench.counters --machine h200 --seeds 0,1,2

Each program runs below `ncu`, which has to be there. Prints a row for each kernel of a second call.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("FIELDFORGE_TIERS", "compiled")

import click
from rich.console import Console
from rich.table import Table
from tests.generated.large import large_case, program_of
from tests.generated.large_arguments import arguments_of

import fieldforge as ff
from fieldforge.stages.codegen.plan.gpu_seconds import gpu_facts
from fieldforge.stages.codegen.plan.machine import CLASSES, GpuClass
from fieldforge.stages.ir.loops.reader import read
from fieldforge.workflows.builds.building import trace
from fieldforge.workflows.tuning.predicted import sizes_of
from fieldforge.workflows.tuning.subject import make_subject

METRICS: Final = {
    "memory": "dram__bytes.sum", "second": "lts__t_bytes.sum", "first": "l1tex__t_bytes.sum",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread", "seconds": "gpu__time_duration.sum",
}  # fmt: skip
OURS: Final = re.compile(r"[kc][a-z]?\d+")
UNITS: Final = {
    "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "byte": 1.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3,
    "nsecond": 1e-9, "usecond": 1e-6, "msecond": 1e-3, "%": 0.01,
}  # fmt: skip


def run(seed: int, points: int, machine: GpuClass) -> None:
    """Call a program twice; print what is predicted for its kernels."""
    case = large_case(seed)
    subject = make_subject(
        program_of(case).with_backend(ff.gpu), arguments_of(case, points, ff.gpu)
    )
    entry = subject.on(ff.gpu)
    step = trace(entry.__definition__, entry.backend, subject.variant(entry), "codegen")["codegen"]
    call = subject.call(ff.gpu)
    for _ in range(2):
        call()
        subject.synchronise()
    sizes = sizes_of(subject.arguments, subject.provider)
    found = [
        {
            **each.bytes, "seconds": each.seconds(machine), "occupancy": each.occupancy / 2,
            "registers": each.kernel.needed(),
        }
        for each in gpu_facts(read(step.loops), sizes, machine)
    ]  # fmt: skip
    print("PREDICTED", json.dumps(found))


def counted(text: str) -> Iterator[dict[str, float]]:
    """Yield the counters of each kernel from the CSV text of ncu."""
    names = {metric: name for name, metric in METRICS.items()}
    rows: dict[str, dict[str, float]] = {}
    lines = [line for line in text.splitlines() if line.startswith('"')]
    for row in csv.DictReader(lines):
        if not OURS.match(row["Kernel Name"]):
            continue
        value = float(row["Metric Value"].replace(",", ""))
        scale = UNITS.get(row["Metric Unit"], 1.0)
        rows.setdefault(row["ID"], {})[names[row["Metric Name"]]] = value * scale
    yield from rows.values()


def below_ncu(seed: int, points: int, machine: str) -> tuple[list[Any], list[Any]]:
    """Return what is predicted for the kernels of a call, and what was counted in the second."""
    own = [sys.executable, "-W", "ignore", "-m", "bench.counters", "--run", str(seed)]
    command = [
        shutil.which("ncu") or "ncu", "--csv", "--clock-control", "none", "--metrics",
        ",".join(METRICS.values()), *own, "--points", str(points), "--machine", machine,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    lines = done.stdout.splitlines()
    told = [line.removeprefix("PREDICTED ") for line in lines if line.startswith("PREDICTED")]
    if not told:
        raise RuntimeError(f"{done.stdout[-500:]} {done.stderr[-500:]}")
    rows = list(counted(done.stdout))
    return json.loads(told[0]), rows[len(rows) // 2 :]


@click.command(help=__doc__)
@click.option("--seeds", default="0,2,4,9,14,16")
@click.option("--points", default=4_000_000)
@click.option("--machine", default="h200")
@click.option("--run", "one", default=-1, hidden=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path())
def main(seeds: str, points: int, machine: str, one: int, folder: Path) -> None:
    """Run below ncu and compare."""
    chosen = CLASSES[machine]
    assert isinstance(chosen, GpuClass)
    if one >= 0:
        run(one, points, chosen)
        return
    console = Console(width=150)
    table = Table("seed", "kernel", *METRICS, title="predicted / counted (counted)")
    kept = []
    for seed in map(int, seeds.split(",")):
        try:
            told, found = below_ncu(seed, points, machine)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            console.print(f"{seed}: {str(error)[-600:]}")
            continue
        kept.append({"seed": seed, "predicted": told, "counted": found})
        if len(told) != len(found):
            console.print(f"{seed}: {len(told)} kernels were predicted, {len(found)} ran.")
            continue
        for place, (ours, theirs) in enumerate(zip(told, found, strict=True)):
            table.add_row(str(seed), str(place), *cells(ours, theirs))
        (folder / "counters.json").write_text(json.dumps(kept))
    console.print(table)


def cells(ours: dict[str, float], theirs: dict[str, float]) -> Sequence[str]:
    """Return a cell for each counter."""
    return [
        f"{ours[name] / theirs[name]:.2f} ({theirs[name]:.3g})" if theirs.get(name) else "?"
        for name in METRICS
    ]


if __name__ == "__main__":
    main()
