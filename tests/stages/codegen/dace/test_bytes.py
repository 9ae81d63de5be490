"""The same bytes from every thread and process, whatever the seed of hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fieldforge.stages.codegen.dace.settings import DaceNotFoundError, dace_version

try:
    dace_version()
    MISSING = False
except DaceNotFoundError:
    MISSING = True

pytestmark = [
    pytest.mark.needs_dace,
    pytest.mark.skipif(MISSING, reason="the extra 'dace' is not installed"),
]
ROOT = Path(__file__).parents[4]
# Random programs have gathers, reductions, regions and scans. Two threads write all of them, each
# another one at a time; a process with another seed of hashes has one thread only.
PRINT = """
import hashlib, sys, threading, warnings
warnings.simplefilter("ignore")
from tests.stages.codegen.grids import K, units
from tests.stages.codegen.programs import TARGET
from tests.stages.codegen.test_random_programs import Drawing
from fieldforge.stages.codegen.dace.stage import CodegenDace
SEEDS = tuple(map(int, sys.argv[2].split(",")))
found = [None] * int(sys.argv[1])
def write(place):
    texts = []
    for seed in SEEDS[place:] + SEEDS[:place]:
        lowered = Drawing(seed).program()
        stage = CodegenDace(TARGET, fusion=("schedule", "dace")[seed % 2])
        results = stage.run(lowered=lowered, variant=units(lowered, K))
        texts += [
            f"{seed} {port} {name} {hashlib.sha256(data).hexdigest()}"
            for port, artifact in results.items()
            for name, data in artifact.files().items()
        ]
    found[place] = "\\n".join(sorted(texts))
threads = [threading.Thread(target=write, args=(place,)) for place in range(len(found))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert None not in found
for text in found:
    assert text == found[0], "threads differ"
print(found[0])
"""


@pytest.mark.parametrize("drawn", ["7", pytest.param("4,7,8", marks=pytest.mark.in_full)])
def test_threads_and_seeds_of_hashes_change_no_byte(drawn: str) -> None:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    outputs = [
        subprocess.run(
            [sys.executable, "-c", PRINT, threads, drawn],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(paths)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, threads in (("1", "2"), ("2", "1"))
    ]

    assert outputs[0].count("\n") >= 2 * len(drawn.split(","))
    assert outputs[1] == outputs[0]
