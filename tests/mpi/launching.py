"""Jobs on ranks of MPI: where they run, and how they are started."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

NEEDS_MPI = [
    pytest.mark.needs_compiler,
    pytest.mark.skipif(
        shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None,
        reason="MPI is not installed",
    ),
]
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # of Open MPI 5
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def on_ranks(ranks: int, *words: object) -> subprocess.CompletedProcess[str]:
    """Run Python with words on some ranks; a job that hangs is a failure."""
    return subprocess.run(
        ["mpirun", "-n", str(ranks), sys.executable, *map(str, words)],
        env=os.environ | ENVIRONMENT | {"TERM": "dumb"},
        timeout=250, capture_output=True, text=True, check=False,
    )  # fmt: skip
