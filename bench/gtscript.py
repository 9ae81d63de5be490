"""Measure GTScript here and in gt4py, each in processes of its own: python bench/gtscript.py.

gt4py 1.2.3 needs a Python of its own, 3.12 or later: `--peer PYTHON`. Each process has one thread
and an empty store. Results are in bench/results/MACHINE/gtscript.json; the pages
are written anew. The peer builds few stencils where we build a hundred, one after another, so
its time for many is given by stencil.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

import click
import page
from run import ROOT, machine, place

WORKER = ROOT / "bench" / "stencils" / "worker.py"
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
    path = place() / "gtscript.json"
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
    page.write()


if __name__ == "__main__":
    main()
