"""Halos that GHEX exchanges hold what their owners have; MPI takes the fields that GHEX cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fieldforge.runtime.decomposition.ghex_exchange import has_ghex

JOB = Path(__file__).with_name("ghex_job.py")
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@pytest.mark.skipif(
    shutil.which("mpirun") is None or not has_ghex(),
    reason="MPI or the extra 'ghex' is not installed",
)
@pytest.mark.parametrize("ranks", [1, 3, pytest.param(4, marks=pytest.mark.in_full)])
def test_halos_of_meshes_arrive_for_every_kind_of_field(ranks):
    done = subprocess.run(
        ["mpirun", "-n", str(ranks), sys.executable, str(JOB)],
        env=os.environ | ENVIRONMENT,
        timeout=250,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "0 wrong values\n"
