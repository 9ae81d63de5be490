"""Figures of the engine: warm starts, batches, ranks, overhead; `python bench/engine.py warm`."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

import attrs
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
REPEATS = 15
RANKS = 4

WARM = """
import json, sys, time
import fieldforge as ff
ff.program, ff.cpu, ff.ones, ff.where  # names are imported when they are used
begin = time.perf_counter(), time.process_time()
from stencil import I, J, K, diffuse
u = ff.ones({I: (-2, 34), J: (-2, 34), K: 8}, allocator=ff.cpu)
coeff = ff.full({I: 32, J: 32, K: 8}, 0.05, allocator=ff.cpu)
out = ff.zeros({I: 32, J: 32, K: 8}, allocator=ff.cpu)
diffuse.with_backend(ff.cpu)(u, coeff, out)
print(json.dumps([time.perf_counter() - begin[0], time.process_time() - begin[1]]))
"""
FURTHER = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
from hundred import programs
import fieldforge as ff
found = programs()
begin = time.perf_counter(), time.process_time()
for program in found:
    program.build()
took = time.perf_counter() - begin[0], time.process_time() - begin[1]
print(json.dumps([each / len(found) for each in took]))
"""
BATCH = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
from hundred import programs
import fieldforge as ff
found = programs()
begin = time.perf_counter()
ff.precompile(found, jobs=int(sys.argv[2]), progress=None)
print(json.dumps(time.perf_counter() - begin))
"""
JOB = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
from mpi4py import MPI
from hundred import programs
import fieldforge as ff
seen = ff.Collector()
found = programs(40)
comm = MPI.COMM_WORLD
comm.Barrier()
begin = time.perf_counter()
with ff.using(ff.Engine(ff.engine().store, observers=[seen])):
    if comm.size == 1:
        ff.precompile(found, jobs=1, progress=None)
    else:
        ff.collective(comm, found, progress=None)
    comm.Barrier()
took = time.perf_counter() - begin
keys = [event.key for event in seen.events
        if type(event).__name__ == "Finished" and event.stage == "compile"]
keys = [key for each in comm.gather(keys) or [] for key in each]
if comm.rank == 0:
    print(json.dumps([took, len(keys), len(set(keys))]))
"""
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
}  # fmt: skip


def warm(scratch: Path) -> list[tuple[str, str]]:
    """Start processes that find everything in the store."""
    shutil.copy(HERE.parent / "examples" / "diffusion.py", scratch / "stencil.py")
    first = [_run(WARM, scratch) for _ in range(REPEATS + 1)][1:]
    further = [_run(FURTHER, scratch, HERE) for _ in range(4)][1:]
    return [
        ("first program of a process (5 functions, decorated, called once)", _milliseconds(first)),
        ("each of 100 programs of a process, built from the store", _milliseconds(further)),
    ]


def batch(scratch: Path) -> list[tuple[str, str]]:
    """Build a hundred programs with one job and with two, in turn."""
    took: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(3):
        for jobs, found in took.items():
            found.append(_run(BATCH, scratch / f"batch{turn}-{jobs}", HERE, jobs))
    one, two = min(took[1]), min(took[2])
    return [("100 programs, 1 job", f"{one:.1f} s"), ("100 programs, 2 jobs", f"{two:.1f} s"),
            ("ratio", f"{one / two:.2f}")]  # fmt: skip


def ranks(scratch: Path) -> list[tuple[str, str]]:
    """Build forty programs in one process, and in a job of four ranks."""
    alone = min(_run(JOB, scratch / f"alone{turn}", HERE)[0] for turn in range(3))
    words = ["mpirun", "-n", str(RANKS)]
    found = [_run(JOB, scratch / f"job{turn}", HERE, before=words) for turn in range(3)]
    took = min(seconds for seconds, _, _ in found)
    return [
        ("40 programs, one process, 1 job", f"{alone:.1f} s"),
        (f"40 programs, {RANKS} ranks", f"{took:.1f} s"),
        ("ranks, over half the serial work", f"{took / (alone / 2):.2f}"),
        ("compiler runs, different keys among them", f"{found[0][1]}, {found[0][2]}"),
    ]


def overhead(_: Path) -> list[tuple[str, str]]:
    """Run ten stages that do nothing on a store in memory, each time with another input."""
    from fieldforge.cache.memory import Memory
    from fieldforge.stages.base import Stage
    from fieldforge.workflows.engine.engine import Engine
    from fieldforge.workflows.graph.edges import chain_edges
    from fieldforge.workflows.graph.function_stage import Text
    from fieldforge.workflows.graph.graph import Workflow

    @attrs.frozen
    class Pass(Stage):
        name: ClassVar[str] = "pass"
        needs: ClassVar[Any] = ("value",)
        provides: ClassVar[Any] = {"value": Text}
        number: int = 0

        def run(self, **inputs: Any) -> Any:
            return {"value": Text(f"{inputs['value'].text}!")}

    nodes = [(f"pass{number}", Pass(number)) for number in range(10)]
    flow, engine, took = Workflow(nodes, chain_edges(nodes)), Engine(Memory()), []
    for number in range(300):
        value = Text(f"input {number}")
        begin = time.perf_counter()
        engine.run(flow, {"value": value})
        took.append(1e3 * (time.perf_counter() - begin))
    figure = f"{statistics.median(took):.2f} ms (least {min(took):.2f})"
    return [("cold plan of 10 stages that do nothing, median", figure)]


PARTS = {"warm": warm, "batch": batch, "ranks": ranks, "overhead": overhead}


def _run(script: str, scratch: Path, *arguments: object, before: list[str] | None = None) -> Any:
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, **MPI, "FIELDFORGE_CACHE_DIR": str(scratch / "cache"),
                   "PYTHONPYCACHEPREFIX": str(HERE.parent / "build" / "bytecode"),
                   "PYTHONPATH": str(scratch)}  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [*(before or []), sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _milliseconds(found: list[list[float]]) -> str:
    wall, used = ([1e3 * row[column] for row in found] for column in (0, 1))
    return (f"{statistics.median(wall):.1f} ms (least {min(wall):.1f}; "
            f"of a processor {statistics.median(used):.1f})")  # fmt: skip


def main() -> None:
    chosen = sys.argv[1:] or list(PARTS)
    table = Table("what", "figure")
    for name in chosen:
        with tempfile.TemporaryDirectory() as scratch:
            for row in PARTS[name](Path(scratch)):
                table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
