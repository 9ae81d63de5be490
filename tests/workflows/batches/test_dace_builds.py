"""Programs by DaCe from threads, processes and ranks: equal bytes, each built once.

Two programs from two processes; `make test-all` adds eight from threads, processes and ranks.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]
HAS_MPI = shutil.which("mpirun") is not None and importlib.util.find_spec("mpi4py") is not None
COUNT = 8
# Builds all programs, by some threads at once; prints what ran, and digests of the libraries.
JOB = """
import hashlib, json, linecache, sys, warnings
from concurrent.futures import ThreadPoolExecutor
import fieldforge as ff
from fieldforge.workflows.engine.session import engine, using

warnings.simplefilter("ignore")
COUNT, threads, ranks = map(int, sys.argv[1:])
I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Box = ff.Field[ff.Dims[I, J, K], ff.float64]
TEXT = '''
@ff.scan_operator(axis=K, forward={forward}, init=0.0)
def summed(state: float, u: float) -> float:
    return {number}.5 * state + u

@ff.field_operator(backend=ff.dace_cpu)
def program_{number}(u: Box) -> Box:
    return summed(u(I + 1) - u(J - 1)) * {number}.25
'''
def make(number):
    text = TEXT.format(number=number, forward=number % 2 == 0)
    name = f"<program {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"ff": ff, "Box": Box, "I": I, "J": J, "K": K}
    exec(compile(text, name, "exec"), space)
    return space[f"program_{number}"]
programs = [make(number) for number in range(COUNT)]
if ranks:
    from mpi4py import MPI
    MPI.COMM_WORLD.Barrier()
seen = ff.Collector()
with using(ff.Engine(engine().store, observers=[seen])):
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda program: program.build(), programs))
    ran = [len(seen.ran(stage)) for stage in ("codegen", "compile")]
    digests = [
        hashlib.sha256(program.trace()["compile"].artifact.library).hexdigest()
        for program in programs
    ]
print(json.dumps({"ran": ran, "digests": digests}))
"""


def start(
    store: Path, threads: int, *before: str, count: int = COUNT, ranks: int = 0
) -> subprocess.Popen[str]:
    variables = {
        "FIELDFORGE_CACHE_DIR": str(store),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    return subprocess.Popen(
        [*before, sys.executable, "-c", JOB, str(count), str(threads), str(ranks)],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        text=True,
    )


def results(job: subprocess.Popen[str]) -> list[dict[str, Any]]:
    said, _ = job.communicate(timeout=280)
    assert job.returncode == 0
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def one_at_a_time(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    (found,) = results(start(tmp_path_factory.mktemp("store"), 1))
    assert found["ran"] == [COUNT, COUNT]
    assert len(set(found["digests"])) == COUNT
    digests: list[str] = found["digests"]
    return digests


def test_two_processes_that_share_a_store_build_each_once(tmp_path: Path) -> None:
    jobs = [start(tmp_path, 1, count=2) for _ in range(2)]
    found = [each for job in jobs for each in results(job)]
    assert found[0]["digests"] == found[1]["digests"]
    assert len(set(found[0]["digests"])) == 2
    assert Counter(stage for each in found for stage in _stages(each)) == {
        "codegen": 2, "compile": 2,
    }  # fmt: skip


@pytest.mark.in_full
def test_eight_threads_build_each_once(tmp_path: Path, one_at_a_time: list[str]) -> None:
    (found,) = results(start(tmp_path, COUNT))
    assert found == {"ran": [COUNT, COUNT], "digests": one_at_a_time}


@pytest.mark.in_full
def test_processes_that_share_a_store_build_each_once(
    tmp_path: Path, one_at_a_time: list[str]
) -> None:
    jobs = [start(tmp_path, 2) for _ in range(3)]
    found = [each for job in jobs for each in results(job)]
    assert [each["digests"] for each in found] == [one_at_a_time] * 3
    assert Counter(stage for each in found for stage in _stages(each)) == {
        "codegen": COUNT, "compile": COUNT,
    }  # fmt: skip


@pytest.mark.in_full
@pytest.mark.skipif(not HAS_MPI, reason="MPI is not installed")
def test_ranks_build_each_once(tmp_path: Path, one_at_a_time: list[str]) -> None:
    found = results(start(tmp_path, 2, "mpirun", "-n", "2", ranks=2))
    assert [each["digests"] for each in found] == [one_at_a_time] * 2
    assert Counter(stage for each in found for stage in _stages(each)) == {
        "codegen": COUNT, "compile": COUNT,
    }  # fmt: skip


def _stages(said: dict[str, Any]) -> list[str]:
    codegen, compiled = said["ran"]
    return ["codegen"] * codegen + ["compile"] * compiled
