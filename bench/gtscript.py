"""Measure GTScript here and in gt4py, each in processes of its own: python bench/gtscript.py.

gt4py 1.2.3 needs a Python of its own, 3.12 or later: `--peer PYTHON`. Each process has one thread
and an empty store. Results are in bench/results/MACHINE/gtscript.json, the table in
docs/performance.md. The peer builds few stencils where we build a hundred, one after another, so
its time for many is given by stencil.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from typing import Any

import click
import page
from run import RESULTS, ROOT, machine

from fieldforge.runtime.calls.machine import processor

WORKER = ROOT / "bench" / "stencils" / "worker.py"
BEGIN = "<!-- gtscript: made by `python bench/gtscript.py`; edits are lost -->"
END = "<!-- end of gtscript -->"
OURS = ("gt:cpu_kfirst", "gt:cpu_ifirst")
PEERS = ("gt:cpu_kfirst", "gt:cpu_ifirst", "dace:cpu")


def run(python: str, part: str, backend: str, count: int, threads: int, timeout: int) -> Any:
    """Run one part in a process with an empty store; None if it fails or takes too long."""
    is_ours = python == sys.executable
    head = [python, "-m", "fieldforge", "run", "--as-gt4py"] if is_ours else [python]
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            "OMP_NUM_THREADS": str(threads),
            "FIELDFORGE_CACHE_DIR": folder,
            "FIELDFORGE_TIERS": "compiled",
            "GT_CACHE_ROOT": folder,
        }
        command = [*head, str(WORKER), part, backend, folder, str(count)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=True,
                env=os.environ | variables,
                cwd=folder,
                timeout=timeout,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            click.echo(f"{part} {backend}: {error}\n{getattr(error, 'stderr', '')}", err=True)
            return None
    return json.loads(done.stdout.splitlines()[-1])


@click.command()
@click.option("--peer", help="The Python that has gt4py.")
@click.option("--parts", default="first,many,step,calls,kernels", show_default=True)
@click.option("--peers", default=",".join(PEERS), show_default=True)
@click.option("--count", default=100, show_default=True, help="Stencils that we build at once.")
@click.option("--peer-count", default=2, show_default=True, help="Stencils that the peer builds.")
@click.option("--timeout", default=1800, show_default=True)
def main(
    peer: str | None, parts: str, peers: str, count: int, peer_count: int, timeout: int
) -> None:
    """Measure the parts in turns, and write results and table."""
    place = RESULTS / re.sub(r"[^A-Za-z0-9]+", "-", processor()).strip("-")
    place.mkdir(parents=True, exist_ok=True)
    path = place / "gtscript.json"
    known = json.loads(path.read_text()) if path.exists() else {"rows": {}}
    rows = known["rows"]
    for part in parts.split(","):
        asked = [("fieldforge", sys.executable, each, count) for each in OURS]
        if peer:
            asked += [("gt4py", peer, each, peer_count) for each in peers.split(",")]
        for tool, python, backend, number in asked:
            name = f"{part} {tool} {backend}"
            rows[name] = run(python, part, backend, number, 1, timeout)
            click.echo(f"{name}: {rows[name]}")
            document = {"machine": machine(), "rows": rows}
            path.write_text(json.dumps(document, indent=1) + "\n")
    page.put(table(rows), ROOT / "docs" / "performance.md", BEGIN, END)


def table(rows: dict[str, Any]) -> str:
    """Return the table of the page: ours, the best of the peer's backends, the ratio."""
    lines = ["| | fieldforge | gt4py 1.2.3 | ratio |", "| --- | --- | --- | --- |"]
    ratios = []
    for title, part, key, unit, of in _measures(rows):
        ours = _best(rows, part, "fieldforge", key, of)
        theirs = _best(rows, part, "gt4py", key, of)
        if ours is None:
            continue
        ratio = None if theirs is None else theirs[0] / ours[0]
        if part == "kernels" and ratio is not None:
            ratios.append(ratio)
        shown = "-" if theirs is None else f"{theirs[0]:.3g} {unit} ({theirs[1]})"
        times = "-" if ratio is None else f"{ratio:.3g}"
        lines.append(f"| {title} | {ours[0]:.3g} {unit} ({ours[1]}) | {shown} | {times} |")
    if ratios:
        mean = math.prod(ratios) ** (1 / len(ratios))
        lines.append(f"| kernels, geometric mean | | | {mean:.3g} |")
    return "\n".join(lines)


def _measures(rows: dict[str, Any]) -> list[tuple[str, str, str, str, bool]]:
    found = [("first result of a stencil", "first", "seconds", "s", False)]
    found += [("stencils at once, each", "many", "seconds", "s", True)]
    for part, unit in (("step", "us"), ("calls", "us"), ("kernels", "ms")):
        keys: dict[str, None] = {}
        for name, row in rows.items():
            if name.startswith(f"{part} ") and row:
                keys |= dict.fromkeys(row)
        title = {"step": "step of a hundred calls"}.get(part, part[:-1])
        found += [(f"{title}: {key}", part, key, unit, False) for key in keys]
    return found


def _best(
    rows: dict[str, Any], part: str, tool: str, key: str, is_shared: bool
) -> tuple[float, str] | None:
    """Return the least number of a tool, and its backend."""
    found = [
        (row[key] / (row["stencils"] if is_shared else 1), name.rpartition(" ")[2])
        for name, row in rows.items()
        if row and name.startswith(f"{part} {tool} ") and key in row
    ]
    return min(found, default=None)


if __name__ == "__main__":
    main()
