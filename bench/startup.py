"""Import time, and the time from import to the first result: cold, warm, and after small edits."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

EXAMPLE = Path(__file__).parent.parent / "examples" / "diffusion.py"
HEAVY = ("networkx", "matplotlib", "dace", "cupy", "sympy", "rich", "click", "structlog")
REPEATS = 9

IMPORT = f"""
import time; begin = time.perf_counter()
import fieldforge
took = time.perf_counter() - begin
import json, sys
print(json.dumps([took, [name for name in {HEAVY!r} if name in sys.modules]]))
"""

FIRST_RESULT = """
import json, sys, time
import fieldforge as ff
import numpy
sys.path.insert(0, sys.argv[1])
begin = time.perf_counter()
import stencil
u = ff.ones({stencil.I: (-2, 34), stencil.J: (-2, 34), stencil.K: 8}, allocator=ff.cpu)
coeff = ff.full({stencil.I: 32, stencil.J: 32, stencil.K: 8}, 0.05, allocator=ff.cpu)
out = ff.zeros({stencil.I: 32, stencil.J: 32, stencil.K: 8}, allocator=ff.cpu)
program = stencil.diffuse.with_backend(ff.cpu)
program(u, coeff, out)
took = time.perf_counter() - begin
assert (out.asnumpy() == 1.0).all()
print(json.dumps([took, {step.name: step.outcome for step in program.trace().values()}]))
"""


def measure(console: Console) -> list[dict[str, Any]]:
    """Time fresh processes; each row is a median of several, in seconds."""
    rows = []
    with console.status("starting processes"):
        imports = [_run(IMPORT) for _ in range(REPEATS)]
        heavy = imports[0][1]
        rows.append(_row("import fieldforge", [took for took, _ in imports], f"heavy: {heavy}"))
        numpy = [_run(IMPORT.replace("import fieldforge", "import numpy")) for _ in range(REPEATS)]
        rows.append(_row("import numpy alone, for comparison", [took for took, _ in numpy], ""))
        rows += _first_results()
    return rows


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
    return [
        _row("diffusion, cold", [took for took, _ in cold], _outcomes(cold[0][1])),
        _row("diffusion, warm", [took for took, _ in warm], _outcomes(warm[0][1])),
        _row("diffusion, comment edited", [comment[0]], _outcomes(comment[1])),
        _row("diffusion, function moved", [moved[0]], _outcomes(moved[1])),
    ]


def _run(script: str, *arguments: object) -> Any:
    env = dict(os.environ)
    if len(arguments) > 1:
        env["FIELDFORGE_CACHE_DIR"] = str(arguments[1])
    command = [sys.executable, "-c", script, *map(str, arguments[:1])]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return json.loads(answer.stdout)


def _row(what: str, seconds: list[float], note: str) -> dict[str, Any]:
    return {
        "what": what,
        "median ms": 1e3 * statistics.median(seconds),
        "least ms": 1e3 * min(seconds),
        "note": note,
    }


def _outcomes(outcomes: dict[str, str]) -> str:
    return ", ".join(f"{stage} {outcome}" for stage, outcome in outcomes.items())
