"""The same bytes from every thread and process, whatever the seed of hashes."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from fieldforge.stages.codegen.dace.stage import CodegenDace

from ....processes import python
from ..grids import K, units
from ..programs import TARGET
from ..test_random_programs import Drawing

pytestmark = pytest.mark.needs_dace
ROOT = Path(__file__).parents[4]
PRINT = """
import sys
from tests.stages.codegen.dace.test_bytes import written
print(written(int(sys.argv[1]), tuple(map(int, sys.argv[2].split(",")))))
"""


def written(threads: int, seeds: tuple[int, ...]) -> str:
    """Write random programs, in each thread another one first; return the digests of one thread.

    The programs have gathers, reductions, regions and scans.
    """
    found = [""] * threads

    def write(place: int) -> None:
        texts = []
        for seed in seeds[place:] + seeds[:place]:
            lowered = Drawing(seed).program()
            stage = CodegenDace(TARGET, fusion=("schedule", "dace")[seed % 2])
            results = stage.run(lowered=lowered, variant=units(lowered, K))
            texts += [
                f"{seed} {port} {name} {hashlib.sha256(data).hexdigest()}"
                for port, artifact in results.items()
                for name, data in artifact.files().items()
            ]
        found[place] = "\n".join(sorted(texts))

    running = [threading.Thread(target=write, args=(place,)) for place in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert all(found)
    assert set(found) == {found[0]}, "threads differ"
    return found[0]


@pytest.mark.in_full  # `test_stage.py` always compares the bytes of one program
@pytest.mark.parametrize("drawn", ["7", "4,7,8"])
def test_threads_and_seeds_of_hashes_change_no_byte(drawn: str) -> None:
    """Two threads of this process write what one of a process with another seed of hashes does."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    variables = {"PYTHONHASHSEED": other, "PYTHONPATH": os.pathsep.join(paths)}
    words = ("-W", "ignore", "-c", PRINT, "1", drawn)
    output = python(*words, check=True, cwd=ROOT, env=variables).stdout

    assert output.count("\n") >= 2 * len(drawn.split(","))
    assert written(2, tuple(map(int, drawn.split(",")))) == output.rstrip("\n")
