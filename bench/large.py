"""Cold builds of a large program: one translation unit, and units that compile side by side.

The program resembles a microphysics scheme: many operators with powers and exponentials. Each row
is a process of its own with an empty store; all give the same bits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

OPERATORS = 24

OPERATOR = """
@ff.field_operator
def rate_{n}(t: Levels, q: Levels, p: Levels) -> Levels:
    warm = exp({n}.5 * (t - 0.{n}) / (t + 3.{n}))
    grown = where(q > 0.{n}, q ** 1.{n} * warm, p ** 0.{n})
    frozen = log(1.0 + grown + p(I + 1)) * (q + 0.{n})
    return where(t > 0.5, sqrt(grown + frozen), frozen / (1.0 + p * p) + q(I - 1))

"""

RUN = """
import hashlib, json, resource, sys, time
import numpy as np
import fieldforge as ff
from fieldforge.stages.codegen.cpu.text import units
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "whole":
    units.CUT_FROM = 1 << 60
import large
from large import I, J, K
random = np.random.default_rng(0)
t, q, p = (
    ff.as_field({I: (-1, 65), J: 64, K: 8}, random.random((66, 64, 8)), allocator=ff.cpu)
    for _ in range(3)
)
outs = [ff.zeros({I: 64, J: 64, K: 8}, allocator=ff.cpu) for _ in range(large.COUNT)]
begin = time.perf_counter()
large.scheme.with_backend(ff.cpu)(t, q, p, *outs)
took = time.perf_counter() - begin
compilers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
times = []
for _ in range(20):
    begin = time.perf_counter()
    large.scheme.with_backend(ff.cpu)(t, q, p, *outs)
    times.append(time.perf_counter() - begin)
digest = hashlib.sha256(b"".join(out.asnumpy().tobytes() for out in outs)).hexdigest()[:16]
print(json.dumps([took, compilers, min(times), digest]))
"""


def measure(console: Console) -> list[dict[str, Any]]:
    """Build the program in both ways, with one compiler at a time and with as many as there may."""
    rows = []
    jobs = len(os.sched_getaffinity(0))
    with console.status("building a large program"):
        for how, count in (("whole", 1), ("cut", 1), ("cut", jobs)):
            took, compilers, call, digest = _built(how, count)
            rows.append({
                "build": how, "jobs": count, "first call s": took, "compilers s": compilers,
                "later calls ms": 1e3 * call, "digest of results": digest,
            })  # fmt: skip
    return rows


def _built(how: str, jobs: int) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "large.py").write_text(program())
        env = {
            **os.environ,
            "FIELDFORGE_CACHE_DIR": f"{scratch}/store",
            "FIELDFORGE_JOBS": f"{jobs}",
        }
        command = [sys.executable, "-c", RUN, scratch, how]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
        return json.loads(answer.stdout)


def program(count: int = OPERATORS) -> str:
    """Return the text of the module."""
    names = [f"o{n}" for n in range(count)]
    lines = [
        "import fieldforge as ff",
        "from fieldforge import Dims, Field, exp, float64, log, sqrt, where",
        'I, J = ff.Dimension("I"), ff.Dimension("J")',
        'K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)',
        "Levels = Field[Dims[I, J, K], float64]",
        f"COUNT = {count}",
        *(OPERATOR.format(n=n + 1) for n in range(count)),
        "@ff.program",
        f"def scheme(t: Levels, q: Levels, p: Levels, {', '.join(f'{o}: Levels' for o in names)}):",
        *(f"    rate_{n + 1}(t, q, p, out={name})" for n, name in enumerate(names)),
    ]
    return "\n".join(lines) + "\n"
