"""Import time, and the time from import to the first result: cold, warm, and after small edits.

Names of fieldforge are imported when they are first used, so there is a row for those of a program.
First results are timed with these names there; the row "import and first result" has the sum. Of an
ICON-like program, the first call alone is timed: its module is imported and its fields are there.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

EXAMPLE = Path(__file__).parent.parent / "examples" / "diffusion.py"
HEAVY = ("networkx", "matplotlib", "dace", "cupy", "sympy", "rich", "click", "structlog")
REPEATS = 9

NAMES = "ff.program, ff.cpu, ff.ones, ff.where, ff.Collector, ff.using"  # of any program
IMPORT = f"""
import time; begin = time.perf_counter()
import fieldforge
took = time.perf_counter() - begin
import json, sys
print(json.dumps([took, [name for name in {HEAVY!r} if name in sys.modules]]))
"""

IMPORT_OF_NAMES = IMPORT.replace("import fieldforge", f"import fieldforge as ff; {NAMES}")
VERSION = """
import json, subprocess, sys, time
begin = time.perf_counter()
subprocess.run([sys.executable, "-m", "fieldforge", "--version"], check=True, capture_output=True)
print(json.dumps([time.perf_counter() - begin, []]))
"""

FIRST_RESULT = f"""
import json, sys, time
whole = time.perf_counter()
import fieldforge as ff
{NAMES}
sys.path.insert(0, sys.argv[1])
seen = ff.Collector()
begin = time.perf_counter()
with ff.using(ff.Engine(ff.engine().store, observers=[seen])):
    from stencil import I, J, K, diffuse
    u = ff.ones({{I: (-2, 34), J: (-2, 34), K: 8}}, allocator=ff.cpu)
    coeff = ff.full({{I: 32, J: 32, K: 8}}, 0.05, allocator=ff.cpu)
    out = ff.zeros({{I: 32, J: 32, K: 8}}, allocator=ff.cpu)
    diffuse.with_backend(ff.cpu)(u, coeff, out)
end = time.perf_counter()
assert (out.asnumpy() == 1.0).all()
print(json.dumps([end - begin, seen.ran(), end - whole]))
"""

FIRST_CALL = """
import inspect, json, time
import numpy as np
import fieldforge as ff
from fieldforge.examples import icosahedral as mesh, mesh_dynamics
grid, levels = mesh.icosahedral(2, 1), 7
sizes = {
    mesh.Cell: grid.cells, mesh.Edge: grid.edges, mesh.Vertex: grid.vertices, mesh.K: levels,
    mesh.C2EDim: 3, mesh.C2E2CDim: 3, mesh.E2CDim: 2, mesh.V2EDim: 6, mesh.V2CDim: 6,
}
program = mesh_dynamics.dynamics.with_backend(ff.cpu)
fields = {
    name: ff.ones({dim: sizes[dim] for dim in hint.__args__[0]}, allocator=ff.cpu)
    for name, hint in inspect.get_annotations(program.__wrapped__, eval_str=True).items()
    if name != "dtime"
}
tables, dtime = grid.connectivities(), np.float64(0.5)
seen = ff.Collector()
with ff.using(ff.Engine(ff.engine().store, observers=[seen])):
    begin = time.perf_counter()
    program(**fields, dtime=dtime, offset_provider=tables)
    took = time.perf_counter() - begin
print(json.dumps([took, seen.ran()]))
"""


def measure(console: Console) -> list[dict[str, Any]]:
    """Time fresh processes; each row is a median of several, in seconds."""
    rows = []
    with console.status("starting processes"), _bytecode_kept():
        imports = [_run(IMPORT) for _ in range(REPEATS + 1)][1:]  # the first writes the bytecode
        note = f"heavy: {imports[0][1]}{_instructions('fieldforge')}"
        rows.append(_row("import fieldforge", [took for took, _ in imports], note))
        names = [_run(IMPORT_OF_NAMES) for _ in range(REPEATS)]
        note = f"heavy: {names[0][1]}{_instructions('fieldforge as ff; ' + NAMES)}"
        rows.append(_row("import and the names of a program", [took for took, _ in names], note))
        asked = [_run(VERSION)[0] for _ in range(REPEATS)]
        rows.append(_row("fieldforge --version, a process", asked, ""))
        bare = IMPORT.replace("import fieldforge", "import numpy")
        numpy = [took for took, _ in (_run(bare) for _ in range(REPEATS))]
        rows.append(_row("import numpy alone, for comparison", numpy, _instructions("numpy")))
        rows += _first_results()
    return rows


@contextlib.contextmanager
def _bytecode_kept() -> Iterator[None]:
    """Let child processes keep bytecode, as any installation does, in a place of their own."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = scratch
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def _first_results() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "stencil.py")
        text = EXAMPLE.read_text()
        cold, warm = [], []
        for turn in range(3):
            source.write_text(text)
            cache = Path(scratch, f"cache{turn}")
            cold.append(_run(FIRST_RESULT, scratch, cache))
            warm += [_run(FIRST_RESULT, scratch, cache) for _ in range(3)]
        source.write_text(text.replace("    lap = lap", "    # a comment\n    lap = lap"))
        comment = _run(FIRST_RESULT, scratch, cache)
        source.write_text("# moved down\n" * 7 + text)
        moved = _run(FIRST_RESULT, scratch, cache)
        shutil.rmtree(cache)
        calls = [_run(FIRST_CALL, scratch, Path(scratch, "calls")) for _ in range(REPEATS + 1)][1:]
    return [
        _row("diffusion, cold", [took for took, _, _ in cold], _ran(cold[0][1])),
        _row("diffusion, warm", [took for took, _, _ in warm], _ran(warm[0][1])),
        _row("import and first result, warm", [whole for _, _, whole in warm], ""),
        _row("diffusion, comment edited", [comment[0]], _ran(comment[1])),
        _row("diffusion, function moved", [moved[0]], _ran(moved[1])),
        _row("ICON-like, warm: the call", [took for took, _ in calls], _ran(calls[0][1])),
    ]


def _run(script: str, *arguments: object) -> Any:
    env = dict(os.environ)
    if len(arguments) > 1:
        env["FIELDFORGE_CACHE_DIR"] = str(arguments[1])
    command = [sys.executable, "-c", script, *map(str, arguments[:1])]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return json.loads(answer.stdout)


def _instructions(module: str) -> str:
    """Return how many instructions an import takes over a bare interpreter, if valgrind counts."""
    if shutil.which("valgrind") is None:
        return ""
    counts = []
    for text in ("pass", f"import {module}"):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        told = subprocess.run(
            [*command, sys.executable, "-c", text], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
        counts.append(int(told.stderr.partition("Collected :")[2].split()[0]))
    return f" {(counts[1] - counts[0]) / 1e6:.0f} million instructions"


def _row(what: str, seconds: list[float], note: str) -> dict[str, Any]:
    return {
        "what": what,
        "median ms": 1e3 * statistics.median(seconds),
        "least ms": 1e3 * min(seconds),
        "note": note,
    }


def _ran(stages: list[str]) -> str:
    return f"ran: {', '.join(stages)}"
